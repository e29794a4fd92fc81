# SPDX-License-Identifier: Apache-2.0
"""Drives that come late, or were gone for a moment: the arrays are started again where that is certain."""

from pathlib import Path

import pytest

from millrace.plan.model import Role
from millrace.plan.policy.model import LayoutPolicy, LogPolicy, Policy
from millrace.storage.assemble import in_sync, standstill, unclean
from millrace.storage.assemble.assemble import assemble
from millrace.storage.record import writer
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import Failed
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.world import World
from tests.unit.storage.assemble.drives_back import (
    RESTART,
    REVIVE,
    WRITTEN,
    boot_without,
    disk,
    fail_together,
    one_after_another,
    recorded,
    run,
    started,
)
from tests.unit.storage.drive_life import die, plug_in, rebuilt, writing
from tests.unit.storage.plans import planned, raid6_plan
from tests.unit.storage.server import built, server_for


@pytest.fixture
def pool(world: World) -> World:
    """A RAID6 of D0 to D3 and a mirror of L0 and L1, both running."""
    built(world, raid6_plan())
    return world


def test_drives_that_come_after_the_assembly_failed_start_it_again_once(pool: World) -> None:
    boot_without(pool, "D0", "D1", "D2")
    with pytest.raises(Failed, match="1 of 4 members present, 2 required"):
        assemble(pool, lambda _: None)
    started(pool)
    # nothing came
    assert run(pool) == [] and started(pool) == []
    # D1 and D2 may have gone on without D0 and D3: by their superblocks all are in sync
    plug_in(pool, disk(pool, "D0"))
    (said,) = run(pool)
    assert said.startswith("RAID6 data does not start by itself: D1, D2 may have left after D")
    assert started(pool) == []
    # D2 alone cannot have gone on
    plug_in(pool, disk(pool, "D1"))
    assert run(pool) == ["/dev/md/millrace-data: the drives are back; starting the pool"]
    assert started(pool) == [RESTART]
    # nobody has tried it yet
    assert run(pool) == ["/dev/md/millrace-data: the drives are back; starting the pool"]
    assert started(pool) == [RESTART]
    # the same drives are not tried twice
    standstill.record(pool, load_pool())
    assert run(pool) == [] and started(pool) == []
    assemble(pool, lambda _: None)
    assert standstill.load() == {}


@pytest.fixture(params=[False, True], ids=["pair", "spare"])
def shared(request: pytest.FixtureRequest) -> World:
    """A RAID6 of ten drives, with its log on partitions of the first two, and maybe of a third as its hot spare."""
    plan = planned(10)
    if not request.param:
        log = plan.arrays[1].model_copy(update={"spares": []})
        drives = [
            drive.model_copy(update={"partitions": [part for part in drive.partitions if part.role is Role.DATA]})
            if drive.serial in plan.arrays[1].spares
            else drive
            for drive in plan.drives
        ]
        plan = plan.model_copy(update={"arrays": [plan.arrays[0], log], "drives": drives})
    world = server_for(plan)
    built(world, plan)
    in_sync.record(world, load_pool(), lambda _: None)
    return world


def break_log(world: World, full: bool, monkeypatch: pytest.MonkeyPatch) -> list[Disk]:
    """SN000 drops, the log goes on with SN001, which drops with SN002: the array of the data breaks, too."""
    drives = [disk(world, serial) for serial in ("SN000", "SN001", "SN002")]
    die(world, "SN000")
    writing(world, "log")
    writing(world, "data")
    if full:
        # recorded in time, but not on the boot drive
        monkeypatch.setattr(in_sync, "write_model", state_drive_full)
        in_sync.record(world, load_pool(), lambda _: None)
    die(world, "SN001")
    writing(world, "data")
    die(world, "SN002")
    return drives


def state_drive_full(path: Path, model: Contract) -> bool:
    if path == paths.in_sync_file():
        raise OSError(28, "No space left on device")
    return write_model(path, model)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("seen", [False, True])
