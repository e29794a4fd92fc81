# SPDX-License-Identifier: Apache-2.0
"""A degraded array starts after a power cut; stale members never replace current data."""

import errno
from typing import Any

import pytest

from millrace.plan.policy.model import LayoutPolicy, Policy
from millrace.storage.array import md
from millrace.storage.array.superblock import Superblock
from millrace.storage.assemble import in_sync, readd, unclean
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.fakes.drives.disks import Content
from tests.fakes.drives.world import World
from tests.unit.storage.drive_life import die, members_of, plug_in, rebuilt, writing
from tests.unit.storage.plans import planned, raid6_plan, raid50_plan
from tests.unit.storage.power_cut import cut_while_written, forced, started
from tests.unit.storage.server import built, server_for


def superblock_of(world: World, serial: str) -> Content:
    (disk,) = [disk for disk in world.disks if disk.serial == serial]
    (held,) = disk.inside.values()
    return held


@pytest.mark.parametrize(("lost", "check"), [(["D1"], "waiting"), (["D1", "D3"], "none")])
def test_a_raid6_written_while_degraded_starts_and_waits_for_a_check_where_there_is_parity(
    world: World, lost: list[str], check: str
) -> None:
    built(world, raid6_plan())
    cut_while_written(world, "data", *lost)
    data, log = started(world)
    assert data.startswith(f"RAID6 data: started without {', '.join(lost)}, unclean while degraded: files in the rows")
    assert log == "RAID1 log: started, 2 members"
    known = unclean.pending()
    assert known is not None
    (start,) = known.starts
    assert (start.array, start.missing, start.last_write) == ("data", lost, "2026-11-18T11:06:40+00:00")
    assert (start.check, unclean.holds("data")) == (check, check == "waiting")
    # the server's clock is before the superblocks
    assert start.dated is False


def test_nothing_is_added_to_an_array_until_its_torn_rows_are_recorded(world: World) -> None:
    built(world, raid6_plan())
    away = next(disk for disk in world.disks if disk.serial == "D1")
    cut_while_written(world, "data", "D1")
    plug_in(world, away)
    (data, _) = started(world)
    assert "D1 (nvme" in data and "is not added yet: parity is checked for torn rows first" in data
    lines: list[str] = []
    readd.readd(world, lines.append)
    assert lines == [f"RAID6 data: no member is added yet: {unclean.WAITS}"]
    # nor after another restart, although md starts the array by itself
    world.boot()
    assert "is not added yet" in started(world)[0]
    assert not any("--re-add" in command for command in world.calls)
    unclean.change("data", lambda start: start.model_copy(update={"check": "found"}))
    lines.clear()
    readd.readd(world, lines.append)
    assert lines == ["RAID6 data: D1 returned and is resyncing"]


def with_a_spare() -> tuple[World, str, list[str]]:
    """A RAID6 with a hot spare; its serial, and those of the members."""
    plan = planned(7, Policy(layout=LayoutPolicy(spares=1)))
    world = server_for(plan)
    built(world, plan)
    (spare,) = plan.arrays[0].spares
    return world, spare, plan.arrays[0].members


def test_a_hot_spare_is_left_out_until_the_torn_rows_are_recorded() -> None:
    world, spare, members = with_a_spare()
    writing(world, "data")
    world.disks = [disk for disk in world.disks if disk.serial != members[0]]
    for _ in range(2):
        world.boot()
        world.calls.clear()
        started(world)
        (command,) = [
            command for command in world.calls if "--assemble" in command and "/dev/md/millrace-data" in command
        ][-1:]
        assert len([word for word in command if word.startswith("/dev/nvme")]) == 5
    unclean.change("data", lambda start: start.model_copy(update={"check": "found"}))
    lines: list[str] = []
    readd.readd(world, lines.append)
    assert lines == [f"RAID6 data: {spare} is a hot spare again"]
    assert len(members_of(world, world.running("/dev/md/millrace-data"))) == 6


def test_a_rebuild_that_the_cut_interrupted_goes_on() -> None:
    world, _, members = with_a_spare()
    die(world, members[0])
    writing(world, "data")
    world.disks = [disk for disk in world.disks if disk.serial != members[0]]
    world.boot()
    started(world)
    known = unclean.pending()
    assert known is not None and known.starts[0].problem == unclean.GOES_ON
    assert len(members_of(world, world.running("/dev/md/millrace-data"))) == 6


