# SPDX-License-Identifier: Apache-2.0
"""Every drive of a RAID50 is replaced by a larger one; its legs grow while it serves, the pool with the next start."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import FIVE, serving
from tests.vm.drives.test_grow import FREE, capacity, replaced
from vm.accel import Accel

# by hand until a row of soak has seen it: six drives are rebuilt one after the other, and the server starts three times
pytestmark = pytest.mark.soak

MORE = dataclasses.replace(FIVE.drives[0], serial="MRE00000000006")
OLD = (*FIVE.drives, MORE)
LARGER = [
    dataclasses.replace(drive, serial=f"MRG0000000000{number}", size=drive.size * 2) for number, drive in enumerate(OLD)
]
SERVER = dataclasses.replace(FIVE, drives=(*OLD, FREE))
POLICY = '[layout]\nlevel = "raid50"\nspares = 0\n'
LEGS = ("leg0", "leg1")
JOURNAL = "/var/lib/millrace/drive-change.json"


def settle(box: Box) -> None:
    """Wait until md fills and synchronises nothing."""
    for leg in LEGS:
        md = f"/sys/class/block/$(basename $(readlink -f /dev/md/millrace-{leg}))/md"
        box.machine.wait_command(f"grep -qx idle {md}/sync_action", f"the synchronisation of {leg}", 900)


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with serving(SERVER, image, accelerator, tmp_path_factory.mktemp("legs-grown"), policy=POLICY) as box:
        settle(box)
        yield box


def leg_sizes(box: Box) -> set[int]:
    return {int(box.array_sysfs(leg, "size")) for leg in LEGS}


def see_files(box: Box) -> None:
    assert box.say("diff -r /usr/lib/python3/dist-packages/millrace /srv/pool/data/kept && echo equal", 600) == "equal"


def waiting(box: Box) -> list[str]:
    """What health says of the growth."""
    findings = box.shown("health --json")["findings"]
    return [finding["todo"] for finding in findings if finding["key"].startswith("arrays/growth")]


def test_legs_grow_while_the_pool_serves(box: Box) -> None:
    assert box.array_sysfs("data", "md/level") == "raid0"
    box.say("cp -r /usr/lib/python3/dist-packages/millrace /srv/pool/data/kept; sync")
    bays = [FREE.serial, *(drive.serial for drive in OLD)]
    for old, bay, new in zip(OLD, bays, LARGER, strict=False):
        replaced(box, old.serial, bay, new)
        settle(box)
    before, small = capacity(box), leg_sizes(box)
    shown = box.shown("pool grow --dry-run --json")
    assert shown["plan"]["legs"] == [*LEGS] and any("next restart" in step for step in shown["steps"])
    done = box.millrace("pool grow --yes", seconds=1800)
    assert "systemctl reboot" in done.out
    assert len(leg_sizes(box)) == 1 and min(leg_sizes(box)) > max(small)
    assert capacity(box) == before
    box.look_every(5)
    box.machine.wait_command("millrace health | grep -q 'systemctl reboot'", "the growth in the health document", 300)
    assert waiting(box) == ["Restart the server: systemctl reboot"]
    see_files(box)


def test_next_start_uses_the_legs_also_where_the_power_fails_meanwhile(box: Box) -> None:
    before, gain = capacity(box), box.pool["growth"]["gain"]
    box.machine.power_cut()
    box.machine.start()
    # it opens the journal of the second part as soon as the array runs
    box.machine.wait_agent()
    box.machine.wait_command(f"test -e {JOURNAL} || grep -q '\"growth\": null' /var/lib/millrace/pool.json", "it", 900)
    box.machine.power_cut()
    box.machine.start()
    box.machine.wait_agent()
    box.wait_serving()
    box.machine.wait_command(f"! test -e {JOURNAL}", "the end of the growth", 900)
    assert box.pool["growth"] is None
    assert capacity(box) - before > gain * 9 // 10
    assert box.shown("drive progress --json")["change"]["change"]["error"] is None
    see_files(box)
    assert box.failed_units() == [] and waiting(box) == []


def test_pool_that_has_grown_is_written_to_its_end(box: Box) -> None:
    free = int(box.say("stat -f -c '%a %S' /srv/pool | awk '{print int($1 * $2 / 1048576)}'"))
    box.say(f"fallocate -l {free * 9 // 10}M /srv/pool/data/large; rm /srv/pool/data/large", seconds=600)
    box.say(
        "cp -r /usr/lib/python3/dist-packages/millrace /srv/pool/data/more; sync; echo 3 > /proc/sys/vm/drop_caches"
    )
    see_files(box)
    refused = box.millrace("pool grow --dry-run", check=False, seconds=600)
    assert refused.status == 1 and "replace each by a larger one first" in refused.err
