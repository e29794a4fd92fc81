# SPDX-License-Identifier: Apache-2.0
"""A hot spare of the data takes over, and drives that disappear at once are one message; then the server reboots."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import FIVE, MD, new_drive, serving
from tests.vm.webhook import Webhook, webhook
from vm.accel import Accel

pytestmark = pytest.mark.soak

# Six members that survive two failures, and one hot spare.
MORE = tuple(dataclasses.replace(FIVE.drives[0], serial=f"MRE0000000000{number}") for number in (6, 7))
SERVER = dataclasses.replace(FIVE, drives=(*FIVE.drives, *MORE))
POLICY = '[layout]\nresilience = "double"\nspares = 1\n'
NEW = [f"MRS0000000000{number}" for number in (7, 8, 9)]
IDLE = f"grep -qx 0 {MD}/degraded && grep -qx idle {MD}/sync_action"
FILE = "/srv/pool/data/kept"
KEY = "arrays/data"
LOCAL = "127.0.0.1"


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with serving(SERVER, image, accelerator, tmp_path_factory.mktemp("spare"), policy=POLICY) as box:
        box.machine.wait_command(IDLE, "the end of the first synchronisation", 1800)
        box.say(f"head -c 32M /dev/urandom > {FILE}; sync -f {FILE}; sha256sum {FILE} | tee /var/tmp/kept.sha256")
        yield box


def bystanders(box: Box) -> list[str]:
    """Members of the data that the log has nothing on, as they are in their bays."""
    log = {*box.recorded("log"), *box.recorded("log", "spares")}
    return [one for one in box.recorded("data") if one not in log]


def finding(box: Box, key: str) -> dict[str, Any] | None:
    return next((one for one in box.shown("health --json")["findings"] if one["key"] == key), None)


def healthy(box: Box) -> None:
    """No array misses anything, nothing was waited for, and what was written is there."""
    found = [one for one in box.shown("health --json")["findings"] if one["check"] == "arrays"]
    assert {one["level"] for one in found} == {"OK"}, found
    assert "without" not in box.say("journalctl -b -u millrace-assemble -o cat")
    assert box.failed_units() == []
    box.say("echo 3 > /proc/sys/vm/drop_caches; sha256sum --check --quiet /var/tmp/kept.sha256", seconds=600)


@pytest.fixture(scope="module")
def dead(box: Box) -> str:
    """A member that was pulled."""
    assert (len(box.recorded("data")), len(box.recorded("data", "spares"))) == (6, 1)
    dead = bystanders(box)[0]
    box.machine.pull(dead)
    return dead


def test_hot_spare_of_the_data_takes_over_and_is_reported(box: Box, dead: str) -> None:
    (spare,) = box.recorded("data", "spares")
    box.machine.wait_for(lambda: box.recorded("data", "spares") == [dead], "the record of the members", 1800)
    box.machine.wait_command(IDLE, "the end of the rebuild", 300)
    assert spare in box.members_by_serial("data") and dead not in box.members_by_serial("data")
    found = finding(box, "arrays/spares/data")
    print(found)
    assert found is not None and found["level"] == "WARN"
    assert "is healthy with 0 of 1 hot spares" in found["sentence"] and dead in found["sentence"]
    assert found["todo"].endswith(f"millrace drive replace {dead}")


def test_new_drive_becomes_the_hot_spare(box: Box, dead: str) -> None:
    box.machine.replace(dead, new_drive(NEW[0]))
    box.wait_examined()
    done = box.machine.run(["millrace", "drive", "replace", dead, "--yes"], seconds=1200, check=False)
    print(done.out[-2000:], done.err)
    assert done.status == 0
    assert box.recorded("data", "spares") == [NEW[0]]
    (row,) = [one for one in box.shown("drive list --json")["drives"] if one["serial"] == NEW[0]]
    assert (row["verdict"], row["role"]) == ("spare", "spare")
    healthy(box)


def test_two_reboots_are_healthy(box: Box, dead: str) -> None:
    for _ in range(2):
        box.machine.reboot()
        box.wait_serving()
        box.wait_booted()
        assert (len(box.members_by_serial("data")), box.recorded("data", "spares")) == (7, [NEW[0]])
        healthy(box)


@pytest.fixture(scope="module")
def hook(box: Box, dead: str) -> Iterator[Webhook]:
    """A route to a webhook on the server itself."""
    with webhook(box, box.machine, LOCAL) as hook:
        yield hook


def test_drives_that_disappear_at_once_are_one_message(box: Box, hook: Webhook) -> None:
    bystander, other = bystanders(box)[:2]
    for serial in (bystander, other):
        box.machine.release(serial)
    hook.wait_message("opened", KEY, 1, 900)
    # the spare may have taken over by now
    box.machine.wait_command(f"grep -qx '[12]' {MD}/degraded", "md to have noticed", 300)
    box.say("systemctl start millrace-health.service", seconds=600)
    told = [message for message in hook.messages if any(alert["key"] == KEY for alert in message["alerts"])]
    print(told)
    assert [message["event"] for message in told] == ["opened"]
    assert bystander in told[0]["text"] and other in told[0]["text"]
