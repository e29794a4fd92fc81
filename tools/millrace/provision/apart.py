# SPDX-License-Identifier: Apache-2.0
"""Members in this server that ran without their array: left out of its start, not re-added, and named.

`/var/lib/millrace/apart.json` has them for health, the list of drives and the next start: the array goes on counting
its events, and a member that was ahead of it once is not for ever. `/run/millrace/apart.json` counts in this boot, also
where the boot drive takes no record.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from shlex import quote
from typing import Literal

from pydantic import Field

from millrace import paths
from millrace.errors import MillraceError
from millrace.provision import in_sync, lives, md
from millrace.provision.lives import Holder, RanApart
from millrace.provision.membership import absent
from millrace.provision.model import ArrayRecord, MemberRecord
from millrace.provision.superblock import Superblock, examine, updated
from millrace.provision.system import System
from millrace.system import locks
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.text import moment

MOST = 64
"""Members that are remembered."""


class Apart(Contract):
    """A member that ran without its array since it left. `written` is when it was last written, ISO 8601 in UTC."""

    array: str
    serial: str
    partuuid: str
    written: str | None


class Undecided(Contract):
    """An array that is not started, as its members ran twice; `why` is a sentence with the drives of both lives."""

    array: str
    why: str


class ApartMembers(Contract):
    """The members that ran without their arrays, the latest first, and arrays that are not started for that reason."""

    schema_version: Literal[1] = 1
    members: list[Apart]
    undecided: list[Undecided] = Field(default_factory=list)


def left_out(system: System, record: ArrayRecord, found: Mapping[str, MemberRecord]) -> dict[str, MemberRecord]:
    """Return the members, by kernel name, without which an array is started because they ran without it.

    RanApart: members ran without each other, and no record shows which of them this server used last.
    """
    if not _twice(record):
        return {}
    last = in_sync.last_of(record)
    known = {name: who for name, who in found.items() if _is_known(record, who, last.members)}
    members = _holders(system, {name: who for name, who in found.items() if name not in known})
    try:
        apart = lives.chosen(record, members, last.members, last.left)
    except RanApart as error:
        _save(record, [], str(error))
        raise
    out = known | {one.block.name: one.who for one in apart}
    if len(absent(last.members, list(found.values()))) == len(last.members):
        # in_sync.refuse_stale names what was in sync, and how to start what is left
        return {}
    _save(record, [_apart(system, record, name, who) for name, who in out.items()])
    return out


def refusal(system: System, record: ArrayRecord, name: str) -> str | None:
    """Return the sentence about a member that is back where it must not be re-added to its running array; else None."""
    if not _twice(record):
        return None
    active, block = md.find(system, record.uuid), examine(system, name)
    if active is None or block is None:
        return None
    who, last = system.identity(name), in_sync.last_of(record)
    if not _is_known(record, who, last.members):
        live = [one.name for one in system.md_members(active.device) if one.in_sync]
        current = _holders(system, {one: system.identity(one) for one in live})
        left = lives.left_of(last.left, who)
        if not lives.ran_apart(block, current, left, running=True):
            return None
        _save(record, [_apart(system, record, name, who)])
    return sentence(who.serial, name)


def sentence(serial: str, name: str) -> str:
    """Return what a start of the arrays reports about such a member."""
    return (
        f"{serial} ({name}) ran without the array after it left it and is kept apart, because each has changes that "
        f"the other lacks; see `millrace drive show {quote(serial)}`"
    )


def undecided() -> dict[str, str]:
    """Return why an array is not started whose members ran twice, by its name."""
    return {one.array: one.why for one in _load().undecided}


def recorded() -> dict[str, Apart]:
    """Return the members that are kept apart and still in this server, by serial."""
    return {one.serial: one for one in reversed(_load().members) if _is_here(one)}


def last_written(one: Apart) -> str:
    """Return `, last written 2026-11-28 07:00 UTC`, or nothing where that is not known."""
    return f", last written {moment(one.written)}" if one.written else ""


def _twice(record: ArrayRecord) -> bool:
    return lives.possible(len(record.members), md.needed(record.array))


def _holders(system: System, found: Mapping[str, MemberRecord]) -> list[Holder]:
    blocks: list[Superblock] = [block for name in found if (block := examine(system, name)) is not None]
    return lives.holders(found, blocks)


def _apart(system: System, record: ArrayRecord, name: str, who: MemberRecord) -> Apart:
    seconds = updated(system, name)
    written = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds else None
    return Apart(array=record.array.name, serial=who.serial, partuuid=who.partuuid, written=written)


def _is_here(one: Apart) -> bool:
    """An erase or a pull takes the partition away; a drive that was added as a whole has none."""
    return not one.partuuid or (paths.ROOT / "dev/disk/by-partuuid" / one.partuuid).exists()


def _is_known(record: ArrayRecord, who: MemberRecord, last: Sequence[MemberRecord]) -> bool:
    """Whether a member was kept apart before. One that was in sync since then was added by an administrator."""
    known = any((one.array, one.partuuid, one.serial) == _key(record, who) for one in _load().members)
    return known and bool(absent([who], last))


def _key(record: ArrayRecord, who: MemberRecord) -> tuple[str, str, str]:
    return record.array.name, who.partuuid, who.serial


def _load() -> ApartMembers:
    for path in (paths.apart_now_file(), paths.apart_file()):
        with suppress(MillraceError):
            return read_model(path, ApartMembers)
    return ApartMembers(members=[])


def _save(record: ArrayRecord, members: Sequence[Apart], why: str | None = None) -> None:
    """Add members of an array, and replace why it is not started; nothing is written where nothing changes."""
    with _lock():
        known = _load()
        new = {(one.array, one.partuuid, one.serial) for one in members}
        others = [one for one in known.members if (one.array, one.partuuid, one.serial) not in new]
        undecided = [one for one in known.undecided if one.array != record.array.name]
        undecided += [Undecided(array=record.array.name, why=why)] if why else []
        found = ApartMembers(members=[*members, *others][:MOST], undecided=undecided)
        if found != known:
            write_model(paths.apart_now_file(), found)
            # a boot drive that is full or read-only keeps no member in the array
            with suppress(OSError):
                write_model(paths.apart_file(), found)


def _lock() -> AbstractContextManager[None]:
    return locks.held(paths.run_dir() / "apart.lock")
