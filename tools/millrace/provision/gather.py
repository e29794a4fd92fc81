# SPDX-License-Identifier: Apache-2.0
"""The members of an array by what is on the drives: all that carry its UUID, since the first day or not."""

from collections.abc import Mapping
from dataclasses import dataclass

from millrace.provision import md
from millrace.provision.membership import absent
from millrace.provision.model import ArrayRecord, MemberRecord
from millrace.provision.superblock import Superblock, examine
from millrace.provision.system import System

GRACE = 30.0
"""Seconds that late drives get, all arrays together, before arrays start without them."""

POLL = 0.5
"""Seconds between two looks."""


@dataclass
class Patience:
    """How long was waited for drives in this run."""

    waited: float = 0.0


def carriers(system: System, record: ArrayRecord) -> dict[str, MemberRecord]:
    """All partitions and drives with the UUID of an array in their superblock, by their kernel names."""
    found = system.md_superblocks()
    return {name: system.identity(name) for name, uuid in sorted(found.items()) if md.same_uuid(uuid, record.uuid)}


def gather(system: System, record: ArrayRecord, patience: Patience) -> dict[str, MemberRecord]:
    """Those that are there once nobody has to be waited for any more, by their kernel names.

    Late drives that are recorded are waited for, but not where the array has all its members without them.
    """
    recorded = [*record.members, *record.spares]
    while True:
        found = carriers(system, record)
        missing = absent(recorded, list(found.values()))
        if not missing or patience.waited >= GRACE:
            return found
        if len(found) >= len(recorded) and _full(system, record, found):
            return found
        system.wait(POLL)
        patience.waited += POLL


def current(blocks: list[Superblock]) -> list[Superblock]:
    """Those that were members when the array was last written.

    The kernel takes a superblock that is one event behind: the power may go between the writes of two
    (md.c super_1_validate).
    """
    newest = max(blocks, key=lambda block: block.events, default=None)
    if newest is None:
        return []
    return [
        block
        for block in blocks
        if block.slot is not None
        and block.events + 1 >= newest.events
        # A in sync, R being replaced by another; no letter for what was not there
        and newest.states[block.slot : block.slot + 1] in ("A", "R")
    ]


def _full(system: System, record: ArrayRecord, found: Mapping[str, MemberRecord]) -> bool:
    blocks = [block for name in found if (block := examine(system, name)) is not None]
    return len({block.slot for block in current(blocks)}) == len(record.members)
