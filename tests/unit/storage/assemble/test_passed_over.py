# SPDX-License-Identifier: Apache-2.0
"""An administrator starts an array with a member that left first: newer ones are not overwritten when they return."""

import pytest

from millrace.storage.assemble import in_sync, readd, unclean
from millrace.storage.assemble.assemble import assemble, start_arrays
from millrace.storage.assemble.revival import situation
from millrace.storage.record import apart_record
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.run import Result
from tests.fakes.drives.disks import Content, Disk
from tests.fakes.drives.world import World
from tests.unit.storage.drive_life import die, plug_in, rebuilt, writing
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import built

KEPT = "may be newer than the array, which was started without it, and is kept apart; see `millrace drive show"


@pytest.fixture
def pool(world: World) -> World:
    """A RAID6 of D0 to D3: D0 left, later D1 and D2, and only D0 is back."""
    built(world, raid6_plan())
    in_sync.record(world, load_pool(), lambda _: None)
    for serial in ("D0", "D1", "D2"):
        die(world, serial)
        in_sync.record(world, load_pool(), lambda _: None)
        writing(world, "data")
    plug_in(world, disk(world, "D0"))
    return world


def disk(world: World, serial: str) -> Disk:
    return next(one for one in world.disks if one.serial == serial)


def superblock(world: World, serial: str) -> Content:
    (held,) = disk(world, serial).inside.values()
    return held


def start_with_doubt(world: World) -> str:
    """What is said where an administrator confirms the start of what is there."""
    record = load_pool().arrays[0]
    one = situation(world, record)
    assert one.doubt is not None and one.doubt.startswith("D1, D2 may have left after D0, and would be newer")
    lines: list[str] = []
    start_arrays(world, lines.append, {record.uuid: one})
    return lines[0]


def started(world: World) -> str:
    lines: list[str] = []
    assemble(world, lines.append)
    return lines[0]


def readded(world: World) -> list[str]:
    lines: list[str] = []
    readd.readd(world, lines.append)
    return lines


def serials(world: World) -> set[str]:
    array = world.running("/dev/md/millrace-data")
    return {serial for member in array.members for serial in world.serials(member)}


def boot(world: World, *without: str) -> str:
    world.boot()
    world.names = {name: one for name, one in world.names.items() if one.serial not in without}
    for now in (paths.apart_now_file(), paths.in_sync_now_file()):
        now.unlink(missing_ok=True)
    return started(world)


@pytest.mark.parametrize("bitmap", ["fits", "too old"])
def test_member_that_may_be_newer_is_left_alone_until_it_is_a_member_again(pool: World, bitmap: str) -> None:
    assert ", with D0 again" in start_with_doubt(pool)
    before = superblock(pool, "D2") | {"bitmap": bitmap}
    superblock(pool, "D2").update(bitmap=bitmap)
    name = plug_in(pool, disk(pool, "D2"))
    assert readded(pool) == [f"RAID6 data: D2 ({name}p1) {KEPT} D2`"]
    # md would take it for the array, or the array for it, by its count of events
    for events in ("1", "9999"):
        before = before | {"events": events}
        superblock(pool, "D2").update(before)
        assert KEPT in boot(pool, "D1") and serials(pool) == {"D0", "D3"}
    # also when the files are compared
    unclean.acknowledge()
    assert KEPT in boot(pool, "D1")
    assert superblock(pool, "D2") == before
    # added by an administrator, it is one that returns
    superblock(pool, "D2").update(role="spare", bitmap="none")
    assert any("D2 is a hot spare again" in line for line in readded(pool))
    rebuilt(pool)
    in_sync.record(pool, load_pool(), lambda _: None)
    die(pool, "D2")
    superblock(pool, "D2").update(bitmap="fits")
    plug_in(pool, disk(pool, "D2"))
    assert readded(pool) == ["RAID6 data: D2 returned and is resyncing"]


def test_array_that_went_on_is_not_started_with_the_newer_member_of_its_past(pool: World) -> None:
    """D2 saw D0 leave: by its superblock nothing is newer than D2."""
    start_with_doubt(pool)
    die(pool, "D0")
    writing(pool, "data")
    with pytest.raises(Failed, match="1 of 4 members present, 2 required"):
        boot(pool, "D0", "D1")


def test_member_takes_part_where_the_start_without_it_never_took_place(pool: World) -> None:
    class Cut(BaseException):
        pass

    def cut(*_: object) -> Result:
        raise Cut

    pool.broken["mdadm --assemble /dev/md/millrace-data --run --force"] = cut
    with pytest.raises(Cut):
        start_with_doubt(pool)
    pool.broken.clear()
    assert {member.serial for member in apart_record.load().members} == {"D1", "D2"}
    assert ", with D2 again" in boot(pool)
    assert KEPT not in boot(pool) and apart_record.load().members == []


def test_member_that_is_in_sync_takes_part_although_that_could_not_be_recorded(pool: World) -> None:
    start_with_doubt(pool)
    known = paths.apart_file().read_bytes()
    superblock(pool, "D2").clear()
    plug_in(pool, disk(pool, "D2"))
    array = pool.running("/dev/md/millrace-data")
    (partuuid,) = disk(pool, "D2").inside
    pool.attempt(["mdadm", f"/dev/md/{array.name}", "--add", f"/dev/disk/by-partuuid/{partuuid}"])
    rebuilt(pool)
    in_sync.record(pool, load_pool(), lambda _: None)
    paths.apart_file().write_bytes(known)
    assert KEPT not in boot(pool, "D1") and serials(pool) == {"D0", "D2", "D3"}
