# SPDX-License-Identifier: Apache-2.0
"""A server is reset to factory state: with its pool kept it is the same once adopted, without people it is closed."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from millrace.system.errors import Failed
from tests.vm.box import CLIENT_ADDRESSES, Box
from tests.vm.lives.test_adopt import (
    ALLOW,
    KEEP,
    SERVER,
    WHERE,
    identity,
    lock,
    lose_boot_drive,
    see_reclaimed,
    started,
)
from tests.vm.shares.words import PASSWORD
from vm.accel import Accel
from vm.link import Cables
from vm.machine import Machine

# six boots of the server, one of which builds a pool
pytestmark = pytest.mark.soak

REQUESTS = "ls /sys/firmware/efi/efivars | grep -c FactoryResetRequest; true"
TOOL = "/usr/lib/systemd/systemd-factory-reset"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reset")


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, cables: Cables, directory: Path) -> Iterator[Box]:
    with started(image, accelerator, cables, directory, SERVER, millrace__provision=b"auto") as box:
        box.wait_serving()
        box.machine.run(["millrace", "user", "create", "anna", "--password-stdin"], stdin=PASSWORD + "\n", seconds=300)
        box.millrace("share create models --type mixed --size 96M --smb-user anna", seconds=600)
        yield box


def reset(box: Box, *more: str) -> None:
    """Reset the server, and see the boot of a new root file system through."""
    before = box.say("cat /etc/machine-id; touch /etc/made-by-hand")
    host = box.say("cat /proc/sys/kernel/hostname")
    with suppress(Failed):
        # the agent may go down before the verb has ended
        done = box.millrace(["reset", "start", f"--host={host}", *more], seconds=600, check=False)
        assert done.status == 0, done.err
    box.machine.wait_off()
    box.machine.start()
    box.wait_booted()
    assert box.say("cat /etc/machine-id") != before
    assert (
        box.say("ls /etc/made-by-hand /var/lib/millrace/pool.json /var/lib/millrace/reset.json 2>/dev/null; true") == ""
    )
    # the initrd took the request and removed it: the next boot resets nothing
    assert box.say(REQUESTS) == "0"
    assert box.say(f"{TOOL} status; true") == "complete"
    assert box.failed_units() == []
    assert "millrace pool adopt" in box.millrace("status").out


def adopt(box: Box) -> None:
    """Adopt the pool as the page does, and wait until it is served."""
    begun = json.loads(box.millrace("pool adopt --yes --detach --json", seconds=900).out)
    assert begun["adoption"] is not None or begun["adopted"] is not None
    box.wait_serving()


def exported(box: Box) -> str:
    return box.say("exportfs -s")


def test_reset_that_keeps_the_pool_is_the_same_server_after_an_adoption(box: Box, client: Machine) -> None:
    lock(client, box.say("id -u anna"))
    box.say(ALLOW)
    before = identity(box)
    shown = box.shown("reset show --json")
    assert shown["obstacle"] is None and CLIENT_ADDRESSES[0] in {
        known_client["host"] for known_client in shown["clients"]
    }
    refused = box.millrace("reset start --host=other", check=False)
    assert refused.status != 0 and "'other'" in refused.err
    reset(box)
    adopt(box)
    assert identity(box) == before
    client.run(f"echo after >> {WHERE}/other; sync {WHERE}/other", seconds=900)
    see_reclaimed(box, client)
    assert box.shown("reset show --json")["last"]["what"] == "keep"


def test_rescue_under_way_refuses_a_reset(box: Box) -> None:
    box.say("touch /var/lib/millrace/rescue.json")
    refused = box.millrace("reset start --host=any", check=False)
    box.say("rm /var/lib/millrace/rescue.json")
    assert refused.status == 1 and "being rescued" in refused.err
    assert box.say(REQUESTS) == "0"


def test_reset_that_forgets_people_leaves_data_that_nobody_can_open(box: Box, client: Machine) -> None:
    client.run(f"umount -l {WHERE}; true")
    reset(box, "--forget-people", "--word=FORGET")
    kept = box.shown("pool find --json")["pool"]["kept"]
    assert (kept["origin"], kept["users"], kept["shares"]) == ("forgotten", [], ["data", "models"])
    adopt(box)
    assert exported(box) == ""
    assert box.say("grep -c ^anna: /etc/passwd; true") == "0"
    assert box.say("ls /home/admin/.ssh/authorized_keys 2>/dev/null; true") == ""
    assert box.say("cat /srv/pool/models/locked") == "before"
    size = {share["name"]: share["size"] for share in box.shown("share list --json")["shares"]}
    assert size["models"] == 96 << 20
    assert box.say(f"for f in {KEEP}/*.gz; do tar -xzOf $f; done | grep -ac anna; true") == "0"


def test_pool_without_a_kept_state_comes_back_closed(
    box: Box, image: Path, accelerator: Accel, cables: Cables, directory: Path
) -> None:
    projects = box.say("xfs_quota -x -c 'report -p -n -N -b' /srv/pool | awk '$2 > 0 {print $1}' | sort")
    box.say(f"systemctl stop millrace-upkeep@keep.timer; rm -f {KEEP}/*; sync -f /srv/pool")
    box.machine.power_cut()
    lose_boot_drive(directory)
    with started(image, accelerator, cables, directory, SERVER) as new:
        new.wait_booted()
        kept = new.shown("pool find --json")["pool"]["kept"]
        assert (kept["origin"], kept["shares"]) == ("drives", ["data", "models"])
        adopt(new)
        assert exported(new) == ""
        assert new.say("cat /srv/pool/models/locked") == "before"
        assert new.say("xfs_quota -x -c 'report -p -n -N -b' /srv/pool | awk '$2 > 0 {print $1}' | sort") == projects
        new.millrace("pool show")
        assert new.failed_units() == []
