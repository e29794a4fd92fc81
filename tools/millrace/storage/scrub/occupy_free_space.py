# SPDX-License-Identifier: Apache-2.0
"""Take free space in its place: XFS continues a file right behind its last block where that is free.

xfs_bmap.c xfs_bmap_adjacent, xfs_bmap_btalloc_at_eof. So a file that begins with a share of the block before a free
extent takes that extent from its beginning on. The caller reads afterwards who has it.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from millrace.storage.array.area import Area, minus
from millrace.storage.record.model import Pool
from millrace.storage.scrub import remap, retired_files
from millrace.storage.scrub.lost_rows import BLOCK, BYTES, SECTOR, LostRows, Owner, owners
from millrace.system import reflink
from millrace.system.run import Runner

STEP = 1 << 30
"""Bytes of free space that are taken at a time on the way to an area."""


def take_free(lost_rows: Sequence[LostRows], directory: Path, pool: Pool, run: Runner) -> None:
    """Take what is free of these areas, as far as it can be. Failed: xfs_io fails."""
    free = _free(lost_rows, pool.filesystem.mountpoint, run)
    before = [owner for _, owner, _ in free]
    held = retired_files.held(directory)
    clients = {owner.inode: before for owner in before if owner.inode is not None and owner.inode not in held}
    for extent, owner, areas in free:
        if owner.inode in held:
            with retired_files.opened(held[owner.inode]) as file:
                _extend(directory, file, owner, extent, areas, pool, run)
    for _, file, _ in retired_files.files(pool, clients):
        for extent, owner, areas in free:
            if owner.inode == os.fstat(file).st_ino:
                _extend(directory, file, owner, extent, areas, pool, run)


def _free(lost_rows: Sequence[LostRows], mountpoint: str, run: Runner) -> list[tuple[Area, Owner, list[Area]]]:
    """The free extents with a block of a file before them, that block, and the areas within."""
    free: dict[int, tuple[Area, Owner, list[Area]]] = {}
    for area in retired_files.areas(lost_rows):
        for owner in owners(area, mountpoint, run):
            before = _before(owner.area, mountpoint, run) if owner.is_free else None
            if before is not None:
                extent = Area(before.area.end, owner.area.end)
                known = free.setdefault(extent.begin, (extent, before, []))
                known[2].append(owner.area)
    return list(free.values())


def _before(area: Area, mountpoint: str, run: Runner) -> Owner | None:
    """The last block of a file before a free area with nothing but free space between; None where that is no file."""
    begin, back = area.begin, BLOCK
    while begin > 0:
        begin, end = max(area.begin - back, 0), begin
        used = [owner for owner in owners(Area(begin, end), mountpoint, run) if not owner.is_free]
        if used:
            last = max(used, key=lambda owner: owner.area.end)
            if last.inode is None:
                return None
            block = Area(last.area.end - BLOCK, last.area.end)
            offset = last.offset + (block.begin - last.area.begin) * SECTOR
            return Owner(block, last.extent, last.what, last.inode, offset)
        back *= 16
    return None


def _extend(
    directory: Path, file: int, before: Owner, extent: Area, areas: Sequence[Area], pool: Pool, run: Runner
) -> None:
    """Take free space from the beginning of its extent on and give back all but these areas, or all where it fails."""
    new = directory / f"{areas[0].begin}.new"
    try:
        with retired_files.created(new) as mine:
            _grow(mine, file, before, extent, areas)
            inode = os.fstat(mine).st_ino
        there = [any(owner.inode == inode for owner in owners(area, pool.filesystem.mountpoint, run)) for area in areas]
        if any(there):
            new.rename(new.with_suffix(""))
    except OSError:
        # no space, or a block that cannot be shared: what stays free is reported
        return
    finally:
        new.unlink(missing_ok=True)


def _grow(mine: int, file: int, before: Owner, extent: Area, areas: Sequence[Area]) -> None:
    reflink.clone_range(file, before.offset, min(BYTES, os.fstat(file).st_size - before.offset), mine, 0)
    at, end, last = BYTES, _place(extent, areas[-1].end), 0
    keep = [(_place(extent, area.begin), _place(extent, area.end)) for area in areas]
    while at < end:
        to = min(at + STEP, end)
        remap.preallocate(mine, at, to - at)
        # the last block stays until the next step: what comes behind it is placed there
        for begin, until in _gaps(last, to - BYTES, keep):
            remap.punch(mine, begin, until - begin)
        at, last = to, to - BYTES


def _place(extent: Area, sector: int) -> int:
    """Where a sector of a free extent is in the file that takes it, behind the block that was before the extent."""
    return BYTES + (sector - extent.begin) * SECTOR


def _gaps(begin: int, end: int, keep: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    left = minus([Area(begin, end)] if begin < end else [], [Area(*one) for one in keep])
    return [(one.begin, one.end) for one in left]
