# SPDX-License-Identifier: Apache-2.0
"""The log of what was written to a drive, as QEMU's blklogwrites keeps it: the format of Linux' dm-log-writes.

The superblock's count is not used: QEMU brings it up to date at flushes only.
"""

import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from millrace.system.errors import BadInput
from vm.qemu import SECTOR

MAGIC = 0x6A736677736872
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
SUPERBLOCK = struct.Struct("<QQQI")
HEADER = struct.Struct("<QQQQ")


@dataclass(frozen=True)
class Entry:
    """One request: `count` sectors of 512 bytes from `sector`; its data is at byte `data` of the log."""

    sector: int
    count: int
    flags: int
    data: int

    @property
    def flush(self) -> bool:
        """Whether this is a flush, which has no sectors."""
        return bool(self.flags & FLUSH)

    @property
    def discard(self) -> bool:
        """Whether the sectors were deallocated, which QEMU's drives read as zeros; there is no data."""
        return bool(self.flags & DISCARD)


@dataclass(frozen=True)
class Part:
    """Sectors of an entry that are on the drive: `count` of them from the entry's sector number `first`."""

    entry: Entry
    first: int
    count: int


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read(path: Path) -> list[Entry]:
    """Return the entries of a log in their order, without a last one that is not complete.

    BadInput: the file is no log.
    """
    with _opened(path, os.O_RDONLY) as file:
        size = os.fstat(file).st_size
        if size == 0:
            return []
        first = os.pread(file, SUPERBLOCK.size, 0).ljust(SUPERBLOCK.size, b"\0")
        magic, version, _, sector = SUPERBLOCK.unpack(first)
        # it comes with the first flush
        if (magic, version, sector) not in {(MAGIC, 1, SECTOR), (0, 0, 0)}:
            raise BadInput(f"{path} is no log of writes with sectors of {SECTOR} bytes.")
        return list(_entries(file, size))


def _entries(file: int, size: int) -> Iterator[Entry]:
    place = SECTOR
    while place + SECTOR <= size:
        sector, count, flags, _ = HEADER.unpack(os.pread(file, HEADER.size, place))
        data = place + SECTOR
        place = data if flags & DISCARD else data + count * SECTOR
        # a request that was under way has its place, but nothing there
        if place > size or not (count or flags):
            return
        if not flags & MARK:
            yield Entry(sector, count, flags, data)


def replay(log: Path, parts: Iterable[Part], drive: Path) -> None:
    """Write parts of a log's entries, in the order given, to the raw file of a drive."""
    with _opened(log, os.O_RDONLY) as source, _opened(drive, os.O_WRONLY) as target:
        for part in parts:
            length = part.count * SECTOR
            if part.entry.discard:
                content = bytes(length)
            else:
                content = os.pread(source, length, part.entry.data + part.first * SECTOR)
            os.pwrite(target, content, (part.entry.sector + part.first) * SECTOR)
