# SPDX-License-Identifier: Apache-2.0
"""A replacement that is not possible is refused in one sentence with the remedy, and nothing is written."""

from pathlib import Path

import pytest

from millrace.inventory.model import DriveState, Evidence, Inventory, PcieLink
from millrace.storage.change.change_text import proposal_lines
from millrace.storage.drive import drive_history
from millrace.storage.drive.drive_history import KnownDrive, KnownDrives
from millrace.storage.record import apart_record, removal_record
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import Refused
from tests.fakes.drives.world import World
from tests.unit.storage.conftest import root
from tests.unit.storage.drive.pools import drop, fail, new_disk, pool_of, proposed, put_in
from tests.unit.storage.drive.servers import TODAY
from tests.unit.storage.drive_life import die, plug_in
from tests.unit.storage.plans import DATA_SIZE, GIB, raid6_plan

__all__ = ["root"]

NEEDED = 99 * GIB + (2 << 20)


@pytest.fixture
def world(root: Path) -> World:
    """A RAID6 of D0 to D3, a mirror of L0 and L1 for the log."""
    world = pool_of(raid6_plan())
    world.writes.clear()
    return world


def refused(world: World, old: str, new: str | None = None) -> str:
    with pytest.raises(Refused) as error:
        proposed(world, old, new)
    assert world.writes == []
    return str(error.value)


def seen(world: World, monkeypatch: pytest.MonkeyPatch, **changes: dict[str, object]) -> None:
    """Drives as an inventory finds them."""
    scan = World.scan

    def changed(self: World) -> Inventory:
        found = scan(self)
        drives = [one.model_copy(update=changes.get(one.serial, {})) for one in found.drives]
        return found.model_copy(update={"drives": drives})

    monkeypatch.setattr(World, "scan", changed)


def test_plan_names_drives_partitions_and_arrays(world: World) -> None:
    put_in(world, "N1")
    proposal = proposed(world, "D1")
    plan = proposal.plan
    assert plan.old and plan.new
    assert (plan.verb, plan.old.serial, plan.new.serial, plan.leaves) == ("replace", "D1", "N1", ["data"])
    assert [(partition.label, partition.size, partition.array, partition.copies) for partition in plan.partitions] == [
        ("millrace-data-01", 99 * GIB, "data", True)
    ]
    assert proposal.steps == [
        "Write a partition table to drive N1: millrace-data-01 99 GiB.",
        "Array data: copy D1 to millrace-data-01; redundancy is kept, D1 stays in use until the end.",
        "Array data: remove D1.",
        "Then drive D1 may be pulled.",
    ]
    assert proposal.sha256 == proposed(world, "D1").sha256


