# SPDX-License-Identifier: Apache-2.0
"""Every drive of a pool is replaced by a larger one, and the pool grows under its files, also over a power cut."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.box import Box
from tests.vm.drives.conftest import MD, PAIR, serving
from vm.accel import Accel
from vm.server import Drive

# two drives are rebuilt one after the other, and the server is started twice
pytestmark = pytest.mark.soak

LARGER = [
    dataclasses.replace(drive, serial=f"MRG0000000000{number}", size=drive.size * 2)
    for number, drive in enumerate(PAIR.drives)
]
# A third bay takes each new drive before the old one leaves.
FREE = dataclasses.replace(PAIR.drives[0], serial="MRF00000000001", size=PAIR.drives[0].size // 4)
SERVER = dataclasses.replace(PAIR, drives=(*PAIR.drives, FREE))
JOURNAL = "/var/lib/millrace/drive-change.json"


@pytest.fixture(scope="module")
def box(image: Path, accelerator: Accel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with serving(SERVER, image, accelerator, tmp_path_factory.mktemp("grown")) as box:
        box.machine.wait_command(f"grep -qx idle {MD}/sync_action", "the end of the first synchronisation", 900)
        yield box


def capacity(box: Box) -> int:
    return int(box.say("stat -f -c '%b %S' /srv/pool | awk '{print $1 * $2}'"))


def replaced(box: Box, old: str, bay: str, new: Drive) -> None:
    """The new drive takes the bay of `bay`, which the pool does not use; the old one leaves the pool afterwards."""
    box.machine.pull(bay)
    box.machine.replace(bay, new)
    box.wait_examined()
    done = box.machine.run(
        ["millrace", "drive", "replace", old, "--with", new.serial, "--yes"], seconds=1800, check=False
    )
    print(done.out[-1000:], done.err[-1000:])
    assert done.status == 0


def test_pool_on_small_drives_gains_nothing(box: Box) -> None:
    refused = box.millrace("pool grow --dry-run", check=False, seconds=600)
    assert refused.status == 1 and "replace each by a larger one first" in refused.err
    box.say("cp -r /usr/lib/python3 /srv/pool/data/kept; sync")


def test_pool_with_one_large_drive_gains_nothing(box: Box) -> None:
    first = SERVER.drives[0].serial
    replaced(box, first, FREE.serial, LARGER[0])
    refused = box.millrace("pool grow --dry-run", check=False, seconds=600)
    assert refused.status == 1 and SERVER.drives[1].serial in refused.err


def test_growth_goes_on_after_a_power_cut(box: Box) -> None:
    before = capacity(box)
    replaced(box, SERVER.drives[1].serial, SERVER.drives[0].serial, LARGER[1])
    gain = box.shown("pool grow --dry-run --json")["plan"]["gain"]
    assert gain > before // 2
    box.say("systemd-run --unit=grows millrace pool grow --yes")
    box.machine.wait_command(f'grep -q \'"name": "enlarge\' {JOURNAL}', "the journal of the growth", 600)
    box.machine.power_cut()
    box.machine.start()
    box.machine.wait_agent()
    box.wait_serving()
    box.machine.wait_command(f"! test -e {JOURNAL}", "the end of the growth", 900)
    change = box.shown("drive progress --json")["change"]["change"]
    assert change["error"] is None
    assert capacity(box) - before > gain * 9 // 10
    assert box.say("diff -r /usr/lib/python3 /srv/pool/data/kept && echo equal", seconds=600) == "equal"
    assert box.say(f"cat {MD}/degraded") == "0"
    assert box.failed_units() == []


def test_pool_that_has_grown_starts_and_gains_nothing_more(box: Box) -> None:
    box.machine.wait_command(f"grep -qx idle {MD}/sync_action", "the synchronisation of the new part", 900)
    assert {drive["serial"] for drive in box.pool["drives"]} == {drive.serial for drive in LARGER}
    refused = box.millrace("pool grow --dry-run", check=False, seconds=600)
    assert refused.status == 1
    assert [finding for finding in box.shown("health --json")["findings"] if finding["level"] == "FAIL"] == []
