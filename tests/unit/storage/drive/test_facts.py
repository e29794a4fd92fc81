# SPDX-License-Identifier: Apache-2.0
"""What is known of the drives comes from sysfs, udev and records: no drive and no tool is asked."""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from millrace.observe.drive.rows import rows
from millrace.storage.drive.facts import Contents, contents, facts
from millrace.system import paths
from tests.fakes.drives.slots import WINDOW, add_slot
from tests.fakes.files.box import NOW, Box, serial
from tests.fakes.files.running import server

UUID = "11111111-2222-3333-4444-555555555555"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        made.look()
        with patch("millrace.system.run.subprocess.run", None):
            yield made


def known_to_udev(box: Box, name: str, **properties: str) -> None:
    lines = "".join(f"E:{key}={value}\n" for key, value in properties.items())
    box.tree.write(f"run/udev/data/b{box.tree.number_of(name)}", f"S:disk/by-id/x\nI:123\n{lines}")


def test_a_server_whose_members_are_in_sync(box: Box) -> None:
    found = facts()
    assert (found.today, len(found.present), len(found.examined)) == (NOW.date(), 13, 13)
    assert {one.name for one in found.live} == {"data", "log"}
    assert found.smart[serial(0)].temperature == 40
    assert found.history[serial(0)].bay == "1"


def test_contents_are_what_udev_has_read(box: Box) -> None:
    box.tree.nvme(20, "NEW")
    assert contents("nvme20n1") == Contents()
    part = box.tree.partition("nvme20n1", 1, "millrace-data-03")
    assert contents("nvme20n1") == Contents(millrace=True, other="partitions")
    known_to_udev(box, "nvme20n1", ID_PART_TABLE_TYPE="gpt")
    # udev gives a partition the table of its drive, too
    known_to_udev(box, part, ID_PART_TABLE_TYPE="gpt", ID_FS_TYPE="linux_raid_member", ID_FS_UUID=UUID)
    assert contents("nvme20n1") == Contents(
        frozenset([UUID]), millrace=True, other="GPT partition table, Linux md RAID member"
    )
    box.tree.partition("nvme20n1", 2, "home")
    assert not contents("nvme20n1").millrace


def test_change_goes_on_until_it_stops_and_one_that_cannot_be_read_may(box: Box) -> None:
    assert not facts().changing
    journal = box.change(3, 12)
    assert facts().changing
    journal.stopped("mdadm failed")
    assert not facts().changing
    paths.drive_change_file().write_text("{")
    assert facts().changing


def test_a_drive_that_was_put_in_is_told_by_what_udev_read(box: Box) -> None:
    box.tree.nvme(20, "NEW")
    known_to_udev(box, "nvme20n1", ID_FS_TYPE="xfs")
    (one,) = [each for each in rows(facts()) if each.name == "nvme20n1"]
    assert (one.verdict, one.what, one.bay) == ("foreign", "XFS file system", None)


def test_a_member_that_is_back_has_returned(box: Box) -> None:
    pool = facts().pool
    assert pool is not None
    data = next(array for array in pool.arrays if array.array.name == "data")
    box.pull("data", 3)
    (gone,) = [each for each in rows(facts()) if each.verdict == "missing"]
    assert (gone.serial, gone.bay, gone.role, gone.last_seen) == (serial(3), "4", "data", "2026-11-20")
    (box.root / "sys/block/nvme3n1").symlink_to((box.root / "sys/class/block/nvme3n1").resolve())
    known_to_udev(box, "nvme3n1p2", ID_FS_TYPE="linux_raid_member", ID_FS_UUID=data.uuid.replace(":", "-"))
    (row,) = [each for each in rows(facts()) if each.serial == serial(3)]
    assert (row.verdict, row.actions) == ("returned", ["locate"])


def test_slots_without_hot_plug_are_known_by_their_numbers(box: Box) -> None:
    assert not facts().unplugged
    add_slot(box.root, "0000:20:01.0", 4)
    add_slot(box.root, "0000:20:02.0", 5, window=WINDOW)
    assert facts().unplugged == {"4"}
    box.pull("data", 3)
    (gone,) = [each for each in rows(facts()) if each.verdict == "missing"]
    assert gone.bay == "4" and (gone.what or "").startswith("hot plug is off")


def test_records_that_are_missing_or_torn_leave_the_rest_known(box: Box) -> None:
    for path in (paths.smart_file(), paths.known_drives_file(), paths.inventory_file()):
        path.write_text("{")
    found = facts()
    assert (found.smart, found.history, found.examined) == ({}, {}, [])
    assert {one.verdict for one in rows(found)} == {"in-sync", "unknown"}


def test_a_server_without_a_pool_has_its_drives(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.look()
        assert [one.verdict for one in rows(facts())] == ["blank"] * 12 + ["boot"]
