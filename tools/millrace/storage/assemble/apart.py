# SPDX-License-Identifier: Apache-2.0
"""Members in this server that ran without their array, or may be newer: left out of its start, not re-added, named."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from millrace.storage.array import md
from millrace.storage.array.machine import System
from millrace.storage.array.superblock import Superblock, examine, updated
from millrace.storage.assemble import in_sync, passed_over, separate_lives
from millrace.storage.assemble.separate_lives import Holder, RanApart
from millrace.storage.record import apart_record
from millrace.storage.record.apart_record import Apart
from millrace.storage.record.membership import absent
from millrace.storage.record.model import ArrayRecord, MemberRecord
from millrace.system.command import command


def left_out(system: System, record: ArrayRecord, present: Mapping[str, MemberRecord]) -> dict[str, MemberRecord]:
    """Return the members, by kernel name, without which an array is started: they ran without it, or may be newer.

    RanApart: members ran without each other, and no record shows which of them this server used last.
    """
    newer = passed_over.present(system, record, present)
    if not _twice(record):
        return newer
    present = {name: who for name, who in present.items() if name not in newer}
    last = in_sync.last_of(record)
    known = {name: who for name, who in present.items() if _is_known(record, who, last.members)}
    members = _holders(system, {name: who for name, who in present.items() if name not in known})
    try:
        apart = separate_lives.chosen(record, members, last.members, last.left)
    except RanApart as error:
        apart_record.save(record, [], str(error))
        raise
    out = known | {holder.block.name: holder.who for holder in apart}
    if len(absent(last.members, list(present.values()))) == len(last.members):
        # in_sync.refuse_stale names what was in sync, and how to start what is left
        return newer
    apart_record.save(record, [_apart(system, record, name, who) for name, who in out.items()])
    return newer | out


def refusal(system: System, record: ArrayRecord, name: str) -> str | None:
    """Return the sentence about a member that is back where it must not be re-added to its running array; else None."""
    who = system.identity(name)
    if passed_over.is_newer(record, who):
        return newer_sentence(who.serial, name)
    if not _twice(record):
        return None
    active, block = md.find(system, record.uuid), examine(system, name)
    if active is None or block is None:
        return None
    last = in_sync.last_of(record)
    if not _is_known(record, who, last.members):
        live = [member.name for member in system.md_members(active.device) if member.in_sync]
        current = _holders(system, {kernel_name: system.identity(kernel_name) for kernel_name in live})
        left = separate_lives.left_of(last.left, who)
        if not separate_lives.ran_apart(block, current, left, running=True):
            return None
        apart_record.save(record, [_apart(system, record, name, who)])
    return sentence(who.serial, name)


def sentence(serial: str, name: str) -> str:
    """Return what a start of the arrays reports about such a member."""
    return (
        f"{serial} ({name}) ran without the array after it left it and is kept apart, because each has changes that "
        f"the other lacks; see `{command('millrace drive show', serial)}`"
    )


def newer_sentence(serial: str, name: str) -> str:
    """Return the same about a member that may be newer than the array."""
    return (
        f"{serial} ({name}) may be newer than the array, which was started without it, and is kept apart; see "
        f"`{command('millrace drive show', serial)}`"
    )


def _twice(record: ArrayRecord) -> bool:
    return separate_lives.possible(len(record.members), md.needed(record.array))


def _holders(system: System, found: Mapping[str, MemberRecord]) -> list[Holder]:
    blocks: list[Superblock] = [block for name in found if (block := examine(system, name)) is not None]
    return separate_lives.holders(found, blocks)


def _apart(system: System, record: ArrayRecord, name: str, who: MemberRecord) -> Apart:
    seconds = updated(system, name)
    written = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds else None
    return Apart(array=record.array.name, serial=who.serial, partuuid=who.partuuid, written=written)


def _is_known(record: ArrayRecord, who: MemberRecord, last: Sequence[MemberRecord]) -> bool:
    """Whether a member was kept apart before. One that was in sync since then was added by an administrator."""
    known = apart_record.of(record, who)
    return known is not None and known.started is None and bool(absent([who], last))
