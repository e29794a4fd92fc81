# SPDX-License-Identifier: Apache-2.0
"""A pool on a device that something else keeps: provisioned, served, the same after a reboot, missed when it goes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import FIVE, serving
from vm.accel import Accel

# by hand: a server of its own, and two boots
pytestmark = pytest.mark.soak

SERIAL = FIVE.drives[0].serial
# QEMU's drives have their model and serial in their name; the geometry is that of 4 drives with chunks of 64 KiB.
POLICY = f"""
[layout]
backend = "external"

[external]
devices = ["/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_{SERIAL}"]
io_min_kib = 64
io_opt_kib = 256
"""
KEPT = "/srv/pool/data/kept"


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with serving(FIVE, image, accelerator, tmp_path_factory.mktemp("external"), policy=POLICY) as box:
        yield box


def levels(box: Box) -> list[dict[str, str]]:
    """The findings that want something done."""
    box.say("systemctl start millrace-health.service", seconds=600)
    return [one for one in box.shown("health --json")["findings"] if one["level"] == "FAIL"]


def test_file_system_lies_on_the_device_and_on_its_stripes(box: Box) -> None:
    assert box.pool["backend"] == "external" and box.pool["arrays"] == []
    assert box.say("grep -c ^md /proc/mdstat 2>/dev/null; true") in ("", "0")
    geometry = box.say("xfs_info /srv/pool")
    # blocks of 4 KiB: a full stripe of 256 KiB
    assert "sunit=64" in geometry and "swidth=64" in geometry, geometry
    source = box.say("findmnt -no SOURCE /srv/pool")
    partition = box.say("readlink -f /dev/disk/by-partlabel/millrace-data-00")
    assert box.say(f"readlink -f {source}") == partition
    rows = {drive["serial"]: drive for drive in box.shown("drive list --json")["drives"]}
    assert rows[SERIAL]["role"] == "backend"
    assert levels(box) == []
    assert box.failed_units() == []


def test_the_pool_is_the_same_after_a_reboot(box: Box) -> None:
    fsid = box.say("exportfs -s | grep -o '^/srv/pool/data.*fsid=[^,]*'")
    kept = box.say(f"head -c 8M /dev/urandom > {KEPT}; sync; sha256sum {KEPT}")
    box.machine.reboot()
    box.wait_serving()
    box.wait_booted()
    box.see_stopped_whole()
    assert box.say(f"sha256sum {KEPT}") == kept
    assert box.say("exportfs -s | grep -o '^/srv/pool/data.*fsid=[^,]*'") == fsid
    assert levels(box) == []
    assert box.failed_units() == []


def test_device_that_vanishes_is_named_with_a_remedy(box: Box) -> None:
    box.machine.pull(SERIAL)
    box.machine.wait_command("! touch /srv/pool/probe", "XFS to shut down", 300)
    found = [one for one in levels(box) if one["check"] == "backend"]
    assert found and SERIAL in found[0]["sentence"] and found[0]["todo"], found
