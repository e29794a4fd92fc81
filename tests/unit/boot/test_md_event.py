# SPDX-License-Identifier: Apache-2.0
"""Which units an event of mdadm --monitor starts."""

import os
import subprocess
from pathlib import Path

import pytest

from host.layout import REPO
from tests.unit.boot.units import unit

MD_EVENT = REPO / "mkosi.extra/usr/lib/millrace/md-event"
MEMBERS = "--no-block restart millrace-again@millrace-members.service"
HEALTH = "--no-block restart millrace-again@millrace-health.service"
RETUNE = "--no-block start millrace-event@arrays.timer"
STARTED = ["millrace-members.service", "millrace-health.service", "millrace-event@arrays.timer"]


def array(directory: Path, state: str) -> Path:
    """Make md127 as sysfs has it (md.rst of the kernel); return the file that says what is rebuilt."""
    md = directory / "sys/class/block/md127/md"
    md.mkdir(parents=True)
    (md / "array_state").write_text(f"{state}\n")
    (md / "sync_action").write_text("recover\n")
    return md / "sync_action"


def started(directory: Path, *event: str) -> list[str]:
    """Return how systemctl is called, and check that the event is in the journal."""
    for name in ("systemctl", "logger"):
        program = directory / name
        program.write_text(f'#!/bin/sh\necho "$@" >> {directory}/{name}.said\n')
        program.chmod(0o755)
    path = f"{directory}:{os.environ['PATH']}"
    subprocess.run([MD_EVENT, *event], env={"PATH": path, "SYSFS": f"{directory}/sys"}, check=True)
    assert (directory / "logger.said").read_text() == f"-t millrace-md -- {' '.join(event)}\n"
    said = directory / "systemctl.said"
    if not said.exists():
        return []
    return said.read_text().splitlines()


@pytest.mark.parametrize(
    "event", ["Fail", "FailSpare", "DeviceDisappeared", "NewArray", "RebuildStarted", "SpareActive"]
)
def test_change_of_members_starts_record_health_and_tuning(tmp_path: Path, event: str) -> None:
    assert started(tmp_path, event, "/dev/md127", "/dev/nvme3n1") == [MEMBERS, HEALTH, RETUNE]


def test_degraded_assembly_starts_health_and_tuning(tmp_path: Path) -> None:
    assert started(tmp_path, "DegradedArray", "/dev/md127") == [HEALTH, RETUNE]


def test_end_of_a_rebuild_starts_record_and_health(tmp_path: Path) -> None:
    assert started(tmp_path, "RebuildFinished", "/dev/md127") == [MEMBERS, HEALTH]


@pytest.mark.parametrize("event", ["Rebuild20", "Rebuild98"])
def test_progress_of_a_rebuild_starts_nothing(tmp_path: Path, event: str) -> None:
    assert started(tmp_path, event, "/dev/md127") == []


@pytest.mark.parametrize(("state", "action"), [("broken", "frozen"), ("active", "recover"), ("clean", "recover")])
def test_array_that_is_broken_begins_no_rebuild_again(tmp_path: Path, state: str, action: str) -> None:
    file = array(tmp_path, state)
    assert started(tmp_path, "RebuildStarted", "/dev/md127") == [MEMBERS, HEALTH, RETUNE]
    assert file.read_text() == f"{action}\n"


def test_event_while_the_unit_runs_ends_no_run_and_is_one_more() -> None:
    again = unit("millrace-again@.service")
    assert again["After"] == ["%i.service"]
    assert again["ExecStart"] == ["/usr/lib/millrace/again %i"]


@pytest.mark.parametrize("name", ["millrace-members.service", "millrace-health.service", "millrace-again@.service"])
def test_unit_that_is_stopped_while_it_runs_is_no_failure(name: str) -> None:
    assert unit(name)["SuccessExitStatus"] == ["SIGTERM"]


@pytest.mark.parametrize("name", [*STARTED, "millrace-again@.service"])
def test_events_of_a_whole_shelf_are_no_failure(name: str) -> None:
    assert unit(name)["StartLimitIntervalSec"] == ["0"]


def test_recording_waits_for_the_assembly_that_records_too() -> None:
    assert "millrace-assemble.service" in unit("millrace-members.service")["After"][0].split()
