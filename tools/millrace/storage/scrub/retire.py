# SPDX-License-Identifier: Apache-2.0
"""`millrace pool scrub retire`: take areas that are lost for good out of use, while the pool serves.

md neither reads nor writes a stripe that more members have in their lists of bad blocks than it can lose (raid5.c
handle_failed_stripe), and only a write that succeeds removes an entry (badblocks.c badblocks_store adds only). To clear
the lists the array would be stopped, `mdadm --assemble --update=force-no-bbl`, which clears those of areas that still
read as well. So the lists stay, and XFS stops using the areas: each block of them becomes one of a file of the server,
which nothing reads or writes.

- What a file of a client has there and still reads is copied; the blocks are exchanged where both are equal, at one
  moment (FIDEDUPERANGE), so that a client may write meanwhile.
- What does not read any more is given up only where the administrator has confirmed it, and while no one has the file
  open (a lease): it reads as zeros then.
- Free space is taken by a file that begins with a share of the block before it (occupy_free_space.py). What is before
  may be metadata: then the area stays free, which is reported, and a later run may succeed.
- Metadata of XFS cannot be moved.

The owner of every block is read again at the end, and only rows that the server has as a whole are recorded. A run that
was killed leaves a name with `.new`, which the next one removes; what was done is not done again.
"""

import os
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from millrace.storage.array.area import Area, merged, minus
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import RetiredRows, ScrubRecord, change
from millrace.storage.scrub import remap, retired_files
from millrace.storage.scrub import scrub_due as due
from millrace.storage.scrub.damage import placed
from millrace.storage.scrub.lost_rows import BLOCK, BYTES, SECTOR, LostRows, Owner, lost, owners
from millrace.storage.scrub.occupy_free_space import take_free
from millrace.storage.scrub.scrub_watch import now_here
from millrace.system import locks, paths, reflink
from millrace.system.documents import Contract
from millrace.system.errors import Refused
from millrace.system.mounts import mounted
from millrace.system.run import Runner

TRIES = 3
"""How often a block that a client has changed meanwhile is copied again."""


_FILE = re.compile(r"^inode \d+$")
_UNNAMED = r"\g<0> (a directory, a file of the server, or a file that cannot be opened now)"


class Retirement(Contract):
    """What was found or done: areas that are retired now, and what is left of those that are lost, in sectors.

    `unreadable` are files whose data are lost in these areas, `readable` those that only have blocks beside them,
    relative to the pool. `left` is what stays in use and why, in sentences.
    """

    schema_version: Literal[1] = 1
    sectors: int
    retired: int
    unreadable: list[str]
    readable: list[str]
    left: list[str]


def survey(pool: Pool, run: Runner) -> Retirement:
    """Return what is lost, and which files are concerned; nothing is changed.

    Refused: nothing is lost, the pool is not mounted, or an array is degraded or busy. Failed: a tool fails.
    """
    lost_rows = _asked(pool, run)
    with retired_files.directory(pool) as directory:
        held, unreadable, readable = retired_files.held(directory), list[str](), list[str]()
        wanted = _wanted(lost_rows, held, pool, run)
        for name, file, parts in retired_files.files(pool, wanted):
            bad = any(_read(file, block) is None for part in parts for block in _each(part))
            (unreadable if bad else readable).append(name)
        left = _left(lost_rows, held, pool, run)
    return _result(lost_rows, left, sorted(unreadable), sorted(readable), [])


