# SPDX-License-Identifier: Apache-2.0
"""A drive that was replaced by hand is a member in later boots, and pool.json follows."""

import random
from pathlib import Path

import pytest

from millrace.plan.policy.model import LogPolicy, Policy
from millrace.storage.assemble import in_sync
from millrace.storage.assemble.assemble import assemble
from millrace.storage.record.membership import up_to_date
from millrace.storage.record.model import ArrayRecord, MemberRecord, Pool
from millrace.storage.record.pool_file import KEPT, known_pool, load_pool
from millrace.system import paths
from millrace.system.errors import BadInput
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.world import World
from tests.unit.storage.drive_life import add_by_hand, die, plug_in, rebuilt, writing
from tests.unit.storage.plans import DATA_SIZE, planned, raid6_plan
from tests.unit.storage.server import built, server_for

# a log mirror on two of the drives would not outlive the replacement of both
LOG_INSIDE = Policy(log=LogPolicy(mode="internal"))


def new_drive(serial: str) -> Disk:
    return Disk(serial, DATA_SIZE)


def started(world: World) -> list[str]:
    """The next boot: the lines of the assembly."""
    world.boot()
    world.waited = 0.0
    lines: list[str] = []
    assemble(world, lines.append)
    return lines


def members(pool: Pool, array: str = "data") -> list[str]:
    return [one.serial for record in pool.arrays if record.array.name == array for one in record.members]


def remove(world: World, serial: str) -> None:
    """The drive is out for good."""
    world.disks = [disk for disk in world.disks if disk.serial != serial]


def replace_by_hand(world: World, old: str, new: str) -> None:
    die(world, old)
    remove(world, old)
    add_by_hand(world, "data", new_drive(new))
    rebuilt(world)


def test_a_whole_drive_added_by_hand_is_in_after_every_later_boot(world: World) -> None:
    built(world, raid6_plan())
    replace_by_hand(world, "D1", "N1")
    for _ in range(2):
        assert started(world)[0] == "RAID6 data: started, 4 members"
        assert world.waited == 0
    assert members(load_pool()) == ["D0", "N1", "D2", "D3"]


def test_ten_replacements_in_ten_months_change_nothing() -> None:
    plan = planned(10, LOG_INSIDE)
    world = server_for(plan)
    built(world, plan)
    for month, serial in enumerate(plan.arrays[0].members):
        replace_by_hand(world, serial, f"N{month}")
        if month % 3 == 2:
            assert started(world)[0] == "RAID6 data: started, 10 members"
            assert world.waited == 0
    assert started(world)[0] == "RAID6 data: started, 10 members"
    assert members(load_pool()) == [f"N{month}" for month in range(10)]


def test_a_replacement_that_is_still_filled_goes_on_and_the_old_one_stays_recorded(world: World) -> None:
    built(world, raid6_plan())
    die(world, "D1")
    remove(world, "D1")
    add_by_hand(world, "data", new_drive("N1"))
    assert started(world)[0] == "RAID6 data: started without D1"
    assert members(load_pool())[1] == "D1"
    rebuilt(world)
    assert started(world)[0] == "RAID6 data: started, 4 members"
    assert members(load_pool())[1] == "N1"


def test_a_member_that_was_replaced_and_is_put_back_is_left_out_and_named(world: World) -> None:
    built(world, raid6_plan())
    old = next(disk for disk in world.disks if disk.serial == "D1")
    replace_by_hand(world, "D1", "N1")
    world.disks.append(old)
    (line, _) = started(world)
    assert line.startswith("RAID6 data: started, 4 members; D1 (nvme")
    assert line.endswith("was a member and is ignored: the array has a replacement")
    assert members(load_pool()) == ["D0", "N1", "D2", "D3"]


