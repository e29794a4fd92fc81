# SPDX-License-Identifier: Apache-2.0
"""How md fills members: a spare takes an open place, a copy takes that of the member that it replaces."""

from tests.fakes.drives import superblocks
from tests.fakes.drives.disks import Content, Running
from tests.fakes.drives.hardware import Hardware


def members_of(world: Hardware, array: Running) -> list[Content]:
    """The superblocks that md writes: not those of members that failed."""
    return [held for one in array.members if one not in array.faulty and (held := world.content(one))]


def settle(world: Hardware, array: Running) -> None:
    """A spare begins to take an open place; what changed is in every superblock that is there."""
    held = members_of(world, array)
    taken = {one["role"] for one in held}
    open_slots = [str(slot) for slot in range(array.devices) if str(slot) not in taken]
    for spare, slot in zip((one for one in held if one["role"] == "spare"), open_slots, strict=False):
        spare.update(role=slot, recovering="1")
    if held:
        superblocks.write(held, clean=True)


def rebuilt(world: Hardware) -> None:
    """Every rebuild and every copy comes to its end; a member that was copied has failed for md."""
    for array in world.arrays.values():
        if array.level != "raid0":
            settle(world, array)
        for held in members_of(world, array):
            held.pop("recovering", None)
            if held.pop("replacement", None):
                array.faulty |= {
                    member
                    for member in array.members
                    if (other := world.content(member)) is not held and other and other["role"] == held["role"]
                }
        if array.level != "raid0":
            # md writes them when the copy is complete, and again when the old member has left its place
            for _ in range(2):
                superblocks.write(members_of(world, array), clean=True)
