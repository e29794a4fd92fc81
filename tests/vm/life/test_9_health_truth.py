# SPDX-License-Identifier: Apache-2.0
"""Health shows what a client would see. The last stories of this server: the last one ends its file system."""

import time

import pytest

from tests.vm.box import Box
from tests.vm.life.words import SERVER, warn

pytestmark = pytest.mark.usefixtures("in_use")

# Seconds on a real server.
SEEN_SECONDS = 60


def failures(box: Box) -> dict[str, dict[str, str]]:
    """What the unit finds now: the failures by their check."""
    box.say("systemctl start millrace-health.service")
    found = box.read_json("cat /run/millrace/health.json")["findings"]
    return {one["check"]: one for one in found if one["level"] == "FAIL"}


def test_smart_warning_is_reported_without_a_reboot(box: Box) -> None:
    assert "OnUnitInactiveUSec=10min" in box.say("systemctl show -P TimersMonotonic millrace-upkeep@smart.timer")
    assert "drives" not in failures(box)
    worn = SERVER.drives[-1].serial
    warn(box, worn, 4)
    found = failures(box)["drives"]
    assert f"({worn}): The drive reports a critical warning: errors have degraded its reliability." in found["sentence"]
    assert found["todo"].startswith("Replace the drive")
    warn(box, worn, 0)
    assert "drives" not in failures(box)


def test_pool_that_hangs_does_not_block_the_health_check(box: Box) -> None:
    assert "filesystem" not in failures(box)
    running = "pgrep -fc millrace.observe.health.heartbeat_daemo[n] || true"
    box.say("xfs_freeze -f /srv/pool")
    try:
        for _ in range(2):
            assert "/srv/pool does not answer" in failures(box)["filesystem"]["sentence"]
            # one process waits for the pool, however often it is asked
            assert box.say(running) == "1"
        said = box.millrace("status")
        assert said.status == 0 and "does not answer" in said.out
    finally:
        box.say("xfs_freeze -u /srv/pool")
    # the process that stays goes on, and no other was started
    assert "filesystem" not in failures(box)
    assert box.say(running) == "1"


def test_file_system_shutdown_is_reported_within_a_minute(box: Box) -> None:
    box.say("xfs_io -x -c shutdown /srv/pool")
    began = time.monotonic()
    findings = failures(box)
    assert time.monotonic() - began < SEEN_SECONDS * box.machine.accel.scale
    # nobody who mounts a share is served
    assert {"filesystem", "nfs", "smb", "shares"} <= set(findings)
    assert "XFS has shut itself down" in findings["filesystem"]["sentence"]
    assert findings["filesystem"]["todo"].endswith("systemctl reboot")
    said = box.millrace("status")
    assert "XFS has shut itself down" in said.out and len(said.out.splitlines()) <= 24