def test_older_half_of_a_broken_log_is_not_replayed(
    shared: World, monkeypatch: pytest.MonkeyPatch, full: bool, seen: bool
) -> None:
    first, newest, third = break_log(shared, full, monkeypatch)
    if seen:
        in_sync.record(shared, load_pool(), lambda _: None)
    for drive in (first, third):
        plug_in(shared, drive)
    said = run(shared)
    assert any("log does not start by itself: SN001 may have left after SN000, and would" in line for line in said)
    assert started(shared) == []
    # also where the arrays are started by hand: md's own knowledge outlives the stop of the array
    with pytest.raises(Failed, match=r"SN000.* but was out of sync .* SN001 was in sync. Reinsert SN001"):
        assemble(shared, lambda _: None)
    assert in_sync.last_of(load_pool().arrays[1]).members[0].serial == "SN001"
    plug_in(shared, newest)
    lines: list[str] = []
    assemble(shared, lines.append)
    assert any(line.startswith("RAID1 log: started without SN000") for line in lines), lines


def test_two_of_four_that_left_at_once_do_not_start_without_those_that_went_on(pool: World) -> None:
    away = [disk(pool, serial) for serial in ("D0", "D1")]
    die(pool, "D0", "D1")
    writing(pool, "data")
    die(pool, "D2", "D3")
    for one in away:
        plug_in(pool, one)
    (said,) = run(pool)
    assert said == "RAID6 data does not start by itself: D2, D3 may have left after D0, D1, and would be newer"
    assert started(pool) == []