def retire(pool: Pool, run: Runner, zero: bool) -> Retirement:
    """Retire what is lost; with `zero` also where that gives up what a file had there.

    Refused: nothing is lost, the pool is not mounted, or an array is degraded or busy. Failed: a tool fails.
    """
    lost_rows, notes = _asked(pool, run), list[str]()
    unreadable, readable, seen = list[str](), list[str](), set[str]()
    with locks.held(paths.state_dir() / "retire.lock"), retired_files.directory(pool) as directory:
        retired_files.sweep(directory)
        # first, so that no new block is placed there
        take_free(lost_rows, directory, pool, run)
        wanted = _wanted(lost_rows, retired_files.held(directory), pool, run)
        for name, file, parts in retired_files.files(pool, wanted):
            said = [_take(directory, file, block, zero, pool, run) for part in parts for block in _each(part)]
            (unreadable if any(bad for bad, _ in said) else readable).append(name)
            seen.add(parts[0].what)
            notes += sorted({f"{name}: {why}" for _, why in said if why})
        left = _left(lost_rows, retired_files.held(directory), pool, run)
    _record(pool, lost_rows, left)
    return _result(lost_rows, left, sorted(unreadable), sorted(readable), [*notes, *_others(left, seen)])


def _asked(pool: Pool, run: Runner) -> list[LostRows]:
    if mounted(pool.filesystem.mountpoint) is None:
        raise Refused(f"{pool.filesystem.mountpoint} is not mounted; see `systemctl status srv-pool.mount`")
    # a member that is back may have what is missing now
    if stopped := due.obstacle(pool, run, now_here()):
        raise Refused(f"nothing is retired now: {stopped.reason}; see `millrace pool show`")
    found = lost(pool)
    if not found:
        raise Refused("no area of an array with data is lost; see `millrace health`")
    return found


def _wanted(found: Sequence[LostRows], held: Mapping[int, Path], pool: Pool, run: Runner) -> dict[int, list[Owner]]:
    """The parts of files of clients in these areas, by inode."""
    wanted: dict[int, list[Owner]] = {}
    for area in retired_files.areas(found):
        for one in owners(area, pool.filesystem.mountpoint, run):
            if one.inode is not None and one.inode not in held:
                wanted.setdefault(one.inode, []).append(one)
    return wanted


def _each(part: Owner) -> Iterator[Owner]:
    """The blocks of a part of a file."""
    for begin in range(part.area.begin, part.area.end, BLOCK):
        offset = part.offset + (begin - part.area.begin) * SECTOR
        yield Owner(Area(begin, begin + BLOCK), part.extent, part.what, part.inode, offset)


def _read(file: int, one: Owner) -> bytes | None:
    """The block of a file, shorter at its end; None where it cannot be read."""
    try:
        return os.pread(file, BYTES, one.offset)
    except OSError:
        return None


def _take(directory: Path, file: int, block: Owner, zero: bool, pool: Pool, run: Runner) -> tuple[bool, str]:
    """Retire a block of a file; return whether it cannot be read, and why it stays in use, empty where it does not."""
    data = _read(file, block)
    if data == b"":
        return False, "it has space behind its end that is preallocated; run this again when it was written"
    if data is None and not zero:
        return True, "data are lost; restore it under another name and delete it, or use --zero-files"
    try:
        if not _hold(directory, file, block, pool, run):
            return data is None, "space that is preallocated and not written cannot be retired"
        for _ in range(TRIES):
            if data is None:
                with remap.alone(file) as alone:
                    if not alone:
                        return True, "it is open; close it on the clients, and run this again"
                    if _is_of(block, pool, run):
                        remap.punch(file, block.offset, BYTES)
                return True, ""
            if not _is_of(block, pool, run) or _exchange(directory, file, block, data):
                return False, ""
            data = _read(file, block)
    except OSError as error:
        return data is None, f"the block at byte {block.offset} cannot be retired: {error.strerror or error}"
    return False, "it is being written; run this again"


def _hold(directory: Path, file: int, block: Owner, pool: Pool, run: Runner) -> bool:
    """Let a file of the server share the block; return whether it does."""
    held = directory / str(block.area.begin)
    if not held.exists():
        new = held.with_name(f"{held.name}.new")
        with retired_files.created(new) as mine:
            reflink.clone_range(file, block.offset, min(BYTES, os.fstat(file).st_size - block.offset), mine, 0)
        new.rename(held)
    inode = held.stat().st_ino
    if any(owner.inode == inode for owner in owners(block.area, pool.filesystem.mountpoint, run)):
        return True
    held.unlink()
    return False