def test_new_drive_that_is_not_like_its_neighbours_is_shown_with_the_differences(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = PcieLink(speed=16.0, width=2, max_speed=32.0, max_width=4)
    full = PcieLink(speed=32.0, width=4, max_speed=32.0, max_width=4)
    put_in(world, "N1")
    assert proposed(world, "D1").differences == []
    here: dict[str, dict[str, object]] = {serial: {"link": full} for serial in ("D0", "D1", "D2", "D3")}
    new: dict[str, object] = {"link": slow, "firmware": "2", "physical_block": 512}
    seen(world, monkeypatch, **here, N1=new)
    proposal = proposed(world, "D1")
    assert proposal.differences == [
        "The link runs at 16 GT/s ×2; the drive supports 32 GT/s ×4.",
        "PCIe links differ: 3 at 32 GT/s ×4, 1 at 16 GT/s ×2. Every stripe waits for the slowest.",
        "Firmware versions differ: 3 × 1, 1 × 2.",
        "Physical sectors differ: 512 bytes, and 4096 bytes on its neighbours.",
    ]
    assert "  Differs:    Firmware versions differ: 3 × 1, 1 × 2." in proposal_lines(proposal)


def test_missing_drive_is_not_removed_from_anything(world: World) -> None:
    die(world, "D1")
    drop(world, "D1")
    put_in(world, "N1")
    plan = proposed(world, "D1").plan
    assert plan.old is not None and (plan.old.size, plan.leaves) == (None, [])
    assert [one.copies for one in plan.partitions] == [False]


def test_blank_drive_in_the_bay_of_the_missing_one_is_preferred(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    die(world, "D1")
    drop(world, "D1")
    put_in(world, "N1", "N2")
    sentence = refused(world, "D1")
    assert sentence == "cannot replace drive D1: 2 blank drives fit, drive N1, drive N2; choose one with --with SERIAL"
    known = KnownDrive(serial="D1", model="TEST", firmware="1", size=DATA_SIZE, bay="7", last_seen=TODAY)
    drive_history.save(KnownDrives(drives=[known]))
    seen(world, monkeypatch, N1={"bay": "3"}, N2={"slot": "7"})
    plan = proposed(world, "D1").plan
    assert plan.old and plan.new and (plan.old.bay, plan.new.serial, plan.new.bay) == ("7", "N2", "7")
    assert refused(world, "D1", "N3") == (
        "no drive of this server has the serial number 'N3'; see `millrace drive list`"
    )
    named = proposed(world, "D1", "N1").plan.new
    assert named is not None and named.serial == "N1"


def test_bay_is_no_part_of_the_hash(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in(world, "N1")
    before = proposed(world, "D1").sha256
    seen(world, monkeypatch, N1={"bay": "3"})
    assert proposed(world, "D1").sha256 == before
    seen(world, monkeypatch, N1={"wwid": "eui.other"})
    assert proposed(world, "D1").sha256 != before


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"state": DriveState.BOOT}, "is the boot drive"),
        ({"state": DriveState.OURS}, "carries partitions of a Millrace pool"),
        (
            {"state": DriveState.UNKNOWN, "evidence": [Evidence(probe="blkid", finding="it timed out")]},
            "could not be examined (it timed out)",
        ),
        ({"logical_block": 512}, "has sectors of 512 bytes, and its array of 4096"),
        ({"size": NEEDED - 5}, "is too small by 5 bytes"),
        (
            {"critical_warning": 0x0C},
            "is failing (the drive reports a critical warning: errors have degraded its reliability, it is in "
            "read-only mode)",
        ),
        (
            {"available_spare": 4, "spare_threshold": 5},
            "is failing (its spare capacity is 4 %, below its threshold of 5 %)",
        ),
    ],
)
def test_drive_that_does_not_fit_is_named_with_the_reason(
    world: World, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object], why: str
) -> None:
    put_in(world, "N1")
    seen(world, monkeypatch, N1=changes)
    assert refused(world, "D1", "N1") == f"cannot replace drive D1: drive N1 {why}; nothing was written"


def test_drive_that_is_just_large_enough_fits(world: World) -> None:
    plug_in(world, new_disk("N1", NEEDED))
    assert proposed(world, "D1").plan.new is not None


def test_drive_that_is_not_blank_is_refused_with_what_was_found(world: World) -> None:
    assert refused(world, "D1", "FOREIGN") == (
        "cannot replace drive D1: drive FOREIGN is not blank (ext4 file system); nothing was written"
    )


def by_itself(world: World) -> str:
    return refused(world, "D1", "D1").removeprefix("cannot replace drive D1 by itself: ")


def test_member_in_sync_is_not_proposed_for_an_erase(world: World) -> None:
    assert by_itself(world) == (
        "it is a member in sync of RAID6 data; name another drive with --with; nothing was written"
    )
    fail(world, "data", "D1")
    assert by_itself(world).startswith("it is a faulty member of RAID6 data; name another drive with --with")


