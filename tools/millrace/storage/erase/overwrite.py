# SPDX-License-Identifier: Apache-2.0
"""A drive that is erased by writing zeros over all of it and reading them back, past every cache of this server."""

import fcntl
import hashlib
import mmap
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from millrace.inventory.surface import ERASE_MARK, MARK_SIZE, WINDOW, ZEROS
from millrace.system.errors import Failed, Refused

CHUNK = WINDOW
BLKDISCARD = 0x1277
"""linux/fs.h: _IO(0x12, 119); the range in bytes, offset and length."""
SMALLEST = 2 * WINDOW
"""Bytes that a drive must have."""
SAMPLES = 128
SAMPLE = 16 * MARK_SIZE

Report = Callable[[str, int, int], None]
"""Gets what is done, and bytes done of all."""


class RawDrive:
    """A drive of `size` bytes that nobody else may use while it is open."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self.size = size
        # O_DIRECT takes memory that begins at a page
        self._zeros, self._read = mmap.mmap(-1, CHUNK), mmap.mmap(-1, CHUNK)

    def mark(self, mark: bytes = ERASE_MARK) -> None:
        """Write the mark of an interrupted erase, or another one, to both ends. Failed: the drive cannot be written."""
        with mmap.mmap(-1, MARK_SIZE) as page:
            page[: len(mark)] = mark
            for offset in (0, self.size - MARK_SIZE):
                self.write(page, offset, MARK_SIZE)
        self.flush()

    def overwrite(self, report: Report) -> None:
        """Write zeros and read them back; the marks at both ends are the last to go.

        Failed: the drive cannot be written or read, or returns something else than zeros.
        """
        start, end = WINDOW, self.size - WINDOW
        total, done = 2 * self.size, 0
        # the tail before the head, which the inventory reads first
        for begin, until in ((start, end), (end, self.size), (0, start)):
            for what, step in (("writing zeros", self.zero), ("reading back", self.verify)):
                for offset, length in _chunks(begin, until):
                    step(offset, length)
                    done += length
                    report(what, done, total)
                os.fsync(self._descriptor)

    def clear_ends(self) -> None:
        """Write zeros to both ends of a drive that erased itself, and read them back. Failed: as for `overwrite`."""
        for offset in (self.size - WINDOW, 0):
            self.zero(offset, WINDOW)
            os.fsync(self._descriptor)
            self.verify(offset, WINDOW)

    def samples(self) -> Mapping[int, bytes]:
        """Return digests of what stands at places all over the drive, the marks included, where there are no zeros.

        Failed: the drive cannot be read.
        """
        step = (self.size - SAMPLE) // (SAMPLES - 1) // MARK_SIZE * MARK_SIZE
        places = {*range(0, self.size - SAMPLE, step), self.size - SAMPLE}
        read = {place: self.read(place, SAMPLE) for place in sorted(places)}
        return {place: hashlib.sha256(data).digest() for place, data in read.items() if data != ZEROS[:SAMPLE]}

    def zero(self, offset: int, length: int) -> None:
        """Write zeros, CHUNK bytes at most. Failed: the drive cannot be written."""
        self.write(self._zeros, offset, length)

    def write(self, data: mmap.mmap, offset: int, length: int) -> None:
        """Write the first `length` bytes of `data`. Failed: the drive cannot be written."""
        written = 0
        try:
            while written < length:
                with memoryview(data) as view, view[written:length] as rest:
                    written += os.pwrite(self._descriptor, rest, offset + written)
        except OSError as error:
            raise Failed(f"the drive cannot be written at byte {offset} ({error.strerror})") from error

    def verify(self, offset: int, length: int) -> None:
        """Verify that zeros are there, CHUNK bytes at most. Failed: the drive cannot be read, or has something else."""
        if self.read(offset, length) != ZEROS[:length]:
            raise Failed(f"zeros were written at byte {offset} and the drive returns something else")

    def flush(self) -> None:
        """Have the drive write its cache. Failed: it cannot."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise Failed(f"the drive cannot flush its cache ({error.strerror})") from error

    def discard(self, offset: int, length: int) -> bool:
        """Trim; return whether the drive took it."""
        try:
            fcntl.ioctl(self._descriptor, BLKDISCARD, struct.pack("=QQ", offset, length))
        except OSError:
            return False
        return True

    def read(self, offset: int, length: int) -> bytes:
        """Return CHUNK bytes at most, past the cache of this server. Failed: the drive cannot be read."""
        read = 0
        try:
            while read < length:
                with memoryview(self._read) as view, view[read:length] as rest:
                    count = os.preadv(self._descriptor, [rest], offset + read)
                if count == 0:
                    raise Failed(f"the drive ended at byte {offset + read}")
                read += count
        except OSError as error:
            raise Failed(f"the drive cannot be read at byte {offset} ({error.strerror})") from error
        return self._read[:length]


@contextmanager
def exclusively(device: Path, size: int) -> Iterator[RawDrive]:
    """Open a drive for writing past the cache, while nobody else has it. Refused: it is in use, or has another size."""
    try:
        descriptor = os.open(device, os.O_RDWR | os.O_EXCL | os.O_DIRECT | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(f"{device} cannot be opened exclusively ({error.strerror}); nothing was written") from error
    try:
        actual = os.lseek(descriptor, 0, os.SEEK_END)
        if actual != size:
            raise Refused(f"{device} has {actual} bytes and not {size}; nothing was written")
        yield RawDrive(descriptor, size)
    finally:
        os.close(descriptor)


def _chunks(begin: int, until: int) -> Iterator[tuple[int, int]]:
    for offset in range(begin, until, CHUNK):
        yield offset, min(CHUNK, until - offset)
