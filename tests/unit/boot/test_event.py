# SPDX-License-Identifier: Apache-2.0
"""An event while a unit looks leads to one more look: systemd drops the start of a unit that is active."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from host.layout import REPO
from tests.unit.boot.units import OWN, UDEV, names, unit

PROGRAMS = REPO / "mkosi.extra/usr/lib/millrace"
# It adds a rule of the firewall once: there is nothing that it could see too early.
LOOKS_AT_NOTHING = {"millrace-firewall@roce.service"}
RELOADED = "CanReload=yes"
STARTED = "CanReload=no"


def asked(directory: Path, program: str, state: str, *words: str) -> list[str]:
    """Return what a program asks of systemd while each of the units is in a state, as systemctl shows it."""
    systemctl = directory / "systemctl"
    shown = '[ "$1" = show ]'
    lines = f'printf "{state}\\n"'
    # --value shows what stands behind the name
    value = f'printf "{state}\\n" | sed -n "s/^CanReload=//p"'
    script = f'if {shown}; then case "$*" in *--value*) {value} ;; *) {lines} ;; esac'
    systemctl.write_text(f'#!/bin/sh\n{script}\nelse echo "$@" >> {directory}/said; fi\n')
    systemctl.chmod(0o755)
    environment = {"PATH": f"{directory}:{os.environ['PATH']}"}
    subprocess.run([PROGRAMS / program, *words], env=environment, check=True)
    said = directory / "said"
    return said.read_text().splitlines() if said.exists() else []


@pytest.mark.parametrize(
    "state", ["ActiveState=active\\nJob=", "ActiveState=reloading\\nJob=712", "ActiveState=activating\\nJob=712"]
)
@pytest.mark.parametrize("kind", [RELOADED, STARTED])
def test_units_that_have_begun_to_look_do_so_again_after_it(tmp_path: Path, kind: str, state: str) -> None:
    assert asked(tmp_path, "event", f"{kind}\\n{state}", "network") == [
        "--no-block restart millrace-again@millrace-share.service",
        "--no-block restart millrace-again@millrace-tune.service",
        "--no-block restart millrace-again@millrace-certificate.service",
    ]


@pytest.mark.parametrize("kind", [RELOADED, STARTED])
@pytest.mark.parametrize("order", ["ActiveState=inactive\\n{}\\nJob=712", "Job=712\\n{}\\nActiveState=inactive"])
def test_unit_that_waits_to_begin_will_look_then(tmp_path: Path, kind: str, order: str) -> None:
    assert asked(tmp_path, "event", order.format(kind), "arrays") == []


def test_unit_that_does_not_run_is_started_and_not_reloaded(tmp_path: Path) -> None:
    # systemctl shows a property that it is asked for also where it is empty
    assert asked(tmp_path, "event", f"ActiveState=inactive\\n{RELOADED}\\nJob=", "arrays") == []
    assert asked(tmp_path, "event", f"ActiveState=inactive\\n{STARTED}\\nJob=", "millrace-readd") == [
        "--no-block restart millrace-again@millrace-readd.service"
    ]


@pytest.mark.parametrize(("kind", "verb"), [(STARTED, "start"), (RELOADED, "try-reload-or-restart")])
def test_next_run_is_a_reload_where_the_unit_has_one(tmp_path: Path, kind: str, verb: str) -> None:
    assert asked(tmp_path, "again", kind, "millrace-tune") == [f"--no-block {verb} millrace-tune.service"]


def test_next_run_waits_for_the_one_that_is_under_way() -> None:
    found = unit("millrace-again@.service")
    assert (found["After"], found["ExecStart"]) == (["%i.service"], ["/usr/lib/millrace/again %i"])
    assert (found["SuccessExitStatus"], found["StartLimitIntervalSec"]) == (["SIGTERM"], ["0"])


@pytest.mark.parametrize(
    ("name", "reloads"),
    [
        ("share", True),
        ("tune", True),
        ("volumes", True),
        ("certificate", False),
        ("assemble", False),
        ("health", False),
        ("keep", False),
        ("members", False),
        ("readd", False),
        ("replace", False),
        ("smart", False),
    ],
)
def test_unit_that_serves_is_reloaded_and_one_that_looks_is_started(name: str, reloads: bool) -> None:
    """systemd: CanReload= is whether there is an ExecReload=."""
    assert bool(unit(f"millrace-{name}.service").get("ExecReload")) == reloads


def wanted() -> set[str]:
    """Return the units that udev, mdadm and paths start for an event."""
    rules = re.findall(r'SYSTEMD_WANTS\}\+="([^"]+)"', UDEV.read_text())
    paths = [value for path in OWN.glob("*.path") for value in unit(path.name).get("Unit", [])]
    return {one for value in [*rules, *paths] for one in value.split()} - LOOKS_AT_NOTHING


def test_what_an_event_leads_to_looks_after_the_next_event_can_start_it_again() -> None:
    found = unit("millrace-event@.service")
    assert found["ExecStart"] == ["/usr/lib/millrace/event %i"]
    groups = re.findall(r"set -- (.+) ;;", (PROGRAMS / "event").read_text())
    of_groups = [one for group in groups for one in group.split()]
    instances = [one.split("@", 1)[1].removesuffix(".service") for one in wanted() if one.startswith("millrace-event@")]
    direct = [one for one in instances if one.startswith("millrace-")]
    assert of_groups and direct
    assert names(found, "Before") == {f"{one}.service" for one in [*of_groups, *direct]}


def test_each_unit_that_an_event_starts_loses_no_event() -> None:
    known = ("millrace-event@", "millrace-again@")
    assert wanted() and [one for one in wanted() if not one.startswith(known)] == []
    assert {one for one in wanted() if one.endswith(".timer")} == {
        "millrace-event@arrays.timer",
        "millrace-event@network.timer",
    }


def test_arrays_that_appear_before_the_first_tuning_are_left_to_it() -> None:
    assert unit("millrace-event@arrays.timer")["ConditionPathExists"] == ["/run/millrace/tune.lock"]
    assert unit("millrace-event@network.timer")["ConditionPathExists"] == []


def test_delay_of_an_event_starts_the_service_of_its_name() -> None:
    """systemd.timer(5), Unit=: by default the service of the same name, here of the same instance."""
    assert "Unit" not in unit("millrace-event@.timer")
    # or systemd would wait for a minute, and refuse the timer where many events come
    assert unit("millrace-event@.timer")["StartLimitIntervalSec"] == ["0"]
