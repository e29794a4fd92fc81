# SPDX-License-Identifier: Apache-2.0
"""Half of a mirror that ran elsewhere is neither started with nor re-added to the other, and is named until erased."""

import errno
from pathlib import Path

import pytest

from millrace.storage.assemble import apart, in_sync, readd, standstill
from millrace.storage.assemble.assemble import assemble
from millrace.storage.assemble.in_sync import InSync
from millrace.storage.record import apart_record
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Failed
from tests.fakes.drives import superblocks
from tests.fakes.drives.disks import Content, Disk
from tests.fakes.drives.world import World
from tests.unit.storage.drive_life import die, members_of, plug_in
from tests.unit.storage.plans import planned
from tests.unit.storage.server import built, server_for


@pytest.fixture
def mirror(root: Path) -> World:
    """A server whose pool is a RAID1 of two drives."""
    plan = planned(2)
    world = server_for(plan)
    built(world, plan)
    in_sync.record(world, load_pool(), lambda _: None)
    return world


@pytest.fixture
def drives(mirror: World) -> tuple[Disk, Disk]:
    """The drive that stays, and the one that goes."""
    here, away = (one.serial for one in data(load_pool()).members)
    found = {disk.serial: disk for disk in mirror.disks}
    return found[here], found[away]


def data(pool: Pool) -> ArrayRecord:
    return next(one for one in pool.arrays if one.array.name == "data")


def held(disk: Disk) -> list[Content]:
    """The superblocks of a drive."""
    return [one for one in disk.inside.values() if one.get("TYPE") == "linux_raid_member"]


def run_elsewhere(disk: Disk, writes: int = 3) -> None:
    """Another server starts what it has, and writes."""
    for _ in range(writes):
        for one in held(disk):
            superblocks.write([one], clean=True)


def go_on(world: World, writes: int = 1) -> None:
    for array in world.arrays.values():
        for _ in range(writes):
            superblocks.write(members_of(world, array), clean=True)
    in_sync.record(world, load_pool(), lambda _: None)


def link(world: World) -> None:
    """Udev's links to partitions, as they are now."""
    directory = paths.ROOT / "dev/disk/by-partuuid"
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.iterdir():
        old.unlink()
    for disk in world.names.values():
        for partuuid in disk.inside:
            (directory / partuuid).touch()


def boot(world: World) -> list[str]:
    world.boot()
    for now in (paths.apart_now_file(), paths.in_sync_now_file()):
        now.unlink(missing_ok=True)
    link(world)
    lines: list[str] = []
    assemble(world, lines.append)
    return lines


def serials(world: World, name: str = "millrace-data") -> set[str]:
    array = next(one for one in world.arrays.values() if one.name == name)
    return {serial for member in array.members for serial in world.serials(member)}


def split(world: World, drives: tuple[Disk, Disk], writes: int = 3) -> str:
    """The second drive is pulled and runs elsewhere, the first one here; then it is put in."""
    away = drives[1]
    die(world, away.serial)
    go_on(world)
    run_elsewhere(away, writes)
    name = plug_in(world, away)
    link(world)
    return name


def test_serial_number_in_a_command_is_quoted() -> None:
    assert apart.sentence("A 1;b", "sda1").endswith("see `millrace drive show 'A 1;b'`")


@pytest.mark.parametrize("writes", [1, 3, 30])
def test_half_that_ran_elsewhere_is_not_re_added(mirror: World, drives: tuple[Disk, Disk], writes: int) -> None:
    split(mirror, drives, writes)
    lines: list[str] = []
    readd.readd(mirror, lines.append)
    assert lines and all("ran without the array after it left it and is kept apart" in line for line in lines)
    assert not [call for call in mirror.calls if "--re-add" in call]
    assert serials(mirror) == {drives[0].serial} and set(apart_record.recorded()) == {drives[1].serial}


@pytest.mark.parametrize("writes", [1, 3, 30])
def test_start_takes_the_half_that_was_used_here_last(mirror: World, drives: tuple[Disk, Disk], writes: int) -> None:
    split(mirror, drives, writes)
    for _ in range(2):
        lines = boot(mirror)
        assert any(f"started without {drives[1].serial}; {drives[1].serial} (" in line for line in lines), lines
        assert serials(mirror) == {drives[0].serial}
        assert set(apart_record.recorded()) == {drives[1].serial}
        # the array goes on counting, and passes the other
        go_on(mirror, 40)