@pytest.mark.parametrize("bitmap", ["fits", "too old"])
def test_a_member_that_was_away_catches_up(world: World, bitmap: str) -> None:
    built(world, raid6_plan())
    away = next(disk for disk in world.disks if disk.serial == "D1")
    die(world, "D1")
    next(iter(away.inside.values()))["bitmap"] = bitmap
    writing(world, "data")
    line = started_idle(world)
    assert (
        "D1 returned and is resyncing" in line
        if bitmap == "fits"
        else "D1" in line and "--add /dev/disk/by-partuuid/" in line
    )


def started_idle(world: World) -> str:
    """The next boot of a server whose arrays were idle when it went down."""
    rebuilt(world)
    return started(world)[0]


def test_every_change_is_a_generation_and_the_last_ones_are_kept(world: World) -> None:
    built(world, raid6_plan())
    for number in range(KEPT + 5):
        replace_by_hand(world, members(load_pool())[number % 4], f"N{number}")
        in_sync.record(world, load_pool(), lambda _: None)
    assert load_pool().generation == KEPT + 6
    assert len(list((paths.state_dir() / "history").glob("pool-*.json"))) == KEPT
    in_sync.record(world, load_pool(), lambda _: None)
    assert load_pool().generation == KEPT + 6


def test_a_torn_pool_file_is_read_from_its_newest_copy_and_written_again(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    built(world, raid6_plan())
    replace_by_hand(world, "D1", "N1")
    started(world)
    text = paths.pool_file().read_text()
    paths.pool_file().write_text(text[: len(text) // 2])
    assert members(load_pool()) == ["D0", "N1", "D2", "D3"]
    assert "generation 2 of the history is used" in capsys.readouterr().err
    started(world)
    assert paths.pool_file().read_text() == text


def test_a_torn_copy_is_passed_over(world: World) -> None:
    built(world, raid6_plan())
    replace_by_hand(world, "D1", "N1")
    started(world)
    for path in (paths.pool_file(), paths.state_dir() / "history/pool-000002.json"):
        path.write_text("{")
    pool = known_pool()
    assert pool is not None
    assert pool.generation == 1
    (paths.state_dir() / "history/pool-000001.json").write_text("")
    with pytest.raises(BadInput, match=r"pool\.json"):
        known_pool()


def test_a_missing_pool_file_is_no_pool_whatever_the_history_has(root: Path, world: World) -> None:
    built(world, raid6_plan())
    paths.pool_file().unlink()
    assert known_pool() is None


def test_a_pool_file_of_the_first_release_has_generation_one(world: World) -> None:
    built(world, raid6_plan())
    text = paths.pool_file().read_text()
    paths.pool_file().write_text(text.replace('  "generation": 1,\n', ""))
    assert "generation" not in paths.pool_file().read_text()
    assert load_pool().generation == 1


@pytest.mark.parametrize("seed", range(40))
def test_any_sequence_of_deaths_replacements_and_boots_keeps_every_member(seed: int) -> None:
    """Whatever is in sync in md at a boot's end is in the array of the next boot, and recorded once in its slot."""
    pick = random.Random(seed)
    plan = planned(pick.choice((6, 7, 10)), LOG_INSIDE)
    world = server_for(plan)
    built(world, plan)
    lost: list[str] = []
    for step in range(25):
        running = next(array for array in world.arrays.values() if array.name == "millrace-data")
        there = sorted({serial for member in running.members for serial in world.serials(member)})
        match pick.choice(("die", "replace", "boot", "look", "rebuilt")):
            case "die" if len(lost) < 2 and all("recovering" not in held for held in held_of(world)):
                lost.append(pick.choice(there))
                die(world, lost[-1])
            case "replace" if lost:
                remove(world, lost.pop())
                add_by_hand(world, "data", new_drive(f"N{step}"))
            case "look":
                in_sync.record(world, load_pool(), lambda _: None)
            case "rebuilt":
                rebuilt(world)
            case "boot":
                world.disks = [disk for disk in world.disks if disk.serial not in lost]
                started(world)
        check(world, lost)
    rebuilt(world)
    world.disks = [disk for disk in world.disks if disk.serial not in lost]
    line = started(world)[0]
    assert line.startswith("RAID6 data: started without" if lost else "RAID6 data: started, ")
    check(world, lost, recorded=True)


def held_of(world: World) -> list[dict[str, str]]:
    running = next(one for one in world.arrays.values() if one.name == "millrace-data")
    return [held for one in running.members if (held := world.content(one))]


def check(world: World, lost: list[str], recorded: bool = False) -> None:
    record = next(one for one in load_pool().arrays if one.array.name == "data")
    assert len({one.serial for one in record.members}) == len(record.members) == len(record.array.members)
    (device,) = [name for name, one in world.arrays.items() if one.name == "millrace-data"]
    slots = {one.slot: world.identity(one.name).serial for one in world.md_members(device) if one.in_sync}
    assert len(slots) >= len(record.members) - 2
    if recorded:
        assert len(slots) == len(record.members) - len(lost)
        assert all(record.members[slot].serial == serial for slot, serial in slots.items() if slot is not None)


def test_plugging_in_a_blank_drive_changes_nothing(world: World) -> None:
    built(world, raid6_plan())
    plug_in(world, new_drive("N0"))
    assert started(world) == ["RAID6 data: started, 4 members", "RAID1 log: started, 2 members"]
    assert load_pool().generation == 1


def recorded(members: str, spares: str = "", planned_spares: int = 0) -> ArrayRecord:
    array = next(one for one in raid6_plan().arrays if one.name == "data")
    planned = array.model_copy(update={"spares": [f"P{number}" for number in range(planned_spares)]})
    return ArrayRecord(array=planned, uuid="", members=drives(members), spares=drives(spares))


def drives(serials: str) -> list[MemberRecord]:
    return [MemberRecord(serial=one, wwid="", partuuid="", label="") for one in serials]


@pytest.mark.parametrize(
    ("record", "in_sync_slots", "live", "spares", "members", "left"),
    [
        (recorded("ABCD"), "ABCD", "ABCD", "", "ABCD", ""),
        # C is missing and stays; N is in its place
        (recorded("ABCD"), "AB.D", "ABD", "", "ABCD", ""),
        (recorded("ABCD"), "ABND", "ABND", "", "ABND", ""),
        # B was taken out and came back in the slot of C, whose drive is missing now
        (recorded("ABCD"), "A.BD", "ABD", "", "ACBD", ""),
        (recorded("ABCD"), "D..A", "DA", "", "DBCA", ""),
        # the spare took the place of C, so that one is missing, until another comes
        (recorded("ABCD", "S", 1), "ABSD", "ABSD", "", "ABSD", "C"),
        (recorded("ABSD", "C", 1), "ABSD", "ABSDT", "T", "ABSD", "T"),
        (recorded("ABCD", "S", 1), "ABSD", "ABSDT", "T", "ABSD", "T"),
        # a spare that is being filled, that is missing, and that is missing and was followed by another
        (recorded("ABCD", "S", 1), "AB.D", "ABSD", "", "ABCD", "S"),
        (recorded("ABCD", "S", 1), "ABCD", "ABCD", "", "ABCD", "S"),
        (recorded("ABCD", "S", 1), "ABCD", "ABCDT", "T", "ABCD", "T"),
        # more than were planned
        (recorded("ABCD"), "ABCD", "ABCDTU", "TU", "ABCD", "TU"),
    ],
)
def test_the_record_follows_what_md_has(
    record: ArrayRecord, in_sync_slots: str, live: str, spares: str, members: str, left: str
) -> None:
    slots = {slot: drives(serial)[0] for slot, serial in enumerate(in_sync_slots) if serial != "."}
    now = up_to_date(record, slots, drives(live), drives(spares))
    assert "".join(one.serial for one in now.members) == members
    assert "".join(one.serial for one in now.spares) == left
    assert up_to_date(now, slots, drives(live), drives(spares)) == now
