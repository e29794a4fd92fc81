# SPDX-License-Identifier: Apache-2.0
"""A pool is destroyed under its client, the power fails in between, and another layout is built from its drives."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import FIVE, serving
from vm.accel import Accel

# two pools are built, and the server is started three times
pytestmark = pytest.mark.soak

JOURNAL = "/var/lib/millrace/pool-destruction.json"
ENDED = "/var/lib/millrace/pool-destroyed.json"
UNIT = "millrace-pool-change@destroy.service"


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with serving(FIVE, image, accelerator, tmp_path_factory.mktemp("destroyed")) as box:
        yield box


def blank(box: Box) -> bool:
    """Whether every drive of the pool is one that a plan may use."""
    box.millrace("plan --again", check=False, seconds=900)
    verdicts = {row["serial"]: row["verdict"] for row in box.shown("drive list --json")["drives"]}
    return all(verdicts[drive.serial] == "blank" for drive in FIVE.drives)


def test_what_is_lost_is_shown_and_nothing_is_written(box: Box) -> None:
    box.say("echo kept > /srv/pool/data/file")
    status = box.shown("pool destroy --status --json")
    assert [share["name"] for share in status["shares"]] == ["data"]
    assert {drive["serial"] for drive in status["drives"]} == {drive.serial for drive in FIVE.drives}
    assert status["obstacle"] is None and all(drive["here"] for drive in status["drives"])
    refused = box.millrace("pool destroy --name other", check=False, seconds=300)
    assert refused.status == 2 and "nothing was destroyed" in refused.err
    assert box.say("cat /srv/pool/data/file") == "kept"


def test_pool_in_use_by_this_server_is_served_again(box: Box) -> None:
    box.say("systemd-run --unit=holds --working-directory=/srv/pool sleep infinity")
    name = box.shown("pool destroy --status --json")["name"]
    refused = box.millrace(f"pool destroy --name {name} --end", check=False, seconds=900)
    print(refused.err)
    assert refused.status == 1 and "is still in use" in refused.err
    box.say("systemctl stop holds")
    box.wait_serving()
    assert box.say("cat /srv/pool/data/file") == "kept"


def test_power_cut_while_drives_are_wiped_is_finished_by_the_next_boot(box: Box) -> None:
    name = box.shown("pool destroy --status --json")["name"]
    # the story before has left one
    box.say(f"rm -f {ENDED}; systemd-run --unit=destroys millrace pool destroy --name {name} --end")
    wiping = f'grep -sA1 \'"name": "wipe \' {JOURNAL} | grep -q \'"started"\''
    # a drive is wiped within a second, and the next command arrives after that
    box.say(f"until {wiping}; do test ! -e {ENDED} || exit 1; done; systemctl freeze {UNIT}", seconds=600)
    assert "wipe" in box.say(f"cat {JOURNAL}")
    box.machine.power_cut()
    box.machine.start()
    box.machine.wait_agent()
    box.machine.wait_command(f"! test -e {JOURNAL}", "the end of the destruction", 900)
    over = f"systemctl show -P ActiveState {UNIT} | grep -qxE 'inactive|failed'"
    box.machine.wait_command(over, "the end of its unit", 300)
    assert box.say("ls /var/lib/millrace/pool.json 2>/dev/null; grep ^md /proc/mdstat; true") == ""
    ended = json.loads(box.say(f"cat {ENDED}"))
    assert (ended["error"], ended["left"]) == (None, [])
    assert blank(box)


def test_another_layout_is_planned_approved_and_served(box: Box) -> None:
    proposed, *others = box.shown("plan --layouts --json")["choices"]
    assert proposed["proposed"] and proposed["sha256"] == box.shown("plan --json")["sha256"]
    other = next(choice for choice in others if choice["name"] == "raid6")
    assert box.shown("plan --layout raid6 --json")["sha256"] == other["sha256"]
    box.millrace(f"approve {other['sha256']}", seconds=1800)
    box.wait_serving()
    assert box.say("cat /sys/class/block/$(basename $(readlink -f /dev/md/millrace-data))/md/level") == "raid6"
    assert box.shown("share list --json")["shares"] == []
    assert "file" not in box.say("ls /srv/pool")
    box.millrace("share create again --type mixed --no-smb", seconds=300)
    assert box.failed_units() == []
