# SPDX-License-Identifier: Apache-2.0
"""Find the members of an array by the UUID in their md superblocks, and wait for drives that are still starting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millrace.storage.array import md
from millrace.storage.array.machine import System
from millrace.storage.array.superblock import Superblock, examine
from millrace.storage.record.membership import absent
from millrace.storage.record.model import ArrayRecord, MemberRecord

SLOWEST = 130.0
"""Seconds, all arrays together, for controllers that are starting. The kernel gives a controller what it asks for in
CAP.TO, 127.5 s at most (NVMe base specification; nvme_wait_ready)."""

GRACE = 30.0
"""Seconds of these for a controller that shows no namespace, as one may never do, and for udev to read the drives."""

REST = 10.0
"""Seconds without a change once nothing is starting and a drive is missing: a slot whose link comes late shows no
controller until then."""

POLL = 0.5
"""Seconds between two scans."""


SETTLE = 1
"""Seconds in which udev says whether it has something to do."""


@dataclass
class WaitTime:
    """Seconds spent waiting for drives in this run, all arrays together."""

    seconds: float = 0.0


def members_present(system: System, record: ArrayRecord) -> dict[str, MemberRecord]:
    """Return the kernel names of all partitions and drives with the UUID of an array in their superblock."""
    found = system.md_superblocks()
    return {name: system.identity(name) for name, uuid in sorted(found.items()) if md.same_uuid(uuid, record.uuid)}


def gather(
    system: System, record: ArrayRecord, waited: WaitTime, joining: Sequence[MemberRecord] = ()
) -> dict[str, MemberRecord]:
    """Wait for the recorded members of an array and those that are `joining` it; return those present, by kernel name.

    Waits while any drive of this server is still starting, but not where the array has all its members already.
    """
    recorded = [*record.members, *record.spares, *joining]
    before: dict[str, MemberRecord] | None = None
    rest = 0.0
    while True:
        present = members_present(system, record)
        if not absent(recorded, list(present.values())):
            return present
        if len(present) >= len(recorded) and _full(system, record, present):
            return present
        quiet = not _starting(system, waited) and present == before
        rest = rest + POLL if quiet else 0.0
        if rest >= REST or waited.seconds >= SLOWEST:
            return present
        before = present
        system.wait(POLL)
        waited.seconds += POLL


def _starting(system: System, waited: WaitTime) -> bool:
    """Whether drives are on their way up, or udev has not read all that are."""
    early = waited.seconds < GRACE
    if system.drives_starting(empty=early):
        return True
    if not early or system.attempt(["udevadm", "settle", f"--timeout={SETTLE}"]).status == 0:
        return False
    waited.seconds += SETTLE
    return True


def latest_members(blocks: list[Superblock]) -> list[Superblock]:
    """Return the superblocks of the members that were in use when the array was last written.

    The kernel accepts a superblock that is one event behind: the power may fail between the writes of two (md.c
    super_1_validate).
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
    return len({block.slot for block in latest_members(blocks)}) == len(record.members)
