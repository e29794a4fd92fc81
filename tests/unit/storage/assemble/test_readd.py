# SPDX-License-Identifier: Apache-2.0
"""A member that returns while its array runs is re-added by itself, and one that comes and goes is left out."""

import errno
import fcntl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.plan.policy.model import LayoutPolicy, Policy
from millrace.storage.assemble import in_sync, readd, unclean
from millrace.storage.assemble.assemble import assemble
from millrace.storage.assemble.readd import MOST, Returns
from millrace.storage.record import apart_record, removal_record
from millrace.storage.record.apart_record import Apart
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import Refused
from millrace.system.run import Result
from tests.fakes.drives.disks import Content, Disk
from tests.fakes.drives.world import World
from tests.unit.storage.drive_life import add_by_hand, die, plug_in, rebuilt
from tests.unit.storage.plans import planned, raid6_plan
from tests.unit.storage.server import built, server_for

DATA = "/dev/md/millrace-data"


@pytest.fixture
def pool(world: World) -> World:
    """A server whose pool runs."""
    built(world, raid6_plan())
    return world


def lost(world: World, serial: str) -> Disk:
    """A drive is pulled; what it is."""
    (disk,) = [one for one in world.disks if one.serial == serial]
    die(world, serial)
    return disk


def by_partuuid(disk: Disk) -> str:
    """The path of the only partition of a drive."""
    (partuuid,) = disk.inside
    return f"/dev/disk/by-partuuid/{partuuid}"


def readded(world: World) -> list[str]:
    """What the service says."""
    world.calls.clear()
    lines: list[str] = []
    readd.readd(world, lines.append)
    return lines


def re_adds(world: World) -> list[list[str]]:
    return [command for command in world.calls if "--re-add" in command]


def outcomes() -> list[tuple[str, str, str]]:
    return [(one.serial, one.array, one.outcome) for one in read_model(paths.returns_file(), Returns).returns]


def test_returned_member_is_re_added_to_its_array(pool: World) -> None:
    disk = lost(pool, "D1")
    plug_in(pool, disk)
    assert readded(pool) == ["RAID6 data: D1 returned and is resyncing"]
    (command,) = re_adds(pool)
    assert command == ["mdadm", "/dev/md/millrace-data", "--re-add", by_partuuid(disk)]
    assert outcomes() == [("D1", "data", "re-added")]


def test_member_that_was_filled_from_one_that_was_gone_is_filled_anew(pool: World) -> None:
    """What it has is listed as copied and unreadable: md would go on behind that."""
    disk = lost(pool, "D1")
    held = next(iter(disk.inside.values()))
    held |= {"recovering": "1", "bad": "1"}
    plug_in(pool, disk)
    assert readded(pool) == ["RAID6 data: D1 returned and is being rebuilt"]
    assert re_adds(pool) == []
    assert ["mdadm", "--zero-superblock", by_partuuid(disk)] in pool.calls
    assert "bad" not in next(iter(disk.inside.values()))


def test_member_in_a_resync_by_the_bitmap_keeps_what_it_has_where_a_block_is_bad(pool: World) -> None:
    disk = lost(pool, "D1")
    held = next(iter(disk.inside.values()))
    held |= {"recovering": "bitmap", "bad": "1"}
    plug_in(pool, disk)
    assert readded(pool) == ["RAID6 data: D1 returned and is resyncing"]
    assert not [command for command in pool.calls if "--zero-superblock" in command or "--add" in command]
    assert "bad" in held


def test_nothing_is_done_where_no_member_is_missing(pool: World) -> None:
    assert readded(pool) == []
    assert not pool.writes or not re_adds(pool)
    assert not paths.returns_file().exists()


def test_member_whose_place_is_taken_is_left_alone(pool: World) -> None:
    disk = lost(pool, "D1")
    add_by_hand(pool, "data", Disk("NEW", disk.size))
    rebuilt(pool)
    plug_in(pool, disk)
    assert readded(pool) == []
    assert re_adds(pool) == []


