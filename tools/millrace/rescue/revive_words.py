# SPDX-License-Identifier: Apache-2.0
"""A revival in words: what is there, what is started, what is in doubt."""

from collections.abc import Iterator

from millrace.rescue.revive_model import Part, Revival, RevivedArray, RevivedMember
from millrace.system.text import moment

PARTS: dict[Part, str] = {
    "current": "started: a member until the end",
    "brought-back": "started: left last",
    "rebuilt": "left earlier; rebuilt",
    "not-filled": "never filled; rebuilt",
    "missing": "missing",
    "unreadable": "no md superblock can be read; not used",
}


def lines(found: Revival) -> Iterator[str]:
    """Yield what a revival does, or what it did."""
    if found.done:
        yield from found.report
        return
    for one in found.arrays:
        yield from _array(one)
    if any(member.part == "brought-back" for one in found.arrays for member in one.members):
        yield "The start is recorded as unclean: files written in the last minutes before may be damaged, and are"
        yield "searched for (millrace pool unclean). What was acknowledged before that is in the members started."
    yield "NFS, SMB and everything else that uses the pool are stopped, the arrays are started, the pool is served."
    yield f"sha256 {found.sha256}"


def _array(one: RevivedArray) -> Iterator[str]:
    broke = f"; it broke at {moment(one.broke)}" if one.broke else ""
    yield f"Array {one.name} ({one.level.upper()}) needs {one.needed} members{broke}"
    rows = [_row(member) for member in one.members]
    widths = [max(len(row[column]) for row in [*rows, _TITLES]) for column in range(len(_TITLES))]
    for row in [_TITLES, *rows]:
        yield ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
    if one.doubt:
        yield f"  In doubt: {one.doubt}."
        yield "  The order of failure was not recorded. Choose the member that left last: --with SERIAL"
    yield ""


_TITLES = ("Bay", "Serial", "Slot", "Events", "Last write", "What happens")


def _row(one: RevivedMember) -> tuple[str, ...]:
    return (
        one.bay or "-",
        one.serial,
        "-" if one.slot is None else str(one.slot),
        "-" if one.events is None else str(one.events),
        moment(one.written) if one.written else "-",
        PARTS[one.part],
    )
