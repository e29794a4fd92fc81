# SPDX-License-Identifier: Apache-2.0
"""The record of members that are kept apart from their arrays, and of arrays that are not started for that reason.

`/var/lib/millrace/apart.json` has them for health, the list of drives and the next start: the array goes on counting
its events, and a member that was ahead of it once is not for ever. `/run/millrace/apart.json` counts in this boot, also
where the boot drive takes no record.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Literal

from pydantic import Field

from millrace.storage.record.membership import absent
from millrace.storage.record.model import ArrayRecord, MemberRecord
from millrace.system import locks, paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import MillraceError
from millrace.system.text import moment

MOST = 64
"""Members that are remembered."""


class Apart(Contract):
    """A member that ran without its array since it left. `written` is when it was last written, ISO 8601 in UTC.

    With `started` it may be newer than the array, which an administrator had started without it then; null for others.
    `beside` are the members of that start: how often md had written the superblock of each before, by the GUID of its
    partition, else its serial number.
    """

    array: str
    serial: str
    partuuid: str
    written: str | None
    started: str | None = None
    beside: dict[str, int] = Field(default_factory=dict)


class Undecided(Contract):
    """An array that is not started, as its members ran twice; `why` is a sentence with the drives of both lives."""

    array: str
    why: str


class ApartMembers(Contract):
    """The members that are kept apart from their arrays, the latest first, and arrays that are not started for that."""

    schema_version: Literal[1] = 1
    members: list[Apart]
    undecided: list[Undecided] = Field(default_factory=list)


def undecided() -> dict[str, str]:
    """Return why an array is not started whose members ran twice, by its name."""
    return {one.array: one.why for one in load().undecided}


def recorded() -> dict[str, Apart]:
    """Return the members that are kept apart and still in this server, by serial."""
    return {one.serial: one for one in reversed(load().members) if _is_here(one)}


def in_words(one: Apart) -> str:
    """Return why a member is kept apart, as the end of a sentence about it."""
    if one.started:
        return f"may be newer than array {one.array}, which was started without it on {moment(one.started)}"
    written = f", last written {moment(one.written)}" if one.written else ""
    return f"ran without array {one.array} after it left it{written}"


def member(one: Apart) -> MemberRecord:
    """Return who it is, as far as that is recorded."""
    return MemberRecord(serial=one.serial, wwid="", partuuid=one.partuuid, label="")


def key(who: MemberRecord) -> str:
    """Return the GUID of a member's partition, else its serial number."""
    return who.partuuid or who.serial


def of(record: ArrayRecord, who: MemberRecord) -> Apart | None:
    """Return what is recorded of a member of an array."""
    found = (one for one in load().members if (one.array, one.partuuid, one.serial) == _key(record, who))
    return next(found, None)


def load() -> ApartMembers:
    """Return the record; nothing where no file of it is there or can be parsed."""
    for path in (paths.apart_now_file(), paths.apart_file()):
        with suppress(MillraceError):
            return read_model(path, ApartMembers)
    return ApartMembers(members=[])


def newer_of(record: ArrayRecord) -> list[Apart]:
    """Return the members that may be newer than an array, as far as that is recorded."""
    return [one for one in load().members if one.array == record.array.name and one.started]


def save(record: ArrayRecord, members: Sequence[Apart], why: str | None = None) -> OSError | None:
    """Add members of an array, and replace why it is not started; nothing is written where nothing changes.

    Return why the boot drive took no record, which `keep` writes later; None where it did. OSError: what counts in this
    boot cannot be written.
    """
    with _lock():
        known = load()
        new = {(apart.array, apart.partuuid, apart.serial) for apart in members}
        others = [apart for apart in known.members if (apart.array, apart.partuuid, apart.serial) not in new]
        undecided = [
            undecided_array for undecided_array in known.undecided if undecided_array.array != record.array.name
        ]
        undecided += [Undecided(array=record.array.name, why=why)] if why else []
        return _write(known, ApartMembers(members=[*members, *others][:MOST], undecided=undecided))


def forget_newer(members: Mapping[str, Sequence[MemberRecord]]) -> None:
    """Forget that `members`, by the name of their array, may be newer than it.

    OSError: as `save`.
    """
    if not any(apart.started for apart in load().members):
        return
    with _lock():
        known = load()
        kept = [
            apart
            for apart in known.members
            if not apart.started or absent([member(apart)], members.get(apart.array, ()))
        ]
        _write(known, known.model_copy(update={"members": kept}))


def keep() -> None:
    """Write on the boot drive what counts in this boot, if it took no record before."""
    if not paths.apart_now_file().exists():
        return
    with suppress(OSError), _lock():
        _keep(load())


def _write(known: ApartMembers, found: ApartMembers) -> OSError | None:
    if found == known:
        return None
    write_model(paths.apart_now_file(), found)
    try:
        _keep(found)
    except OSError as error:
        # a boot drive that is full or read-only keeps no member in the array
        return error
    return None


def _keep(found: ApartMembers) -> None:
    with suppress(MillraceError):
        if paths.apart_file().exists() and read_model(paths.apart_file(), ApartMembers) == found:
            return
    write_model(paths.apart_file(), found)


def _is_here(one: Apart) -> bool:
    """An erase or a pull takes the partition away; a drive that was added as a whole has none."""
    return not one.partuuid or (paths.ROOT / "dev/disk/by-partuuid" / one.partuuid).exists()


def _key(record: ArrayRecord, who: MemberRecord) -> tuple[str, str, str]:
    return record.array.name, who.partuuid, who.serial


def _lock() -> AbstractContextManager[None]:
    return locks.held(paths.run_dir() / "apart.lock")
