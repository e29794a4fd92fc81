# SPDX-License-Identifier: Apache-2.0
"""A RAID0 whose legs have grown uses them from its next start on: md enlarges no RAID0 that runs.

Its superblocks have the size of each leg. mdadm writes the new sizes, one after the other, before it starts the array.
The chunks that are in use stay where they are: those of all legs come first, whatever the legs have behind them
(kernel 7.2: raid0.c, create_strip_zones). A power cut between two superblocks leaves legs of different sizes, which the
kernel starts as well: mdadm records at the creation how these are laid out (mdadm 4.6: super1.c, write_init_super1).
"""

import re
from contextlib import suppress

from millrace.plan.labels import array_path
from millrace.storage.array import md
from millrace.storage.array.machine import System
from millrace.storage.array.md import Active
from millrace.storage.array.superblock import fields
from millrace.storage.record import change_journal
from millrace.storage.record.drive_change import DrivePlan
from millrace.storage.record.model import ArrayRecord, Pool, WaitingGrowth
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.mounts import mounted
from millrace.system.text import MIB

CHANGE = "millrace-drive.service"
SECTOR = 512
AVAILABLE = re.compile(r"([0-9]{1,20}) sectors")
BLOCKS = re.compile(r"^data +=.* bsize=([0-9]{1,6}) +blocks=([0-9]{1,18})", re.MULTILINE)
RESERVE = 160 * MIB
"""Bytes of each data partition that a leg that grows leaves: more than md keeps in front of the data.

So all legs get one size, also where the new drives of one leg have their data further behind. Legs of different sizes
make zones of a RAID0, and what lies in the second one would move with the next growth.
"""
LEFT_OVER = 256 * MIB
"""Bytes of each leg that a RAID0 leaves at most: md keeps 129 MiB in front of the data, and part of a chunk is left."""


def start(system: System, record: ArrayRecord, pool: Pool) -> str:
    """Start a RAID0 with the sizes that its legs have now; return in a few words what was done.

    Failed: it does not start, with the sizes from before either.
    """
    legs = [array_path(name) for name in record.array.members]
    if len(set(_sizes(system, record, pool))) != 1:
        md.assemble(system, record, legs)
        return "its legs have different sizes, of which it uses what it used before"
    try:
        md.assemble(system, record, legs, update="devicesize")
    except Failed as error:
        md.assemble(system, record, legs)
        return f"its new size cannot be used ({error})"
    return "it uses its larger legs"


def unused(system: System, pool: Pool) -> int:
    """Return the bytes of legs that have grown and that the RAID0 over them does not use; 0 for every other pool.

    It may wait for a start that no record knows of: an earlier version wrote pool.json, or the pool was adopted by what
    its drives have.
    """
    record = next((one for one in pool.arrays if one.array.over_arrays), None)
    left = _left(system, record, pool) if record else []
    return sum(left) if max(left, default=0) >= LEFT_OVER else 0


def unfilled(system: System, pool: Pool) -> int:
    """Return the bytes of a RAID0 over legs that its mounted XFS does not use; 0 for every other pool.

    An earlier version started it larger, and wrote the record without the growth that was to follow.
    """
    record = next((each for each in pool.arrays if each.array.over_arrays), None)
    active = md.find(system, record.uuid) if record else None
    if active is None or mounted(pool.filesystem.mountpoint) is None:
        return 0
    shown = BLOCKS.search(system.attempt(["xfs_growfs", "-n", pool.filesystem.mountpoint]).out)
    left = system.partition_size(active.device) - int(shown[1]) * int(shown[2]) if shown else 0
    return left if left >= LEFT_OVER else 0


def uneven(system: System, pool: Pool) -> bool:
    """Whether all legs of a RAID0 run and have different sizes: a growth ended between two of them."""
    record = next((one for one in pool.arrays if one.array.over_arrays), None)
    sizes = _sizes(system, record, pool) if record else []
    return record is not None and len(sizes) == len(record.array.members) and len(set(sizes)) > 1


def in_use(system: System, record: ArrayRecord, pool: Pool) -> bool:
    """Whether a running RAID0 uses all of its legs, and as much of each: nothing of it moves with the next start."""
    left = _left(system, record, pool)
    is_even = len(set(left)) == 1 == len(set(_sizes(system, record, pool)))
    return is_even and max(left) < LEFT_OVER


def _left(system: System, record: ArrayRecord, pool: Pool) -> list[int]:
    """The bytes of each leg that its superblock leaves; none where the RAID0 does not run."""
    active = md.find(system, record.uuid)
    if active is None or not active.running:
        return []
    used = [_used(system, leg) for leg in _legs(system, record, pool)]
    return [size - part for size, part in zip(_sizes(system, record, pool), used, strict=True)]


def _used(system: System, leg: Active) -> int:
    """The bytes of a leg that the RAID0 has for data, by its superblock; 0 where that cannot be read."""
    found = AVAILABLE.match(fields(system, leg.device).get("Avail Dev Size", ""))
    return int(found[1]) * SECTOR if found else 0


def _sizes(system: System, record: ArrayRecord, pool: Pool) -> list[int]:
    return [system.partition_size(leg.device) for leg in _legs(system, record, pool)]


def _legs(system: System, record: ArrayRecord, pool: Pool) -> list[Active]:
    legs = [md.find(system, one.uuid) for one in pool.arrays if one.array.name in record.array.members]
    return [leg for leg in legs if leg is not None and leg.running]


def began(system: System, pool: Pool, waiting: WaitingGrowth | None) -> WaitingGrowth | None:
    """Return what is left of a growth, after a start of the arrays."""
    record = next((one for one in pool.arrays if waiting and one.array.name == waiting.array), None)
    if waiting is None or record is None:
        return waiting
    return waiting.model_copy(update={"started": in_use(system, record, pool)})


def file_system(growth: WaitingGrowth) -> DrivePlan:
    """Return the change that ends a growth of legs."""
    return DrivePlan(verb="grow", old=None, new=None, partitions=[], leaves=[], array=growth.array, gain=growth.gain)


def go_on(system: System, pool: Pool) -> None:
    """Have the file system grow, if no other change of drives is open; it grows after the next start then.

    OSError: the change cannot be recorded.
    """
    if pool.growth is None or not pool.growth.started:
        return
    with suppress(BadInput, Refused):
        if change_journal.ChangeJournal.load() is None:
            change_journal.ChangeJournal.open(file_system(pool.growth), pool.growth.by, system.now())
            system.attempt(["systemctl", "--no-block", "start", CHANGE])