def test_record_of_this_boot_counts_and_is_not_left_older_than_the_other(
    pool: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = load_pool().arrays[1]
    die(pool, "L0")
    monkeypatch.setattr(in_sync, "write_model", state_drive_full)
    in_sync.record(pool, load_pool(), lambda _: None)
    assert [member.serial for member in in_sync.last_of(record).members] == ["L1"]

    def run_full(path: Path, model: Contract) -> bool:
        if path == paths.in_sync_now_file():
            raise OSError(28, "No space left on device")
        return write_model(path, model)

    plug_in(pool, disk(pool, "L0"))
    run(pool)
    monkeypatch.setattr(in_sync, "write_model", run_full)
    in_sync.record(pool, load_pool(), lambda _: None)
    assert [member.serial for member in in_sync.last_of(record).members] == ["L0", "L1"]
    monkeypatch.setattr(in_sync, "write_model", write_model)
    in_sync.record(pool, load_pool(), lambda _: None)
    in_sync.forget_left()
    assert not paths.in_sync_now_file().exists() and in_sync.last_of(record).members


def test_record_of_the_next_boot_is_written_where_run_takes_nothing(
    pool: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit with a read-only /run can neither write nor remove what is there."""
    in_sync.record(pool, load_pool(), lambda _: None)
    die(pool, "L0")

    def read_only(self: Path, missing_ok: bool = False) -> None:
        assert self == paths.in_sync_now_file()
        raise OSError(30, "Read-only file system")

    def run_read_only(path: Path, model: Contract) -> bool:
        if path == paths.in_sync_now_file():
            raise OSError(30, "Read-only file system")
        return write_model(path, model)

    monkeypatch.setattr(in_sync, "write_model", run_read_only)
    monkeypatch.setattr(Path, "unlink", read_only)
    said: list[str] = []
    in_sync.record(pool, load_pool(), said.append)
    assert said == ["cannot record the members of the arrays for this boot: [Errno 30] Read-only file system"]
    written = read_model(paths.in_sync_file(), in_sync.InSync)
    assert [member.serial for member in written.arrays[1].members] == ["L1"]


def test_mirror_whose_last_half_is_gone_is_broken_before_any_write(pool: World) -> None:
    away = [disk(pool, serial) for serial in ("L0", "L1")]
    die(pool, "L0")
    writing(pool, "log")
    die(pool, "L1")
    log = pool.md_link("millrace-log")
    assert log is not None
    # nothing was written since: md does not know it yet
    pool.arrays[log].state = "active"
    plug_in(pool, away[0])
    assert not [line for line in run(pool) if "resyncing" in line]
    assert [command for command in pool.calls if "--re-add" in command] == []
    in_sync.record(pool, load_pool(), lambda _: None)
    assert [member.serial for member in in_sync.last_of(load_pool().arrays[1]).members] == ["L1"]
    assert [(array.name, array.broken, array.starts) for array in standstill.load().values()] == [("log", True, False)]


def test_mirror_whose_last_half_takes_no_write_has_when_the_other_left(pool: World) -> None:
    log = pool.md_link("millrace-log")
    assert log is not None
    in_sync.record(pool, load_pool(), lambda _: None)
    die(pool, "L0")
    # md fails every write from now on, with the drive in its place
    pool.arrays[log].state = "broken"
    in_sync.record(pool, load_pool(), lambda _: None)
    last = in_sync.last_of(load_pool().arrays[1])
    assert [member.serial for member in last.members] == ["L1"]
    assert [(left.member.serial, left.beside) for left in last.left] == [("L0", [1])]


@pytest.mark.parametrize("unit", ["millrace-assemble.service", "millrace-pool-change@revive.service"])
def test_start_under_way_is_not_killed_and_what_came_meanwhile_is_started_after_it(
    pool: World, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot_without(pool, "D0", "D1", "D2")
    with pytest.raises(Failed):
        assemble(pool, lambda _: None)
    plug_in(pool, disk(pool, "D0"))
    # D2 alone cannot have gone on
    plug_in(pool, disk(pool, "D1"))
    pool.activating.add(unit)
    started(pool)
    waited: list[float] = []

    def wait(seconds: float) -> None:
        assert RESTART not in pool.calls
        with writer.writing("a revival"):
            waited.append(seconds)
        if len(waited) == 3:
            pool.activating.clear()

    monkeypatch.setattr(pool, "wait", wait)
    assert run(pool) == ["/dev/md/millrace-data: the drives are back; starting the pool"]
    assert started(pool) == [RESTART] and len(waited) == 3


def test_start_that_hangs_is_not_waited_for_for_ever(pool: World, monkeypatch: pytest.MonkeyPatch) -> None:
    one_after_another(pool, "D0", "D1", "D2")
    pool.activating.add("millrace-assemble.service")
    waited: list[float] = []
    monkeypatch.setattr(pool, "wait", waited.append)
    (said,) = run(pool)
    assert said.startswith("the arrays are being started for more than 30 minutes")
    assert started(pool) == [] and sum(waited) == 1800


def test_doubt_is_said_once_for_the_same_drives(pool: World) -> None:
    fail_together(pool)
    (said,) = run(pool)
    assert said.startswith("RAID6 data does not start by itself: it is not known which of D1, D2 left last")
    assert run(pool) == [] and started(pool) == []


def test_revival_that_did_not_end_is_started_by_the_next_event(pool: World) -> None:
    away = [disk(pool, serial) for serial in ("D0", "D1", "D2")]
    one_after_another(pool, "D0", "D1", "D2")
    for one in away:
        plug_in(pool, one)
    for _ in range(2):
        run(pool)
        assert started(pool) == [REVIVE]
    standstill.record(pool, load_pool())
    assert run(pool) == [] and started(pool) == []


def test_one_drive_that_is_not_enough_starts_nothing(pool: World) -> None:
    boot_without(pool, "D0", "D1", "D2", "D3")
    with pytest.raises(Failed):
        assemble(pool, lambda _: None)
    plug_in(pool, disk(pool, "D0"))
    (said,) = run(pool)
    assert said == "RAID6 data does not start by itself: 1 more of its members are needed; missing: D1, D2, D3"
    assert started(pool) == []


def test_broken_array_gets_no_member_and_is_revived(pool: World) -> None:
    away = [disk(pool, serial) for serial in ("D0", "D1", "D2")]
    one_after_another(pool, "D0", "D1", "D2")
    # the one that left first is not enough
    plug_in(pool, away[0])
    (said,) = run(pool)
    assert said.startswith("RAID6 data does not start by itself: D1, D2 may have left after D0")
    assert started(pool) == []
    plug_in(pool, away[2])
    assert run(pool) == ["/dev/md/millrace-data: the drives are back; starting the pool"]
    assert [command for command in pool.calls if "--re-add" in command or "--add" in command] == []
    assert started(pool) == [REVIVE]


def test_member_that_left_last_is_started_with_and_the_others_are_rebuilt(pool: World) -> None:
    away = [disk(pool, serial) for serial in ("D0", "D1", "D2")]
    one_after_another(pool, "D0", "D1", "D2")
    for drive in away:
        plug_in(pool, drive)
    lines: list[str] = []
    assemble(pool, lines.append)
    assert lines[0] == (
        "RAID6 data: started without D0, D1, with D2 again: files written in the last minutes before it broke may be "
        "damaged; D0 returned and is resyncing; D1 returned and is resyncing"
    )
    known = unclean.pending()
    assert known is not None
    assert [(start.array, start.missing) for start in known.starts] == [("data", ["D0", "D1"])]
    (forced,) = [command for command in pool.calls if "--force" in command]
    assert len([word for word in forced if word.startswith("/dev/nvme")]) == 2


def test_member_that_the_bitmap_does_not_know_any_more_is_rebuilt_whole(pool: World) -> None:
    away = [disk(pool, serial) for serial in ("D0", "D1", "D2")]
    one_after_another(pool, "D0", "D1", "D2")
    # the bitmap of the members that the array was started with is older than what it missed
    next(iter(away[0].inside.values()))["bitmap"] = "too old"
    for drive in away:
        plug_in(pool, drive)
    lines: list[str] = []
    assemble(pool, lines.append)
    assert lines[0].endswith("; D0 returned and is being rebuilt; D1 returned and is resyncing")
    assert len([command for command in pool.calls if "--add" in command]) == 1


def test_missing_slots_of_a_revival_are_those_of_the_superblocks() -> None:
    """A hot spare took the first slot, which could not be recorded; then three more members leave, and are back."""
    plan = planned(7, Policy(layout=LayoutPolicy(spares=1), log=LogPolicy(mode="internal")))
    world = server_for(plan)
    built(world, plan)
    members = plan.arrays[0].members
    die(world, members[0])
    rebuilt(world)
    away = [disk(world, serial) for serial in members[1:4]]
    for drive in away:
        die(world, drive.serial)
        writing(world, "data")
    for drive in away:
        plug_in(world, drive)
    lines: list[str] = []
    assemble(world, lines.append)
    assert f", with {members[3]} again" in lines[0]
    known = unclean.pending()
    assert known is not None and [(start.slots, start.missing) for start in known.starts] == [([1, 2], members[1:3])]


@pytest.mark.parametrize("last", ["D1", "D2"])
def test_recorded_order_says_which_of_two_equal_members_left_last(pool: World, last: str) -> None:
    fail_together(pool)
    recorded(pool, "D1" if last == "D2" else "D2", 2, False, WRITTEN)
    recorded(pool, last, 1, True, WRITTEN)
    lines: list[str] = []
    assemble(pool, lines.append)
    assert f", with {last} again" in lines[0]


@pytest.mark.parametrize("at", [None, WRITTEN - 3600, WRITTEN + 3600])
def test_equal_members_without_a_record_of_this_time_are_not_started(pool: World, at: float | None) -> None:
    fail_together(pool)
    if at is not None:
        recorded(pool, "D2", 1, True, at)
    with pytest.raises(Failed, match=r"it is not known which of D1, D2 left last\); missing: none. See millrace"):
        assemble(pool, lambda _: None)
    assert [command for command in pool.calls if "--force" in command] == []
    assert unclean.pending() is None
    (one,) = standstill.load().values()
    assert (one.behind, one.missing, one.starts) == (["D0", "D1", "D2"], [], False)


def test_record_that_cannot_be_read_is_none() -> None:
    write_model(paths.stopped_file(), standstill.StoppedArrays(arrays=[]))
    assert standstill.load() == {}
    paths.stopped_file().write_text("{")
    assert standstill.load() == {}
