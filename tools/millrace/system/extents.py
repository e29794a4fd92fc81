# SPDX-License-Identifier: Apache-2.0
"""Whether two files have the same content: those that share all their blocks do, and need not be read.

linux/fiemap.h: FS_IOC_FIEMAP is _IOWR('f', 11, struct fiemap), whose struct fiemap_extent follow it.
"""

import fcntl
import os
import struct
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

_FIEMAP = 0xC020660B
# fm_start, fm_length, fm_flags, fm_mapped_extents, fm_extent_count, fm_reserved
_REQUEST = struct.Struct("=QQIIII")
# fm_mapped_extents
_COUNT = struct.Struct("=20xI")
# fe_logical, fe_physical, fe_length, fe_reserved64, fe_flags, fe_reserved
_EXTENT = struct.Struct("=QQQ16xI12x")
_ALL = (1 << 64) - 1
# what is written is on the drives first, so that it has blocks
_SYNC = 1
_LAST = 1
# FIEMAP_EXTENT_UNKNOWN, DELALLOC, ENCODED, DATA_ENCRYPTED, NOT_ALIGNED, DATA_INLINE, DATA_TAIL: its place says nothing
_PLACELESS = 0x2 | 0x4 | 0x8 | 0x80 | 0x100 | 0x200 | 0x400
# FIEMAP_EXTENT_UNWRITTEN reads as zeros wherever it is
_UNWRITTEN = 0x800
_AT_ONCE = 512
_READ = 1 << 20

Extent = tuple[int, int, int]
"""Offset in a file, place on its device, length, in bytes."""


class ExtentsUnknown(Exception):
    """A file system does not say where the blocks of a file are."""


def same_content(left: int, right: int) -> bool:
    """Whether two open files have the same content; read only where they do not share all blocks.

    OSError: one of them cannot be read.
    """
    size = os.fstat(left).st_size
    if size != os.fstat(right).st_size:
        return False
    try:
        ours, theirs = extents(left), extents(right)
    except ExtentsUnknown:
        return _equal(left, right, 0, size)
    return all(_equal(left, right, offset, length) for offset, length, _ in unshared(ours, theirs))


def unshared(ours: list[Extent], theirs: list[Extent]) -> Iterator[tuple[int, int, bool]]:
    """Yield what two files do not share: offset, length, and whether the second one has blocks there.

    What neither of them has reads as zeros, and a client makes a file of exabytes of it.
    """
    ends = sorted({end for offset, _, length in (*ours, *theirs) for end in (offset, offset + length)})
    for offset, end in pairwise(ends):
        place = _place_at(theirs, offset)
        if _place_at(ours, offset) != place:
            yield offset, end - offset, place is not None


def _place_at(mapped: list[Extent], offset: int) -> int | None:
    """Where a byte of a file is; None where nothing was written."""
    before = bisect_right(mapped, offset, key=lambda extent: extent[0]) - 1
    if before < 0:
        return None
    start, place, length = mapped[before]
    return place + offset - start if offset < start + length else None


def extents(descriptor: int) -> list[Extent]:
    """Return where the blocks of an open file are: offset, place on the device, length in bytes, by offset.

    Neighbours are one extent, and what was never written is none. ExtentsUnknown: the file system does not say.
    """
    mapped, start, more = list[Extent](), 0, True
    while more:
        batch = _mapped(descriptor, start)
        for offset, place, length, flags in batch:
            if flags & _PLACELESS:
                raise ExtentsUnknown
            start = offset + length
            if flags & _UNWRITTEN:
                continue
            if mapped and _follows(mapped[-1], offset, place):
                before = mapped.pop()
                mapped.append((before[0], before[1], before[2] + length))
            else:
                mapped.append((offset, place, length))
        more = bool(batch) and not batch[-1][3] & _LAST
    return mapped


def _mapped(descriptor: int, start: int) -> list[tuple[int, int, int, int]]:
    """Return the next extents of an open file from an offset on, as the kernel has them."""
    asked = bytearray(_REQUEST.pack(start, _ALL - start, _SYNC, 0, _AT_ONCE, 0) + bytes(_AT_ONCE * _EXTENT.size))
    try:
        fcntl.ioctl(descriptor, _FIEMAP, asked)
    except OSError as error:
        raise ExtentsUnknown from error
    (count,) = _COUNT.unpack_from(asked)
    return [_EXTENT.unpack_from(asked, _REQUEST.size + number * _EXTENT.size) for number in range(count)]


def _follows(before: Extent, offset: int, place: int) -> bool:
    return before[0] + before[2] == offset and before[1] + before[2] == place


def _equal(left: int, right: int, offset: int, length: int) -> bool:
    """Whether a range of two files has the same content; they may end in it."""
    end = offset + length
    same, more = True, True
    while same and more and offset < end:
        ours, theirs = (os.pread(descriptor, min(_READ, end - offset), offset) for descriptor in (left, right))
        same, more = ours == theirs, bool(ours)
        offset += len(ours)
    return same
