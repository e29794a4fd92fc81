# SPDX-License-Identifier: Apache-2.0
"""Half of a mirror ran without the other and comes back: one life is served, the other drive is kept apart."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import FIVE, MD, serving
from tests.vm.drives.test_replace import row
from vm.accel import Accel

# a server of its own, whose pool is made twice over
pytestmark = pytest.mark.soak

SERVER = dataclasses.replace(FIVE, drives=FIVE.drives[:2])
HERE, AWAY = (drive.serial for drive in SERVER.drives)
IDLE = f"grep -qx 0 {MD}/degraded && grep -qx idle {MD}/sync_action"
FILES = "/srv/pool/data"
DOWN = "systemctl stop millrace-serving.target nfs-server smbd millrace-storage.target srv-pool.mount && "
DOWN += "for md in /dev/md/millrace-*; do mdadm --stop $md; done"
PART = "$(lsblk -nro PATH,SERIAL | awk -v s={} '$2 == s {{print $1; exit}}')p"
SUMS = f"cd {FILES} && echo 3 > /proc/sys/vm/drop_caches && sha256sum both here 2>/dev/null"


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with serving(SERVER, image, accelerator, tmp_path_factory.mktemp("mirror")) as box:
        box.machine.wait_command(IDLE, "the end of the first synchronisation", 900)
        yield box


def write(box: Box, name: str) -> None:
    box.say(f"head -c 8M /dev/urandom > {FILES}/{name}; sync -f {FILES}/{name}")


def finding(box: Box) -> dict[str, Any] | None:
    box.say("systemctl start millrace-health.service", seconds=600)
    found = box.shown("health --json")["findings"]
    return next((one for one in found if one["key"].startswith("apart/") and AWAY in one["key"]), None)


def run_without(box: Box) -> None:
    """What another server does with the drive that it got: its arrays run, and the pool is written."""
    arrays = [one["array"]["name"] for one in box.pool["arrays"]]
    uuids = {one["array"]["name"]: one["uuid"] for one in box.pool["arrays"]}
    for name in arrays:
        found = f"$(for p in {PART.format(AWAY)}*; do mdadm -E $p | grep -q {uuids[name]} && echo $p; done)"
        box.say(f"mdadm --assemble /dev/md/millrace-{name} --run --uuid={uuids[name]} {found} 2>&1")
    options = box.say("grep ^Options= /etc/systemd/system/srv-pool.mount").partition("=")[2]
    box.say(f"mount -t xfs -o {options} /dev/md/millrace-data /mnt")
    for number in range(4):
        box.say(
            f"cd /mnt/data && head -c 4M /dev/urandom > away{number} && cp away{number} both; sync -f /mnt; sleep 1"
        )
    box.say("umount /mnt; for md in /dev/md/millrace-*; do mdadm --stop $md; done; udevadm settle")


def test_half_that_ran_elsewhere_is_named_and_one_life_is_served(box: Box) -> None:
    write(box, "both")
    box.machine.pull(AWAY)
    box.machine.wait_command(
        f"grep -q beside /var/lib/millrace/in-sync.json && grep -qx 1 {MD}/degraded", "record", 300
    )
    write(box, "both")
    write(box, "here")
    before = box.say(SUMS)
    box.say(DOWN, seconds=600)
    # the two are in this server one after the other only
    box.machine.put_in(AWAY)
    box.machine.wait_command("! systemctl is-active millrace-readd.service", "the end of the look", 300)
    run_without(box)
    box.say("systemctl restart millrace-assemble.service; systemctl start millrace-serving.target", seconds=900)
    box.wait_serving()
    said = box.say("journalctl -b -u millrace-assemble -o cat --no-pager")
    print(said, box.say("cat /proc/mdstat /var/lib/millrace/in-sync.json /var/lib/millrace/apart.json"))
    assert f"started without {AWAY}" in said and "ran without the array after it left it and is kept apart" in said
    assert box.members_by_serial("data") == {HERE}
    assert box.say(SUMS) == before
    assert box.say(f"ls {FILES} | grep away; true") == ""


def test_udev_and_a_reboot_do_not_add_it_either(box: Box) -> None:
    box.machine.pull(AWAY)
    box.machine.put_in(AWAY)
    box.machine.wait_command("udevadm settle; ! systemctl is-active millrace-readd.service", "the end of the look", 300)
    assert "is kept apart" in box.say("journalctl -b -u millrace-readd -o cat --no-pager")
    assert box.members_by_serial("data") == {HERE}
    box.machine.reboot()
    box.wait_serving()
    box.wait_booted()
    assert box.members_by_serial("data") == {HERE}


def test_it_is_named_in_health_and_in_the_list_of_drives(box: Box) -> None:
    found, drive = finding(box), row(box, AWAY)
    print(found, drive)
    assert found is not None and found["level"] == "WARN" and AWAY in found["sentence"]
    assert f"millrace drive replace {AWAY}" in found["todo"]
    assert (drive["verdict"], drive["actions"]) == ("other pool", ["erase", "locate"])
    assert "ran without array data after it left it, last written" in drive["what"]
    refused = box.millrace(f"drive erase {AWAY} --serial-again={AWAY}", check=False)
    assert refused.status == 1 and "has changes that the pool lacks" in refused.err


def test_erased_it_takes_its_old_place(box: Box) -> None:
    sums = box.say(SUMS)
    box.machine.run(["millrace", "drive", "erase", AWAY, "--foreign", f"--serial-again={AWAY}"], seconds=900)
    box.wait_examined()
    done = box.machine.run(["millrace", "drive", "replace", AWAY, "--yes"], seconds=1200)
    print(done.out[-2000:])
    box.machine.wait_command(IDLE, "the end of the rebuild", 900)
    assert box.members_by_serial("data") == {HERE, AWAY}
    assert finding(box) is None and row(box, AWAY)["verdict"] == "in-sync"
    assert box.say(SUMS) == sums
