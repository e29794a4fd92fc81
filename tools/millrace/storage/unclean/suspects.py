# SPDX-License-Identifier: Apache-2.0
"""Which files may be damaged after a power cut that left a degraded array unclean.

What is damaged is the missing member's chunk of a row that was torn. Where a second parity has told the torn rows, the
owners of these chunks are all. Without it every row is in doubt that holds data of a file written last, as far as it is
in a region that the bitmap has as written: the owners of the missing chunks in these rows are a guess, and others are
possible: metadata was written too, and files that were removed.

An array that was started outside Millrace may have members of two ages: all files that were written since the first one
left are in doubt, in all regions, as md has cleared the bits of its bitmap.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from millrace.plan.model import Role
from millrace.storage.array import dirty_regions
from millrace.storage.array.area import Area, merged, minus
from millrace.storage.array.devices import array_device
from millrace.storage.assemble.unclean import Suspects, Unclean, UncleanStarts, pending, save_suspects
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.storage.scrub import damaged_files, file_names
from millrace.storage.unclean import missing_chunks
from millrace.system import ages, paths
from millrace.system.errors import Refused
from millrace.system.run import Runner, must
from millrace.system.text import one_line
from millrace.system.trees.walk import regular_files

MARGIN = 120.0
"""Seconds before md's last superblock that are in doubt as well."""

LISTED = 1000
"""How many names are kept, and how many others: clients decide how long each is, and it is on the boot drive."""

INODES = 1_000_000
"""How many files are searched for: each takes memory, and clients make more than there is."""

LIMIT = 600.0
"""Seconds for each part of the search: files by their times, owners of rows, names."""

PART = 1 << 21
"""Sectors of the device whose owners are read at once."""

# xfs_io(8), fsmap: `0: 9:127 [192..391]: inode 131 data 0..199 200`
_ROW = re.compile(r"\[(\d+)\.\.(\d+)\]: (.+)")
_INODE = re.compile(r"inode (\d+)\b")
_LENGTH = re.compile(r"( \d+\.\.\d+)?( \d+)?( blocks)?\s*$")
_FREE = "free space"


@dataclass
class _Owners:
    """Inodes with data in rows in doubt, and what else is there."""

    inodes: set[int] = field(default_factory=set)
    others: set[str] = field(default_factory=set)


def search(pool: Pool, run: Runner, clock: Callable[[], float] = time.monotonic) -> UncleanStarts | None:
    """Search for them once and keep the names, a line each; return None where there is nothing to search for.

    Return None also where the starts are acknowledged during the search. Refused: nothing is mounted. Failed: a tool
    fails.
    """
    starts = pending()
    if starts is None or starts.suspects is not None:
        return starts
    if not os.path.ismount(top(pool)):
        raise Refused(f"{pool.filesystem.mountpoint} is not mounted; see `systemctl status srv-pool.mount`")

    def limited() -> Callable[[], bool]:
        end = clock() + LIMIT
        return lambda: clock() > end

    notes = list[str]()
    told = _told(pool, starts.starts, run)
    guessed = [(array, each) for array, each in _arrays(pool, starts.starts) if not each.is_told_by_parity]
    owners = _Owners()
    if guessed:
        since = min(each.in_doubt_since.timestamp() for _, each in guessed) - MARGIN
        written, all_read = _written_since(top(pool), since, limited())
        notes += [] if all_read else ["not all files were searched for those written last"]
        is_over = limited()
        for array, each in guessed:
            if not _guess(pool, array, each, written, owners, run, is_over):
                notes.append("the search ended before all rows were read")
    notes += list(_doubts(pool, starts.starts))
    certain = file_names.names(top(pool), told.inodes, LISTED)
    guesses = file_names.names(top(pool), owners.inodes - told.inodes, LISTED)
    notes += [*certain.notes, *guesses.notes]
    names = [*_sorted(certain), *_sorted(guesses)][:LISTED]
    others = sorted({*told.others, *owners.others} - {_FREE}) + sorted([*certain.others, *guesses.others])
    result = Suspects(
        count=certain.count + guesses.count,
        listed=len(names),
        complete=not notes,
        by_parity=certain.count,
        others=[one_line(other) for other in others[:LISTED]],
        more_others=len(others[LISTED:]) + certain.more_others + guesses.more_others,
        notes=[one_line(note) for note in dict.fromkeys(notes)],
    )
    return save_suspects(starts.model_copy(update={"suspects": result}), names)


def _sorted(named: file_names.FileNames) -> list[str]:
    return sorted(name for each in named.files.values() for name in each)


def top(pool: Pool) -> Path:
    """Return the directory at which the pool is mounted, or is to be."""
    return paths.ROOT / pool.filesystem.mountpoint.lstrip("/")


def names() -> list[str]:
    """Return the names that were kept, relative to the pool; control characters are escaped."""
    try:
        return paths.suspects_file().read_text().splitlines()
    except FileNotFoundError:
        return []


def _arrays(pool: Pool, starts: Sequence[Unclean]) -> Iterator[tuple[ArrayRecord, Unclean]]:
    """Yield each start with its array, if that has data of files."""
    for each in starts:
        for one in pool.arrays:
            if one.array.name == each.array and one.array.role is not Role.LOG:
                yield one, each


def _told(pool: Pool, starts: Sequence[Unclean], run: Runner) -> _Owners:
    areas = list[Area]()
    for one, each in _arrays(pool, starts):
        if each.is_told_by_parity:
            rows = [Area(row.begin, row.end) for row in each.torn]
            areas += missing_chunks.chunks(pool, one.array, rows, _slots(one, each))
    inodes, others = damaged_files.owners(merged(areas), pool.filesystem.mountpoint, run)
    return _Owners(inodes, set(others))


