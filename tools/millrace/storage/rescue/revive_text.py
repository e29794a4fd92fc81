# SPDX-License-Identifier: Apache-2.0
"""A revival in words: what is there, what is started, what is in doubt."""

from collections.abc import Iterator

from millrace.storage.rescue.revive_model import Part, Revival, RevivedArray, RevivedMember
from millrace.system.names import several
from millrace.system.printing import Cell, notes, table
from millrace.system.text import moment

PARTS: dict[Part, str] = {
    "current": "started: in sync until the end",
    "brought-back": "started: left last",
    "rebuilt": "left earlier; will be rebuilt",
    "not-filled": "never filled completely; will be rebuilt",
    "kept-apart": "kept apart since an earlier start; not used",
    "missing": "missing",
    "unreadable": "no md superblock can be read; not used",
}


def lines(revival: Revival) -> Iterator[str]:
    """Yield what a revival does, or what it did."""
    if revival.done:
        yield from revival.report
        return
    for array in revival.arrays:
        yield from _array(array)
    forced = [array for array in revival.arrays if _is_forced(array)]
    if any(array.newer for array in forced):
        yield "The start is recorded as unclean: files written since the members left may be damaged, and are searched"
        yield "for (millrace pool unclean)."
    elif forced:
        yield "The start is recorded as unclean: files written in the last minutes before may be damaged, and are"
        yield "searched for (millrace pool unclean). Earlier acknowledged writes are on the members that are started."
    yield "NFS, SMB and everything else that uses the pool are stopped, the arrays are started, the pool is served."
    yield f"sha256 {revival.sha256}"


def _array(one: RevivedArray) -> Iterator[str]:
    broke = f"; it broke at {moment(one.broke)}" if one.broke else ""
    yield f"Array {one.name} ({one.level.upper()}) needs {one.needed} members{broke}"
    yield from table(_TITLES, [_row(one, member) for member in one.members], indent=2)
    if one.doubt:
        yield from notes([f"In doubt: {one.doubt}.", *_risk(one)])
    yield ""


def _risk(array: RevivedArray) -> Iterator[str]:
    """Yield what a start in spite of the doubt loses, and what to do instead."""
    if not array.newer:
        return
    newer, since = several(array.newer), f"after {moment(array.since)}" if array.since else "since they left"
    lost, where = ("are", "they are") if array.older else ("may be", "they may be")
    yield f"If the array starts without {newer}, writes acknowledged {since} {lost} lost: {where} only on {newer}."
    missing = {member.serial for member in array.members if member.part == "missing"}
    if gone := [serial for serial in array.newer if serial in missing]:
        yield f"Put {several(gone)} back in first, then run this again."
    elif array.older:
        yield f"Choose the member that left last: --with {array.newer[0]}"
    else:
        recorded = "contradicts the superblocks" if array.recorded else "was not recorded"
        yield f"The order of failure {recorded}. Choose the member that left last: --with SERIAL"


_TITLES = ("Bay", "Serial", "Slot", "Events", "Last write", "What happens")


def _is_forced(array: RevivedArray) -> bool:
    return any(member.part == "brought-back" for member in array.members)


def _row(array: RevivedArray, one: RevivedMember) -> tuple[Cell, ...]:
    return (one.bay, one.serial, one.slot, one.events, moment(one.written) if one.written else None, _part(array, one))


def _part(array: RevivedArray, one: RevivedMember) -> str:
    """Return what happens to a member. Where something is in doubt, those that are started may not have left last."""
    if one.serial in array.newer and one.part == "kept-apart":
        last = array.older and one.serial == array.newer[0]
        return "left last; will be kept apart" if last else "may have left last; will be kept apart"
    if array.newer and one.part == "brought-back":
        return "started: left earlier" if array.older else "started: may have left earlier"
    if array.newer and one.part == "current" and not _is_forced(array):
        return "started: may have left earlier"
    return PARTS[one.part]
