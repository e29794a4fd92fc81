# SPDX-License-Identifier: Apache-2.0
"""Members that may be newer than their array, which an administrator had started without them.

A resync would overwrite what only they have: writes that were acknowledged after a member left that the array was
started with. They are kept apart until they are erased.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from millrace.storage.array import md
from millrace.storage.array.machine import System
from millrace.storage.array.superblock import Superblock, examine
from millrace.storage.assemble.separate_lives import MARGIN, PRESENT
from millrace.storage.record.apart_record import Apart, forget_newer, key, member, newer_of, of, save
from millrace.storage.record.model import ArrayRecord, MemberRecord
from millrace.system.errors import Failed
from millrace.system.files import describe


def record_start(
    record: ArrayRecord, newer: Sequence[MemberRecord], members: Sequence[tuple[MemberRecord, Superblock]], now: str
) -> str:
    """Record before a start who may be `newer` than the `members` that the array is started with.

    Return what the sentence about the start ends with: nothing, or why a restart forgets it. It is not withdrawn where
    the start fails: the superblocks show whether mdadm wrote them. Failed: it cannot be recorded at all, and these
    members would be overwritten at once.
    """
    beside = {key(who): block.events for who, block in members}
    records = [
        Apart(
            array=record.array.name,
            serial=who.serial,
            partuuid=who.partuuid,
            written=None,
            started=now,
            beside=beside,
        )
        for who in newer
    ]
    try:
        lost = save(record, records) if records else None
    except OSError as error:
        raise Failed(
            f"{md.title(record.array)} is not started: members that may be newer cannot be kept apart "
            f"({describe(error)})"
        ) from error
    if lost is None:
        return ""
    return (
        f"; the boot drive took no record of the members that may be newer ({describe(lost)}): make room on it before "
        "the server restarts, or they are overwritten then"
    )


def present(system: System, record: ArrayRecord, members: Mapping[str, MemberRecord]) -> dict[str, MemberRecord]:
    """Return the members that may be newer than their array among those that are there, by kernel name."""
    passed = {name: apart for name, who in members.items() if (apart := of(record, who)) and apart.started}
    if not passed:
        return {}
    blocks = {name: block for name in members if (block := examine(system, name)) is not None}
    others = {name: block for name, block in blocks.items() if name not in passed}
    events = {key(members[name]): block.events for name, block in others.items()}
    return {
        name: members[name]
        for name, apart in passed.items()
        if _happened(apart, events) and not _is_in_sync(blocks.get(name), [*others.values()])
    }


def is_newer(record: ArrayRecord, who: MemberRecord) -> bool:
    """Whether a member that a running array is without may be newer than it."""
    one = of(record, who)
    return one is not None and one.started is not None


def forget(system: System, record: ArrayRecord, members: Mapping[str, MemberRecord]) -> None:
    """Forget before an array is started with `found` that these may be newer, and starts that did not take place.

    Such a start leaves no member apart, whether it is there or not. A record that cannot be written keeps them apart
    once more.
    """
    known = newer_of(record)
    if not known:
        return
    blocks = [(who, block) for name, who in members.items() if (block := examine(system, name)) is not None]
    events = {key(who): block.events for who, block in blocks}
    undone = [member(apart) for apart in known if not _happened(apart, events)]
    with suppress(OSError):
        forget_newer({record.array.name: [*members.values(), *undone]})


def _happened(one: Apart, events: Mapping[str, int]) -> bool:
    """Whether the start took place: the power may have failed after it was recorded. Without its members it did."""
    known = [who for who in one.beside if who in events]
    return not known or any(events[who] > one.beside[who] for who in known)


def _is_in_sync(block: Superblock | None, others: Sequence[Superblock]) -> bool:
    """Whether the array calls a member in sync that was written last with it: that could not be recorded."""
    newest = max(others, key=lambda other: other.events, default=None)
    if block is None or block.slot is None or newest is None:
        return False
    return abs(block.events - newest.events) <= MARGIN and newest.states[block.slot : block.slot + 1] in PRESENT