def _guess(
    pool: Pool,
    array: ArrayRecord,
    each: Unclean,
    written: set[int],
    owners: _Owners,
    run: Runner,
    is_over: Callable[[], bool],
) -> bool:
    """Add the owners of the missing chunks in rows that hold data of these inodes; return whether all were read."""
    if each.outside or each.older:
        # any of their chunks may be the old one
        owners.inodes |= written
    device = array_device(array.array.name)
    if device is None:
        return False
    slots = _slots(array, each)
    try:
        regions = _regions(each, device)
    except OSError:
        return False
    for region in regions if written else ():
        span = missing_chunks.device_span(pool, array.array, region)
        step = _step(pool, array)
        for begin in range(span.begin, span.end, step):
            if is_over() or len(owners.inodes) > INODES:
                return False
            part = list(_extents(Area(begin, min(begin + step, span.end)), pool.filesystem.mountpoint, run))
            touched = [area for area, inode, _ in part if inode in written]
            rows = merged([row for area in touched for row in missing_chunks.rows(pool, array.array, area)])
            lost = missing_chunks.chunks(pool, array.array, rows, slots)
            for inode, what in _within(lost, part):
                if inode:
                    owners.inodes.add(inode)
                else:
                    owners.others.add(what)
    return True


def _regions(each: Unclean, device: str) -> list[Area]:
    """The regions in which rows are in doubt; all where members may differ, or the bitmap of the start is not known.

    What the bitmap has now comes first, as time may be short.
    """
    if each.outside or each.older or each.regions is None:
        first = dirty_regions.regions(device)
        return [*first, *minus(dirty_regions.everywhere(device), first)]
    return [Area(one.begin, one.end) for one in each.regions]


def _step(pool: Pool, one: ArrayRecord) -> int:
    """Sectors of the device with whole stripes of all legs: the chunks of a row are in one part."""
    stripe = missing_chunks.device_span(pool, one.array, Area(0, 1)).end
    return max(PART // stripe, 1) * stripe


def _extents(area: Area, mountpoint: str, run: Runner) -> Iterator[tuple[Area, int | None, str]]:
    for line in must(run, ["xfs_io", "-r", "-c", f"fsmap -d {area.begin} {area.end - 1}", mountpoint]).splitlines():
        row = _ROW.search(line)
        if row is None:
            continue
        within = Area(max(area.begin, int(row[1])), min(area.end, int(row[2]) + 1))
        inode = _INODE.search(row[3])
        if within.begin < within.end and row[3].partition(" ")[0] != "free":
            yield within, int(inode[1]) if inode else None, _LENGTH.sub("", row[3])


def _within(lost: Sequence[Area], part: Sequence[tuple[Area, int | None, str]]) -> Iterator[tuple[int | None, str]]:
    """Yield the owners of these areas; both are in their order, and files may share an extent."""
    ordered, at = sorted(part, key=lambda extent: extent[0].begin), 0
    for chunk in lost:
        while at < len(ordered) and ordered[at][0].end <= chunk.begin:
            at += 1
        for area, inode, what in ordered[at:]:
            if area.begin >= chunk.end:
                break
            if area.end > chunk.begin:
                yield inode, what


def _written_since(directory: Path, since: float, is_over: Callable[[], bool]) -> tuple[set[int], bool]:
    """Return the inodes of files changed since then, and whether all were read.

    A client cannot set the time of a change. It has no upper limit: a clock may have been wrong at the start.
    """
    inodes = set[int]()
    # Without the server's own directory, in which the heartbeat writes twice a minute.
    for name, held in regular_files(directory, paths.POOL_OWN):
        if name is None or held is None or is_over() or len(inodes) > INODES:
            return inodes, False
        if held.st_ctime >= since:
            inodes.add(held.st_ino)
    return inodes, True


def _slots(one: ArrayRecord, each: Unclean) -> list[int] | None:
    """The missing slots; None where they are not known, or not where md has the chunk of one."""
    device, slots = array_device(one.array.name), each.slots or _recorded_slots(one, each)
    return slots if slots and device is not None and missing_chunks.is_left_symmetric(device) else None


def _recorded_slots(one: ArrayRecord, each: Unclean) -> list[int] | None:
    """The slots of the missing members, of which older releases recorded the serials alone."""
    found = [slot for slot, member in enumerate(one.members) if member.serial in each.missing]
    # members of an array that was started outside may differ anywhere; one that was replaced since is not found
    return None if each.outside or len(found) < len(each.missing) else found


def _doubts(pool: Pool, starts: Sequence[Unclean]) -> Iterator[str]:
    """Yield why other files are possible."""
    logs = {array.array.name for array in pool.arrays if array.array.role is Role.LOG}
    for start in starts:
        if start.array in logs or start.is_told_by_parity:
            continue
        if start.outside or start.older:
            yield f"array {start.array}: other files are possible, its members may differ in any row"
            if not start.dated:
                yield f"array {start.array}: files are missing from the list if its first member left earlier"
            continue
        why = start.problem or "it has no second parity"
        yield f"array {start.array}: other files are possible, the rows in doubt are a guess ({why})"
        if not start.dated or ages.is_ahead(start.last_write, datetime.now(UTC)):
            yield f"array {start.array}: the clock was wrong, so files written last may be missing from the search"
