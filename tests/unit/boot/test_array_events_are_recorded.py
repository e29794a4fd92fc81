# SPDX-License-Identifier: Apache-2.0
"""mdadm --monitor reports a change of an array, and who was in sync last is recorded, whatever runs already."""

import os
import subprocess
from pathlib import Path

import pytest

from host.layout import REPO
from tests.unit.boot.units import unit

PROGRAM = REPO / "mkosi.extra/usr/lib/millrace/md-event"
RECORD = "--no-block restart millrace-members.service"


def asked(directory: Path, event: str) -> list[str]:
    """Return what systemd is asked for at an event."""
    said = directory / "said"
    said.write_text("")
    for tool in ("logger", "systemctl"):
        path = directory / tool
        path.write_text(f'#!/bin/sh\n[ {tool} != systemctl ] || echo "$*" >> {said}\n')
        path.chmod(0o755)
    environment = {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}
    subprocess.run(["sh", PROGRAM, event, "/dev/md127"], env=environment, check=True)
    return said.read_text().splitlines()


@pytest.mark.parametrize("event", ["RebuildFinished", "SpareActive", "Fail", "FailSpare", "RebuildStarted", "NewArray"])
def test_members_are_recorded_again_though_a_recording_runs(tmp_path: Path, event: str) -> None:
    """A start would do nothing while one runs, and that one may have looked before the event."""
    assert RECORD in asked(tmp_path, event)


def test_progress_of_a_rebuild_and_what_was_degraded_at_boot_are_no_change_of_members(tmp_path: Path) -> None:
    assert asked(tmp_path, "Rebuild20") == []
    assert RECORD not in asked(tmp_path, "DegradedArray")


def test_recording_waits_for_the_assembly_that_records_too() -> None:
    assert "millrace-assemble.service" in unit("millrace-members.service")["After"][0].split()