def _is_of(one: Owner, pool: Pool, run: Runner) -> bool:
    """Whether the file still has the block there: a client that writes gets another one."""
    found = owners(one.area, pool.filesystem.mountpoint, run)
    return any((each.inode, each.offset) == (one.inode, one.offset) for each in found)


def _exchange(directory: Path, file: int, one: Owner, data: bytes) -> bool:
    """Let the file have a new block with the same data; return whether they were the same until then."""
    new = directory / f"{one.area.begin}.copy.new"
    try:
        with retired_files.created(new) as mine:
            os.pwrite(mine, data, 0)
            os.fsync(mine)
            return remap.dedupe(mine, 0, len(data), file, one.offset)
    finally:
        new.unlink()


def _left(lost_rows: Sequence[LostRows], held: Mapping[int, Path], pool: Pool, run: Runner) -> dict[Area, list[str]]:
    """What of the areas something else than our files has, and what that is."""
    left: dict[Area, list[str]] = {}
    for area in retired_files.areas(lost_rows):
        seen = list[Area]()
        for owner in owners(area, pool.filesystem.mountpoint, run):
            seen.append(owner.area)
            if owner.inode not in held:
                left.setdefault(owner.area, []).append(owner.what)
        for unknown in minus([area], seen):
            left.setdefault(unknown, []).append("unknown")
    return left


def _others(left: Mapping[Area, list[str]], seen: Container[str]) -> list[str]:
    words = sorted({what for each in left.values() for what in each if what not in seen})
    return [f"{_FILE.sub(_UNNAMED, what)} stays in a lost area" for what in words]


def _record(pool: Pool, found: Sequence[LostRows], left: Mapping[Area, list[str]]) -> None:
    def recorded(old: ScrubRecord) -> ScrubRecord:
        for each in found:
            rows = [row for block in each.rows for row in _split(block) if _is_whole(pool, each, row, list(left))]
            kept = old.of(each.one.uuid, each.one.array.name)
            retired = [RetiredRows(begin=one.begin, end=one.end) for one in merged(rows)]
            old = old.having(kept.model_copy(update={"retired": retired}))
        return old

    change(recorded)


def _split(row: Area) -> list[Area]:
    return [Area(begin, begin + BLOCK) for begin in range(row.begin, row.end, BLOCK)]


def _is_whole(pool: Pool, found: LostRows, row: Area, left: Sequence[Area]) -> bool:
    """Whether nothing else has a block of this row."""
    areas = placed(pool, found.one.array, [row])
    return not any(one.begin < other.end and other.begin < one.end for one in areas for other in left)


def _result(
    found: Sequence[LostRows],
    left: Mapping[Area, list[str]],
    unreadable: list[str],
    readable: list[str],
    notes: list[str],
) -> Retirement:
    every = sum(one.end - one.begin for one in retired_files.areas(found))
    still = sum(one.end - one.begin for one in merged(list(left)))
    return Retirement(sectors=every, retired=every - still, unreadable=unreadable, readable=readable, left=notes)


def explained(found: Retirement, zero: bool) -> Iterator[str]:
    """Yield what is about to be done."""
    yield f"{found.sectors} sectors of the pool are lost or cannot be written; {found.retired} of them are retired"
    yield from (f"data are lost: {name}" for name in found.unreadable)
    yield from (f"has readable blocks beside lost ones, which get another place: {name}" for name in found.readable)
    if found.unreadable and zero:
        yield "Where the data of these files are lost, they read as zeros afterwards. This cannot be undone."
    elif found.unreadable:
        yield "Lost data of these files stay in use: restore and delete these files first, or use --zero-files."


def lines(found: Retirement) -> Iterator[str]:
    """Return text for a terminal."""
    yield f"{found.retired} of {found.sectors} sectors are retired"