def test_half_that_was_only_away_is_re_added(mirror: World, drives: tuple[Disk, Disk]) -> None:
    die(mirror, drives[1].serial)
    go_on(mirror, 5)
    plug_in(mirror, drives[1])
    lines: list[str] = []
    readd.readd(mirror, lines.append)
    assert any("returned and is resyncing" in line for line in lines)
    assert serials(mirror) == {one.serial for one in drives} and apart_record.recorded() == {}
    in_sync.record(mirror, load_pool(), lambda _: None)
    assert not any(one.left for one in read_model(paths.in_sync_file(), InSync).arrays)


def test_pool_that_ran_elsewhere_with_one_half_goes_on_from_there(mirror: World, drives: tuple[Disk, Disk]) -> None:
    """Both were in sync here: the other half is merely older."""
    run_elsewhere(drives[1])
    lines = boot(mirror)
    assert any(f"{drives[0].serial} returned and is resyncing" in line for line in lines), lines
    assert apart_record.recorded() == {}


def test_two_lives_of_which_the_record_knows_none_are_named_and_nothing_is_started(
    mirror: World, drives: tuple[Disk, Disk]
) -> None:
    for disk in drives:
        run_elsewhere(disk)
    serial, other = (disk.serial for disk in drives)
    with pytest.raises(Failed, match=f"it ran on {serial} and on {other} without each other") as error:
        boot(mirror)
    assert "Choose which to go on with, take the other out of the server" in str(error.value)
    assert mirror.arrays == {} and set(apart_record.undecided()) >= {"data"}
    # all else that is done at the end is done
    assert paths.assembled_file().exists()
    stopped = {array.name: array for array in standstill.load().values()}
    assert set(stopped) == {array.array.name for array in load_pool().arrays} and not stopped["data"].starts
    assert "it ran on" in (stopped["data"].doubt or "") and len(stopped["data"].present) == 2
    paths.assembled_file().unlink()
    # an administrator takes one out
    die(mirror, serial)
    assert boot_without(mirror, serial)
    assert serials(mirror) == {other} and apart_record.undecided() == {}
    plug_in(mirror, drives[0])
    lines: list[str] = []
    readd.readd(mirror, lines.append)
    assert lines and all("is kept apart" in line for line in lines)


def test_what_does_not_start_is_told_also_where_nothing_can_be_recorded(
    mirror: World, drives: tuple[Disk, Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(standstill, "write_model", full)
    paths.assembled_file().unlink(missing_ok=True)
    assert any("cannot record which arrays do not run" in line for line in boot(mirror))
    assert paths.assembled_file().exists()


def boot_without(world: World, serial: str) -> list[str]:
    disks = world.disks
    world.disks = [one for one in disks if one.serial != serial]
    try:
        return boot(world)
    finally:
        world.disks = disks


def test_boot_drive_that_takes_no_record_mixes_nothing(
    mirror: World, drives: tuple[Disk, Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    split(mirror, drives)
    write = write_model

    def written(path: Path, model: apart_record.ApartMembers) -> bool:
        if path == paths.apart_file():
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return write(path, model)

    monkeypatch.setattr(apart_record, "write_model", written)
    boot(mirror)
    assert serials(mirror) == {drives[0].serial} and set(apart_record.recorded()) == {drives[1].serial}


def test_erased_drive_is_not_named_any_more(mirror: World, drives: tuple[Disk, Disk]) -> None:
    split(mirror, drives)
    readd.readd(mirror, lambda _: None)
    drives[1].inside.clear()
    link(mirror)
    assert apart_record.recorded() == {}


def test_other_half_alone_is_refused_as_before(mirror: World, drives: tuple[Disk, Disk]) -> None:
    split(mirror, drives)
    readd.readd(mirror, lambda _: None)
    with pytest.raises(Failed, match="was out of sync when the array last ran"):
        boot_without(mirror, drives[0].serial)
