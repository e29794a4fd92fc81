# SPDX-License-Identifier: Apache-2.0
"""What happens to the drives of a running server, and what md does about it by itself."""

from tests.fakes.drives import superblocks
from tests.fakes.drives.disks import Disk
from tests.fakes.drives.filling import members_of, rebuilt, settle
from tests.fakes.drives.world import World

__all__ = ["add_by_hand", "die", "members_of", "plug_in", "rebuilt", "writing"]


def die(world: World, *serials: str) -> None:
    """Drives are gone while the arrays run; a hot spare begins to take the place of each."""
    for serial in serials:
        lost = [
            member for array in world.arrays.values() for member in array.members if serial in world.serials(member)
        ]
        for device in lost:
            array = next(running for running in world.arrays.values() if device in running.members)
            full = [
                (member, held)
                for member in array.members
                if (held := world.content(member)) and "recovering" not in held
            ]
            if array.level == "raid1" and [member for member, held in full if held["role"] != "spare"] == [device]:
                # raid1.c raid1_error: no write is possible, and the last is not given up
                array.kept, array.state = int(dict(full)[device]["role"]), "broken"
            array.members.remove(device)
        world.names = {name: disk for name, disk in world.names.items() if disk.serial != serial}
    for array in world.arrays.values():
        if array.level != "raid0":
            settle(world, array)


def plug_in(world: World, disk: Disk) -> str:
    """A drive is put in while the server runs; its kernel name."""
    if disk not in world.disks:
        world.disks.append(disk)
        world.writable.add(disk.serial)
    name = next(name for number in range(100) if (name := f"nvme{number}n1") not in world.names)
    world.names[name] = disk
    return name


def add_by_hand(world: World, array: str, disk: Disk) -> None:
    """`mdadm /dev/md/ARRAY --add` of a whole drive."""
    running = world.running(f"/dev/md/millrace-{array}")
    name = plug_in(world, disk)
    assert not disk.whole
    disk.whole.update(superblocks.new(running.uuid, running.level, running.devices, None))
    running.members.append(f"/dev/{name}")
    settle(world, running)


def writing(world: World, array: str) -> None:
    """Something is being written to an array."""
    superblocks.write(members_of(world, world.running(f"/dev/md/millrace-{array}")), clean=False)