def test_drive_that_was_taken_out_on_purpose_is_left_alone(pool: World) -> None:
    disk = lost(pool, "D1")
    removal_record.add("D1", "2026-11-22T10:00:00+00:00")
    name = plug_in(pool, disk)
    said = "was taken out of the pool on 2026-11-22 10:00 UTC and is left alone"
    assert readded(pool) == [f"RAID6 data: D1 ({name}p1) {said}"]
    assert re_adds(pool) == [] and not paths.returns_file().exists()
    # and at the next boot
    pool.boot()
    lines: list[str] = []
    assemble(pool, lines.append)
    assert said in next(line for line in lines if line.startswith("RAID6 data")) and re_adds(pool) == []
    # a member again, by hand, is one that returns
    removal_record.forget(["D1"])
    assert readded(pool) == ["RAID6 data: D1 returned and is resyncing"]


def test_member_that_cannot_be_re_added_is_recorded_with_the_way_by_hand(pool: World) -> None:
    disk = lost(pool, "D1")
    name = plug_in(pool, disk)
    for held in disk.inside.values():
        held["bitmap"] = "none"
    (line,) = readded(pool)
    assert line.startswith(f"RAID6 data: D1 ({name}") and "mdadm /dev/md/millrace-data --add /dev/" in line
    assert outcomes() == [("D1", "data", "failed")]


