# SPDX-License-Identifier: Apache-2.0
"""A RAID0 whose legs have grown uses them from its next start on: md enlarges no RAID0 that runs.

Its superblocks have the size of each leg. mdadm writes the new sizes, one after the other, before it starts the array.
The chunks that are in use stay where they are: those of all legs come first, whatever the legs have behind them
(kernel 7.2: raid0.c, create_strip_zones).
"""

from contextlib import suppress

from millrace.plan.labels import array_path
from millrace.storage.array import md
from millrace.storage.array.machine import System, settle
from millrace.storage.record import change_journal
from millrace.storage.record.drive_change import DrivePlan
from millrace.storage.record.model import ArrayRecord, Pool, WaitingGrowth
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.text import MIB

CHANGE = "millrace-drive.service"
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
    if len(set(sizes(system, record, pool))) != 1:
        md.assemble(system, record, legs)
        return "its legs have different sizes, of which it uses what it used before"
    try:
        if len(legs) > 2 and not _known_layout(system, record, legs):
            return "its new size is used after the next start"
        md.assemble(system, record, legs, update="devicesize")
    except Failed as error:
        md.assemble(system, record, legs)
        return f"its new size cannot be used ({error})"
    return "it uses its larger legs"


def _known_layout(system: System, record: ArrayRecord, legs: list[str]) -> bool:
    """Have the superblocks say how legs of different sizes are laid out; whether the array could be stopped again.

    kernel 7.2: without that a RAID0 does not start while two of its legs or more are larger than another one, which a
    power cut between two superblocks leaves. An earlier version would not start the pool then.
    """
    md.assemble(system, record, legs, update="layout-alternate")
    try:
        # which has it open for a moment
        settle(system)
        md.stop(system, record)
    except Failed:
        return False
    return True


def sizes(system: System, record: ArrayRecord, pool: Pool) -> list[int]:
    """Return the sizes of the legs that run, in bytes."""
    legs = [one for one in pool.arrays if one.array.name in record.array.members]
    active = [md.find(system, leg.uuid) for leg in legs]
    return [system.partition_size(one.device) for one in active if one is not None]


def unused(system: System, pool: Pool) -> int:
    """Return the bytes of legs that have grown and that the RAID0 over them does not use; 0 for every other pool.

    It may wait for a start that no record knows of: an earlier version wrote pool.json, or the pool was adopted by what
    its drives have.
    """
    record = next((one for one in pool.arrays if one.array.over_arrays), None)
    active = md.find(system, record.uuid) if record else None
    if record is None or active is None or not active.running:
        return 0
    legs = sizes(system, record, pool)
    size = system.partition_size(active.device)
    if len(set(legs)) != 1 or legs[0] - size // len(legs) < LEFT_OVER:
        return 0
    return sum(legs) - size


def in_use(system: System, record: ArrayRecord, pool: Pool) -> bool:
    """Whether a running RAID0 uses all of its legs, and they have one size: nothing of it moves with the next start."""
    legs, active = sizes(system, record, pool), md.find(system, record.uuid)
    if active is None or not active.running or len(set(legs)) != 1:
        return False
    return legs[0] - system.partition_size(active.device) // len(legs) < LEFT_OVER


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