def test_the_missing_slots_of_a_start_are_those_of_the_superblocks() -> None:
    """A hot spare took a slot, which could not be recorded; then another member leaves, and the power goes."""
    world, _, members = with_a_spare()
    die(world, members[0])
    rebuilt(world)
    die(world, members[3])
    writing(world, "data")
    world.disks = [disk for disk in world.disks if disk.serial not in (members[0], members[3])]
    world.boot()
    assert f"RAID6 data: started without {members[3]}, unclean" in started(world)[0]
    known = unclean.pending()
    assert known is not None
    assert [(start.slots, start.missing, start.check) for start in known.starts] == [([3], [members[3]], "waiting")]


def test_an_interrupted_rebuild_goes_on_and_the_check_is_given_up(world: World) -> None:
    data = built(world, raid6_plan()).arrays[0]
    unclean.add(data, [1], 1_700_000_000, "2026-09-01T12:00:00+00:00", rebuilding=True)
    known = unclean.pending()
    assert known is not None
    assert (known.starts[0].check, known.starts[0].problem) == ("failed", unclean.GOES_ON)
    assert not unclean.holds("data")


def test_a_start_is_recorded_before_it_is_forced(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    built(world, raid6_plan())
    cut_while_written(world, "data", "D1")
    seen: list[bool] = []
    assemble_md: Any = md.assemble

    def watched(*args: Any, **kwargs: Any) -> None:
        if kwargs.get("force"):
            seen.append(unclean.pending() is not None)
        assemble_md(*args, **kwargs)

    monkeypatch.setattr(md, "assemble", watched)
    started(world)
    assert seen == [True]


def test_a_forced_start_that_fails_is_not_recorded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    built(world, raid6_plan())
    cut_while_written(world, "data", "D1")

    def refused(*args: Any, **kwargs: Any) -> None:
        raise Failed("mdadm: no")

    monkeypatch.setattr(md, "assemble", refused)
    assert started(world)[-1].startswith("failed: ")
    assert unclean.pending() is None


def test_a_forced_start_that_stays_read_only_is_recorded_and_gets_no_member(world: World) -> None:
    built(world, raid6_plan())
    away = next(disk for disk in world.disks if disk.serial == "D1")
    cut_while_written(world, "data", "D1")
    world.broken["mdadm --readwrite"] = Result(1, "", "mdadm: failed to set writable")
    assert "failed to set writable" in started(world)[-1]
    world.broken.clear()
    known = unclean.pending()
    assert known is not None and known.starts[0].check == "waiting"
    plug_in(world, away)
    assert "already running; D1 (nvme" in (said := started(world)[0]) and "is not added yet" in said
    assert world.running("/dev/md/millrace-data").state == "active"


def test_an_array_that_is_held_read_only_is_left_so_and_gets_no_member(world: World) -> None:
    """An administrator starts it by force and read-only, and copies data from it."""
    built(world, raid6_plan())
    away = next(disk for disk in world.disks if disk.serial == "D1")
    die(world, "D1")
    world.running("/dev/md/millrace-data").state = "readonly"
    plug_in(world, away)
    world.calls.clear()
    for _ in range(2):
        assert started(world)[0] == (
            "RAID6 data: already running, read-only, which Millrace leaves as it is; to make it writable: "
            "mdadm --readwrite /dev/md/millrace-data"
        )
        lines: list[str] = []
        readd.readd(world, lines.append)
        assert lines == []
    assert not [command for command in world.calls if "--readwrite" in command or "--re-add" in command]


def test_what_is_held_read_only_after_a_start_of_millrace_is_left_so(world: World) -> None:
    built(world, raid6_plan())
    cut_while_written(world, "data", "D1")
    started(world)
    world.running("/dev/md/millrace-data").state = "readonly"
    assert "which Millrace leaves as it is" in started(world)[0]
    # nor where our start failed, and the array was started by hand after that
    world.boot()
    writing_cut = superblock_of(world, "D0")
    writing_cut["clean"] = "0"
    world.refuse_force = True
    assert started(world)[-1].startswith("failed: ")
    world.refuse_force = False
    names = [name for name, uuid in world.md_superblocks().items() if md.same_uuid(uuid, load_pool().arrays[0].uuid)]
    world.attempt(
        [
            *("mdadm", "--assemble", "/dev/md/millrace-data", "--run", "--force", "--readonly"),
            *(f"--uuid={load_pool().arrays[0].uuid}", "--homehost=millrace", *(f"/dev/{name}" for name in names)),
        ]
    )
    assert "which Millrace leaves as it is" in started(world)[0]


def test_a_full_boot_drive_keeps_no_array_from_starting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    built(world, raid6_plan())
    cut_while_written(world, "data", "D1")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(unclean, "add", full)
    assert started(world)[0].endswith("; this could not be recorded: No space left on device")


def test_a_torn_record_keeps_no_array_from_starting(world: World) -> None:
    built(world, raid6_plan())
    cut_while_written(world, "data", "D1")
    paths.unclean_file().write_text("{")
    assert "; this could not be recorded: " in started(world)[0] and len(forced(world)) == 1


def test_a_forced_start_that_fails_on_a_read_only_boot_drive_stops_no_other_array(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    built(world, raid6_plan())
    cut_while_written(world, "data", "D1")
    world.refuse_force = True

    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(unclean, "withdraw", read_only)
    said = started(world)
    assert said[0].startswith("RAID1 log: ") and said[-1].startswith("failed: ")


@pytest.mark.parametrize(
    ("last_write", "dated"), [(1_700_000_000, True), (None, False), (4_000_000_000, False)], ids=str
)
def test_a_clock_that_contradicts_the_superblocks_is_recorded(
    world: World, last_write: int | None, dated: bool
) -> None:
    data = built(world, raid6_plan()).arrays[0]
    unclean.add(data, [1], last_write, "2026-09-01T12:00:00+00:00")
    known = unclean.pending()
    assert known is not None and known.starts[0].dated is dated


def test_a_leg_written_while_degraded_starts_and_the_raid0_over_it() -> None:
    world = server_for(raid50_plan())
    built(world, raid50_plan())
    cut_while_written(world, "leg0", "D1")
    said = started(world)
    assert said[0].startswith("RAID5 leg0: started without D1, unclean while degraded")
    assert said[3] == "RAID0 data: started, 2 members"


def test_a_healthy_array_is_never_forced(world: World) -> None:
    built(world, raid6_plan())
    writing(world, "data")
    world.boot()
    assert started(world)[0] == "RAID6 data: started, 4 members"
    assert forced(world) == []
    assert unclean.pending() is None


def test_a_member_that_is_out_of_date_takes_no_part_in_a_forced_start(world: World) -> None:
    built(world, raid6_plan())
    away = next(disk for disk in world.disks if disk.serial == "D1")
    cut_while_written(world, "data", "D1")
    plug_in(world, away)
    away.inside[next(iter(away.inside))]["bitmap"] = "too old"
    (data, _) = started(world)
    assert data.startswith("RAID6 data: started without D1, unclean while degraded")
    assert "D1 (nvme" in data
    assert "is not added yet" in data


def test_too_few_current_members_are_not_forced(world: World) -> None:
    built(world, raid6_plan())
    cut_while_written(world, "data", "D1", "D3")
    superblock_of(world, "D2").update(events="0", states="AAAA")
    failed = started(world)[-1]
    assert failed.startswith("failed: RAID6 data does not start (D1, D3 may have left after D2, and would be newer); ")
    assert failed.endswith("missing: D1, D3. See millrace pool revive")
    assert forced(world) == []


def test_one_event_behind_is_current(world: World) -> None:
    built(world, raid6_plan())
    cut_while_written(world, "data", "D1")
    held = superblock_of(world, "D2")
    held["events"] = str(int(held["events"]) - 1)
    assert started(world)[0].startswith("RAID6 data: started without D1, unclean")


def block(slot: int, events: int = 10, states: str = "AAA.", **more: bool) -> Superblock:
    known = {"clean": False, "recovering": False} | more
    return Superblock(f"nvme{slot}n1p1", slot, events, known["clean"], known["recovering"], states)


@pytest.mark.parametrize(
    ("blocks", "slots"),
    [
        ([block(0), block(1), block(2)], [0, 1, 2]),
        ([block(0), block(1), block(2, 9)], [0, 1, 2]),
        # two events behind; marked as gone by the newest; clean; another's place; filled only in part
        ([block(0), block(1), block(2, 8)], [0, 1]),
        ([block(0), block(1), block(3)], [0, 1]),
        ([block(0, clean=True), block(1, clean=True), block(2, clean=True)], []),
        ([block(0), block(1), block(1)], []),
        ([block(0), block(1), block(2, recovering=True)], [0, 1]),
        ([block(0)], []),
        ([], []),
    ],
)
def test_only_members_that_were_current_to_the_end_are_forced(blocks: list[Superblock], slots: list[int]) -> None:
    assert [one.slot for one in unclean.forceable(blocks, 2)] == slots


def test_members_of_a_running_array_are_those_that_are_there(world: World) -> None:
    built(world, raid6_plan())
    die(world, "D2")
    assert len(members_of(world, world.running("/dev/md/millrace-data"))) == 3


def test_an_array_that_only_collects_members_has_none_that_run(world: World) -> None:
    pool = built(world, raid6_plan())
    data = pool.arrays[0]
    running = in_sync.running_members(world, data)
    assert running is not None and len(running.in_sync) == len(data.members)
    (array,) = [one for one in world.arrays.values() if one.uuid == data.uuid]
    array.state = "inactive"
    assert in_sync.running_members(world, data) is None
