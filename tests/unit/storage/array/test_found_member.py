# SPDX-License-Identifier: Apache-2.0
"""A kernel name goes to another drive between the look at a member and the command that writes to it."""

from collections.abc import Callable

import pytest

from millrace.storage.assemble import readd, unclean
from millrace.storage.record.pool_file import load_pool
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.world import World
from tests.unit.storage.drive_life import add_by_hand, die, plug_in, rebuilt
from tests.unit.storage.plans import DATA_SIZE, planned, raid6_plan, raid50_plan
from tests.unit.storage.server import built, server_for

WRITES = ("--re-add", "--add", "--zero-superblock")
# what D1 holds: md re-adds it, md does not and all of it is copied, it was filled with nothing
HELD = [{}, {"bitmap": "too old"}, {"recovering": "1", "bad": "1"}]


def disk(world: World, serial: str) -> Disk:
    return next(one for one in world.disks if one.serial == serial)


def exchange(world: World, one: str, other: str) -> None:
    """Two drives have each other's kernel names from now on."""
    swapped = {one: other, other: one}
    by_serial = {disk.serial: disk for disk in world.names.values()}
    world.names = {name: by_serial[swapped.get(it.serial, it.serial)] for name, it in world.names.items()}


def at_the_first_record(monkeypatch: pytest.MonkeyPatch, what: Callable[[], None]) -> None:
    """`what` happens while the first return is recorded."""
    keep, left = readd._keep, [what]

    def kept(*args: object) -> str:
        if left:
            left.pop()()
        return keep(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(readd, "_keep", kept)


def readded(world: World) -> tuple[list[str], list[list[str]]]:
    """What the service says, and its commands that write."""
    world.calls.clear()
    lines: list[str] = []
    readd.readd(world, lines.append)
    return lines, [command for command in world.calls if any(word in WRITES for word in command)]


def started_without(world: World, array: str, serial: str) -> None:
    """An array was started without one of its members."""
    (record,) = [record for record in load_pool().arrays if record.array.name == array]
    known = [member.serial for member in record.members]
    # one that was added by hand is not recorded yet
    slot = known.index(serial) if serial in known else known.index("D1")
    members = [
        member.model_copy(update={"serial": serial}) if at == slot else member
        for at, member in enumerate(record.members)
    ]
    record = record.model_copy(update={"members": members})
    unclean.add(record, [slot], None, world.now(), rebuilding=True, events=99)


@pytest.mark.parametrize("held", HELD)
def test_members_of_two_legs_that_exchange_their_names_join_their_own(
    held: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = server_for(raid50_plan())
    built(world, raid50_plan())
    legs = {name: world.running(f"/dev/md/millrace-{name}") for name in ("leg0", "leg1")}
    lost = {name: sorted(world.serials(leg.members[0]))[0] for name, leg in legs.items()}
    for name, serial in lost.items():
        die(world, serial)
        started_without(world, name, serial)
        next(iter(disk(world, serial).inside.values())).update(held)
    for serial in lost.values():
        plug_in(world, disk(world, serial))
    at_the_first_record(monkeypatch, lambda: exchange(world, *lost.values()))
    lines, commands = readded(world)
    assert "is gone again, or is another drive now; nothing was written to it" in lines[0]
    # both are found once more, under their new names
    assert [line for line in lines[1:] if "returned and is" in line] == lines[1:] and len(lines) == 3
    paths = {name: f"/dev/disk/by-partuuid/{next(iter(disk(world, serial).inside))}" for name, serial in lost.items()}
    assert all(any(path in command for path in paths.values()) for command in commands)
    for name, path in paths.items():
        assert path in world.running(f"/dev/md/millrace-{name}").members


@pytest.mark.parametrize("held", HELD)
def test_nothing_is_written_where_the_link_of_a_partition_is_older_than_its_drive(
    world: World, held: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built(world, raid6_plan())
    die(world, "D1")
    started_without(world, "data", "D1")
    next(iter(disk(world, "D1").inside.values())).update(held)
    name = plug_in(world, disk(world, "D1"))
    links = world.partition

    def pulled() -> None:
        exchange(world, "D1", "L1")
        world.names = {one: it for one, it in world.names.items() if it.serial != "D1"}
        monkeypatch.setattr(world, "partition", lambda uuid: links(uuid) or f"{name}p1")

    at_the_first_record(monkeypatch, pulled)
    lines, commands = readded(world)
    assert commands == [] and "D1" in lines[0] and "nothing was written to it" in lines[0]


@pytest.mark.parametrize("held", HELD)
def test_nothing_is_written_to_another_drive_that_has_the_name_of_a_whole_one(
    world: World, held: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built(world, raid6_plan())
    die(world, "D1")
    add_by_hand(world, "data", Disk("NEW", DATA_SIZE))
    rebuilt(world)
    die(world, "NEW")
    started_without(world, "data", "NEW")
    disk(world, "NEW").whole.update(held)
    plug_in(world, disk(world, "NEW"))

    def other() -> None:
        exchange(world, "NEW", "UNUSED")
        world.names = {name: it for name, it in world.names.items() if it.serial != "NEW"}

    at_the_first_record(monkeypatch, other)
    lines, commands = readded(world)
    assert commands == [] and "NEW" in lines[0] and "nothing was written to it" in lines[0]


def test_hot_spare_that_is_another_drive_by_now_is_not_added(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(10)
    world = server_for(plan)
    built(world, plan)
    (log,) = [array for array in load_pool().arrays if array.array.spares]
    spare = log.spares[0].serial
    die(world, spare)
    rebuilt(world)
    plug_in(world, disk(world, spare))
    spares = readd.hot_spares

    def late(*args: object) -> list[object]:
        found = list(spares(*args))  # type: ignore[arg-type]
        if found:
            world.names = {name: it for name, it in world.names.items() if it.serial != spare}
        return found  # type: ignore[return-value]

    monkeypatch.setattr(readd, "hot_spares", late)
    lines, commands = readded(world)
    assert any(f"hot spare {spare}" in line and "cannot be added" in line for line in lines)
    assert not [command for command in commands if "--add" in command]