@pytest.mark.parametrize("events", [True, False], ids=["events", "older record"])
def test_member_that_was_in_sync_since_a_start_without_it_is_not_rebuilt_where_re_adding_fails(
    pool: World, events: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = lost(pool, "D1")
    record = load_pool().arrays[0]
    before = int(next(iter(disk.inside.values()))["events"])
    # the superblocks of the fake are of 2026-11-18
    unclean.add(record, [1], None, "2026-11-17T07:00:00+00:00", True, before if events else None)
    held = next(iter(disk.inside.values()))
    plug_in(pool, disk)
    readded(pool)
    rebuilt(pool)
    lost(pool, "D1")
    plug_in(pool, disk)
    pool.broken["mdadm /dev/md/millrace-data --re-add"] = Result(1, "", "mdadm: Device or resource busy")
    before_attempt = dict(held)
    (line,) = readded(pool)
    assert "D1" in line and f"cannot be re-added; to rebuild it: mdadm {DATA} --add {by_partuuid(disk)}" in line
    assert held == before_attempt and not [command for command in pool.calls if "--add" in command]


@pytest.mark.parametrize("acknowledged", [False, True])
def test_member_that_an_array_was_started_without_is_rebuilt_where_re_adding_fails(
    pool: World, acknowledged: bool
) -> None:
    disk = lost(pool, "D1")
    held = next(iter(disk.inside.values()))
    held["bitmap"] = "too old"
    # by an older version, whose record has the time only
    unclean.add(load_pool().arrays[0], [1], None, "2026-11-19T07:00:00+00:00", rebuilding=True)
    if acknowledged:
        unclean.acknowledge()
    plug_in(pool, disk)
    assert readded(pool) == ["RAID6 data: D1 returned and is being rebuilt"]


def test_drive_that_comes_and_goes_is_left_out_until_a_day_has_passed(
    pool: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
    monkeypatch.setattr(pool, "now", lambda: now.isoformat(timespec="seconds"))
    for number in range(MOST + 2):
        plug_in(pool, lost(pool, "D1"))
        (line,) = readded(pool)
        assert ("is resyncing" in line) == (number < MOST) == bool(re_adds(pool))
        rebuilt(pool)
        now += timedelta(hours=1)
    assert "D1" in line and f"more than {MOST} times in 24 hours and is left out" in line
    assert outcomes()[-2:] == [("D1", "data", "left-out")] * 2
    # another drive has its own count
    plug_in(pool, lost(pool, "D2"))
    assert "RAID6 data: D2 returned and is resyncing" in readded(pool)
    now += readd.DAY
    assert readded(pool) == ["RAID6 data: D1 returned and is resyncing"]
    # what is older than a day is forgotten
    assert outcomes() == [("D1", "data", "re-added")]


def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """The boot drive takes no record of returns from now on."""
    write = readd.write_model

    def written(path: Path, model: Returns) -> bool:
        if path == paths.returns_file():
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return write(path, model)

    monkeypatch.setattr(readd, "write_model", written)


def test_full_boot_drive_keeps_no_member_out_and_the_count_goes_on(
    pool: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(pool, lost(pool, "D1"))
    readded(pool)
    rebuilt(pool)
    with monkeypatch.context() as patch:
        full(patch)
        for number in range(1, MOST):
            plug_in(pool, lost(pool, "D1"))
            assert readded(pool) == [
                "RAID6 data: D1 returned and is resyncing; this return could not be recorded: No space left on device"
            ]
            assert len(re_adds(pool)) == 1 and len(readd.unrecorded(datetime.fromisoformat(pool.now()))) == number + 1
            rebuilt(pool)
        plug_in(pool, lost(pool, "D1"))
        (line,) = readded(pool)
        assert f"more than {MOST} times in 24 hours and is left out; this return could not be recorded" in line
        assert re_adds(pool) == [] and outcomes() == [("D1", "data", "re-added")]
    # with room again, the next return brings what was counted meanwhile to the boot drive
    plug_in(pool, lost(pool, "D2"))
    assert "RAID6 data: D2 returned and is resyncing" in readded(pool)
    assert [outcome for _, _, outcome in outcomes()][:4] == ["re-added"] * MOST + ["left-out"]
    assert readd.unrecorded(datetime.fromisoformat(pool.now())) == []


def test_member_is_re_added_where_nothing_can_be_written(pool: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def written(path: Path, model: Returns) -> bool:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(readd, "write_model", written)
    plug_in(pool, lost(pool, "D1"))
    (line,) = readded(pool)
    assert line.endswith("is resyncing; this return could not be recorded: Read-only file system")
    assert len(re_adds(pool)) == 1


def test_attempt_that_never_ends_counts(pool: World) -> None:
    plug_in(pool, lost(pool, "D1"))

    class Hangs(Exception):
        pass

    def hang(*_: object) -> bool:
        raise Hangs

    pool.broken["mdadm /dev/md/millrace-data --re-add"] = hang  # type: ignore[assignment]
    with pytest.raises(Hangs):
        readded(pool)
    assert outcomes() == [("D1", "data", "failed")]


def test_member_that_appears_meanwhile_is_found_in_the_same_run(pool: World) -> None:
    disks = [lost(pool, serial) for serial in ("D1", "D3")]
    plug_in(pool, disks[0])
    lines: list[str] = []

    def report(line: str) -> None:
        lines.append(line)
        if len(lines) == 1:
            plug_in(pool, disks[1])

    readd.readd(pool, report)
    assert lines == ["RAID6 data: D1 returned and is resyncing", "RAID6 data: D3 returned and is resyncing"]


def test_it_waits_while_drives_are_changed(pool: World) -> None:
    plug_in(pool, lost(pool, "D1"))
    with paths.provision_lock_file().open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        lines: list[str] = []
        thread = threading.Thread(target=readd.readd, args=(pool, lines.append))
        thread.start()
        thread.join(0.2)
        assert thread.is_alive() and lines == []
    thread.join(10)
    assert lines == ["RAID6 data: D1 returned and is resyncing"]


def test_record_that_cannot_be_read_holds_nothing_up(pool: World) -> None:
    paths.returns_file().write_text("{")
    plug_in(pool, lost(pool, "D1"))
    assert readded(pool) == ["RAID6 data: D1 returned and is resyncing"]


def test_without_a_pool_it_says_so(root: object, world: World) -> None:
    with pytest.raises(Refused, match="no pool yet"):
        readded(world)


def test_udev_starts_nothing_before_the_arrays_are_assembled(pool: World) -> None:
    paths.assembled_file().unlink(missing_ok=True)
    pool.boot()
    assert not paths.assembled_file().exists()
    assemble(pool, lambda _: None)
    assert paths.assembled_file().exists()


@pytest.fixture
def half_filled() -> tuple[World, str, Disk]:
    """A RAID6 whose hot spare was being filled when it broke; all drives are back, that of the spare is unplugged."""
    plan = planned(7, Policy(layout=LayoutPolicy(spares=1)))
    world = server_for(plan)
    built(world, plan)
    (spare,) = plan.arrays[0].spares
    gone = plan.arrays[0].members[:3]
    for serial in gone:
        die(world, serial)
    (disk,) = [drive for drive in world.disks if drive.serial == spare]
    held = of_data(disk)
    assert held["recovering"] == "1" and held["role"] == "0"
    world.boot()
    world.names = {name: drive for name, drive in world.names.items() if drive is not disk}
    return world, spare, disk


def of_data(disk: Disk) -> Content:
    """The superblock of a drive that the data array has."""
    (held,) = [held for partuuid, held in disk.inside.items() if disk.labels[partuuid].startswith("millrace-data")]
    return held


def is_a_spare(world: World, disk: Disk) -> bool:
    return of_data(disk)["role"] == "spare" and len(world.running("/dev/md/millrace-data").members) == 7


@pytest.mark.parametrize("late", [False, True])
def test_spare_that_was_being_filled_when_the_array_broke_is_one_again(
    half_filled: tuple[World, str, Disk], late: bool
) -> None:
    world, spare, disk = half_filled
    lines: list[str] = []
    if not late:
        plug_in(world, disk)
    assemble(world, lines.append)
    rebuilt(world)
    if late:
        plug_in(world, disk)
        lines = readded(world)
    assert f"{spare} is a hot spare again" in lines[0] and f"{spare} returned" not in lines[0]
    rebuilt(world)
    assert is_a_spare(world, disk)


def test_spare_that_is_another_drive_when_it_is_to_be_added_is_left_alone(
    half_filled: tuple[World, str, Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, spare, disk = half_filled
    assemble(world, lambda _: None)
    rebuilt(world)
    plug_in(world, disk)
    monkeypatch.setattr(readd, "is_still_there", lambda *_, **__: False)
    (line,) = readded(world)
    assert line.startswith(f"RAID6 data: hot spare {spare} (") and line.endswith(" cannot be added")
    assert not [command for command in world.calls if "--zero-superblock" in command]


def test_member_whose_place_a_spare_has_taken_is_the_spare_when_it_is_back() -> None:
    plan = planned(7, Policy(layout=LayoutPolicy(spares=1)))
    world = server_for(plan)
    built(world, plan)
    (spare,) = plan.arrays[0].spares
    # no part of the log
    serial = plan.arrays[0].members[3]
    (disk,) = [drive for drive in world.disks if drive.serial == serial]
    die(world, serial)
    plug_in(world, disk)
    # not while the spare is being filled: what is there may be needed
    assert [line for line in readded(world) if "is a hot spare again" in line] == []
    die(world, serial)
    rebuilt(world)
    in_sync.record(world, load_pool(), lambda _: None)
    record = load_pool().arrays[0]
    assert spare in {member.serial for member in record.members} and [
        hot_spare.serial for hot_spare in record.spares
    ] == [serial]
    plug_in(world, disk)
    assert readded(world) == [f"RAID6 data: {serial} is a hot spare again"]
    assert is_a_spare(world, disk)


def test_member_whose_slot_a_drive_that_was_taken_out_names_is_re_added(pool: World) -> None:
    """The drive that it took the place of stays in its bay."""
    old = lost(pool, "D1")
    new = Disk("A0", old.size)
    add_by_hand(pool, "data", new)
    rebuilt(pool)
    in_sync.record(pool, load_pool(), lambda _: None)
    removal_record.add("D1", "2026-11-22T10:00:00+00:00")
    die(pool, "A0")
    plug_in(pool, old)
    plug_in(pool, new)
    lines = readded(pool)
    assert "RAID6 data: A0 returned and is resyncing" in lines
    assert [line for line in lines if "D1" in line and "is left alone" in line]


def test_drive_that_is_filled_beside_a_member_kept_apart_is_re_added(pool: World) -> None:
    data = load_pool().arrays[0]
    old = lost(pool, "D1")
    (partuuid,) = old.inside
    kept = Apart(array="data", serial="D1", partuuid=partuuid, written=None, started="2026-11-28T08:00:00+00:00")
    apart_record.save(data, [kept])
    plug_in(pool, old)
    new = Disk("ZNEW", old.size)
    add_by_hand(pool, "data", new)
    die(pool, "ZNEW")
    plug_in(pool, new)
    lines = readded(pool)
    assert [line for line in lines if "ZNEW returned" in line]
    assert [line for line in lines if "D1" in line and "is kept apart" in line]
