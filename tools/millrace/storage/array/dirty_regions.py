# SPDX-License-Identifier: Apache-2.0
"""Which regions of an array were being written: the write-intent bitmap that md keeps on each member.

kernel 7.2, md-bitmap.c: a bit is on the drives before its region is written, and no bit is cleared while the array is
degraded. So every row that was in flight at a power cut is in a region whose bit is set. A region is 512 MiB of each
member as planned: it bounds a search, and names no file. `mdadm --examine-bitmap` prints only how many are set.
"""

import errno
import os
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from millrace.storage.array.area import SECTOR, Area, merged
from millrace.storage.array.devices import block
from millrace.system import paths, sysfs

_SUPERBLOCK = struct.Struct("<4sI16sQQQIII")
_BYTES = 256
_VERSIONS = (3, 4)
"""Of the bitmap that has a bit for each region; the one without locks has another format."""
_WRONG = 2 | 4
"""BITMAP_STALE, BITMAP_WRITE_ERROR."""
_BEGIN = 8
"""Sector of the superblock in a member, version 1.2."""
_MOST = 1 << 24
"""Bytes of the largest bitmap that is read."""
_ALL = 0xFF
_SET = re.compile(rb"\xff+|[^\x00\xff]", re.DOTALL)
"""A byte with a bit, or many with all bits: a bitmap that is all dirty is one area."""


def regions(device: str) -> list[Area]:
    """Return the regions of each member that may have been written since the array is degraded; all without a bitmap.

    Where members differ, a region of any of them is one. md clears the bits where the array is complete again. OSError:
    the array does not run.
    """
    sectors = _sectors(device)
    try:
        areas = _together([_read(path, begin, sectors) for path, begin in _bitmaps(device)])
    except (OSError, ValueError):
        return everywhere(device)
    return [Area(area.begin, min(area.end, sectors)) for area in areas if area.begin < sectors]


def everywhere(device: str) -> list[Area]:
    """Return all regions, whatever the bitmap has. OSError: the array does not run."""
    return [Area(0, _sectors(device))]


def _sectors(device: str) -> int:
    kib = sysfs.number(block(device) / "md/component_size")
    if not kib:
        raise OSError(errno.ENODEV, f"{device} is no array that runs")
    return 2 * kib


def _bitmaps(device: str) -> Iterator[tuple[Path, int]]:
    """Yield each member in sync with the byte at which its bitmap begins. ValueError: there is none that is known."""
    md = block(device) / "md"
    location, names = sysfs.text(md / "bitmap/location") or "", sysfs.names(md)
    if sysfs.text(md / "metadata_version") != "1.2" or not location.removeprefix("+").isdigit():
        raise ValueError(location)
    members = [
        name for name in names if name.startswith("dev-") and "in_sync" in (sysfs.text(md / name / "state") or "")
    ]
    if not members:
        raise ValueError(device)
    for member in members:
        yield paths.ROOT / "dev" / member.removeprefix("dev-"), (_BEGIN + int(location)) * SECTOR


def _read(path: Path, begin: int, sectors: int) -> tuple[int, bytes]:
    """Return the sectors of each region and a bit for each, the first in the lowest bit of the first byte."""
    with path.open("rb") as file:
        # md writes past the cache of the device, and keeps it open: what udev has read stays there
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(begin)
        header = file.read(_BYTES)
        if len(header) < _SUPERBLOCK.size:
            raise ValueError(os.fspath(path))
        magic, version, _, _, _, size, state, chunk, _ = _SUPERBLOCK.unpack(header[: _SUPERBLOCK.size])
        wide = chunk // SECTOR
        if magic != b"bitm" or version not in _VERSIONS or state & _WRONG or not wide or size < sectors:
            raise ValueError(os.fspath(path))
        count = -(-sectors // wide)
        if count > 8 * _MOST:
            raise ValueError(os.fspath(path))
        bits = file.read(-(-count // 8))
    if len(bits) * 8 < count:
        raise ValueError(os.fspath(path))
    return wide, bits


def _together(bitmaps: Sequence[tuple[int, bytes]]) -> list[Area]:
    """Return the regions that have a bit in any of the bitmaps. ValueError: their regions differ in size."""
    (wide,) = {each for each, _ in bitmaps}
    length = len(bitmaps[0][1])
    either = 0
    for _, bits in bitmaps:
        either |= int.from_bytes(bits, "little")
    areas = [
        area
        for part in _SET.finditer(either.to_bytes(length, "little"))
        for area in _areas(part[0], part.start(), wide)
    ]
    return merged(areas)


def _areas(part: bytes, at: int, wide: int) -> Iterator[Area]:
    """Yield the regions of one byte, or of many that have all bits."""
    if part[0] == _ALL:
        yield Area(8 * at * wide, 8 * (at + len(part)) * wide)
        return
    for bit in range(8):
        if part[0] & 1 << bit:
            yield Area((8 * at + bit) * wide, (8 * at + bit + 1) * wide)