def test_member_that_is_not_here_is_not_proposed_for_an_erase(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    away = next(one for one in world.disks if one.serial == "D1")
    die(world, "D1")
    assert by_itself(world).startswith("it is not in this server; put it back in, or name another drive with --with")
    plug_in(world, away)
    seen(world, monkeypatch, D1={"state": DriveState.OURS})
    assert by_itself(world).startswith("it is here and not in its array; see `journalctl -u millrace-readd`")


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (DriveState.FOREIGN, "it is not blank (foreign); erase it first (millrace drive erase D1), or name another"),
        (DriveState.UNKNOWN, "it could not be examined (unknown); name another drive with --with"),
    ],
)
def test_drive_of_a_member_that_holds_something_else_is_named(
    world: World, monkeypatch: pytest.MonkeyPatch, state: DriveState, why: str
) -> None:
    die(world, "D1")
    drop(world, "D1")
    put_in(world, "D1")
    assert proposed(world, "D1", "D1").plan.new is not None
    seen(world, monkeypatch, D1={"state": state})
    assert by_itself(world).startswith(why)


def test_member_that_is_kept_out_is_erased_first(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    away = next(drive for drive in world.disks if drive.serial == "D1")
    die(world, "D1")
    plug_in(world, away)
    seen(world, monkeypatch, D1={"state": DriveState.OURS})
    erase = "erase it first (millrace drive erase D1), or name another drive with --with"
    removal_record.add("D1", "2026-11-28T07:00:00+00:00")
    assert by_itself(world).startswith(f"it was taken out of the pool; {erase}")
    here = apart_record.Apart(array="data", serial="D1", partuuid="", written=None)
    write_model(paths.apart_file(), apart_record.ApartMembers(members=[here]))
    assert by_itself(world).startswith(
        f"it ran without its array and has changes that the pool lacks; copy what is needed and {erase}"
    )


def test_without_a_drive_that_fits_each_is_named_with_its_reason_and_the_size_that_is_needed(world: World) -> None:
    need = f"insert a blank drive of at least {NEEDED} bytes"
    foreign = "drive FOREIGN is not blank (ext4 file system)"
    assert refused(world, "D1") == f"cannot replace drive D1: {foreign}; {need}"
    plug_in(world, new_disk("N1", NEEDED - 4096))
    assert refused(world, "D1") == f"cannot replace drive D1: {foreign}; drive N1 is too small by 4096 bytes; {need}"


def test_without_any_other_drive_the_size_that_is_needed_is_named(world: World) -> None:
    die(world, "FOREIGN")
    assert refused(world, "D1") == (
        f"cannot replace drive D1: no drive is blank; insert a blank drive of at least {NEEDED} bytes"
    )


def test_what_is_no_member_is_not_replaced(world: World) -> None:
    assert refused(world, "FOREIGN") == (
        "no array of the pool has a member 'FOREIGN'; for all drives: millrace drive list"
    )


def test_serial_number_of_two_drives_is_refused(world: World) -> None:
    put_in(world, "N1", "N1")
    assert refused(world, "D1", "N1").startswith("2 drives have the serial number 'N1': nvme")
    plug_in(world, new_disk("D2"))
    assert "2 drives have the serial number 'D2'" in refused(world, "D2")


def test_member_in_sync_is_not_copied_while_another_is_missing(world: World) -> None:
    die(world, "D1")
    put_in(world, "N1")
    assert refused(world, "D2") == (
        "RAID6 data is degraded, and D2 still holds its data; replace the member that is missing first: "
        "millrace drive replace D1"
    )


def test_member_that_is_being_filled_is_not_replaced(world: World) -> None:
    (partition, *_) = [held for disk in world.disks if disk.serial == "D1" for held in disk.inside.values()]
    partition["recovering"] = "1"
    put_in(world, "N1")
    assert refused(world, "D1").startswith("drive D1 is being rebuilt in RAID6 data; wait for its end")


def test_array_that_does_not_run_is_not_changed(world: World) -> None:
    world.boot()
    put_in(world, "N1")
    assert refused(world, "D1").startswith("RAID6 data does not run, so that its drives cannot be changed")


def test_faulty_member_is_rebuilt_and_not_copied(world: World) -> None:
    fail(world, "data", "D1")
    put_in(world, "N1")
    plan = proposed(world, "D1").plan
    assert ([one.copies for one in plan.partitions], plan.leaves) == ([False], ["data"])
