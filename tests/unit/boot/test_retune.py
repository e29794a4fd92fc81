# SPDX-License-Identifier: Apache-2.0
"""An event while a unit looks leads to one more look: systemd drops the start of a unit that is active."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from host.layout import REPO
from tests.unit.boot.units import names, unit

RETUNE = REPO / "mkosi.extra/usr/lib/millrace/retune"
RULES = REPO / "mkosi.extra/usr/lib/udev/rules.d/90-millrace.rules"
# It adds a rule of the firewall once: there is nothing that it could see too early.
LOOKS_AT_NOTHING = {"millrace-roce.service"}


def started(directory: Path, state: str, *words: str) -> list[str]:
    """Return what the program asks of systemd while each of the units is in a state, as systemctl shows it."""
    program = directory / "systemctl"
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = show ]; then printf "{state}\\n"; else echo "$@" >> {directory}/systemctl.said; fi\n'
    )
    program.chmod(0o755)
    subprocess.run([RETUNE, *words], env={"PATH": f"{directory}:{os.environ['PATH']}"}, check=True)
    said = directory / "systemctl.said"
    return said.read_text().splitlines() if said.exists() else []


@pytest.mark.parametrize(
    "state", ["ActiveState=active", "ActiveState=reloading\\nJob=712", "ActiveState=activating\\nJob=712"]
)
@pytest.mark.parametrize("how", ["reload", "again"])
def test_units_that_have_begun_to_look_do_so_again_after_it(tmp_path: Path, how: str, state: str) -> None:
    assert started(tmp_path, state, how, "millrace-share", "millrace-tune") == [
        f"--no-block restart millrace-{how}@millrace-share.service",
        f"--no-block restart millrace-{how}@millrace-tune.service",
    ]


@pytest.mark.parametrize("how", ["reload", "again"])
def test_unit_that_waits_to_begin_will_look_then(tmp_path: Path, how: str) -> None:
    assert started(tmp_path, "ActiveState=inactive\\nJob=712", how, "millrace-tune") == []


def test_unit_that_does_not_run_is_started_and_not_reloaded(tmp_path: Path) -> None:
    assert started(tmp_path, "ActiveState=inactive", "reload", "millrace-tune") == []
    assert started(tmp_path, "ActiveState=inactive", "again", "millrace-certificate") == [
        "--no-block restart millrace-again@millrace-certificate.service"
    ]


@pytest.mark.parametrize(("name", "verb"), [("again", "start"), ("reload", "try-reload-or-restart")])
def test_next_run_waits_for_the_one_that_is_under_way(name: str, verb: str) -> None:
    found = unit(f"millrace-{name}@.service")
    assert found["After"] == ["%i.service"]
    assert found["ExecStart"] == [f"/usr/bin/systemctl --no-block {verb} %i.service"]
    assert (found["SuccessExitStatus"], found["StartLimitIntervalSec"]) == (["SIGTERM"], ["0"])


@pytest.mark.parametrize("name", ["millrace-retune", "millrace-retune-arrays"])
def test_what_a_timer_leads_to_looks_after_the_timer_can_be_started_again(name: str) -> None:
    found = unit(f"{name}.service")
    commands = " ".join(found["ExecStart"])
    looking = re.findall(r"(?<=[ @])millrace-[a-z]+(?=[. ]|$)", commands)
    assert looking
    assert names(found, "Before") == {f"{one}.service" for one in looking}


def test_each_unit_that_udev_wants_loses_no_event() -> None:
    wanted = {
        one for value in re.findall(r'SYSTEMD_WANTS\}\+="([^"]+)"', RULES.read_text()) for one in value.split()
    } - LOOKS_AT_NOTHING
    plain = {one for one in wanted if not one.endswith(".timer") and not one.startswith("millrace-event@")}
    assert (bool(wanted), plain) == (True, set())
    found = unit("millrace-event@.service")
    assert found["Before"] == ["%i.service"]
    assert found["ExecStart"] == ["/usr/bin/systemctl --no-block restart millrace-again@%i.service"]
    assert found["StartLimitIntervalSec"] == ["0"]
