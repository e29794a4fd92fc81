# SPDX-License-Identifier: Apache-2.0
"""Two files that share all their blocks are equal without being read."""

import errno
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from millrace.system import extents
from millrace.system.extents import same_content

KIB = 1 << 10
LAST, UNWRITTEN, DELALLOC = 0x1, 0x800, 0x4
Mapped = tuple[int, int, int, int]


@dataclass
class Fiemap:
    """Answers as the kernel does (fs/ioctl.c, ioctl_fiemap): what was asked for from an offset on, so many at once."""

    of: dict[int, list[Mapped]]
    at_once: int = 2
    asked: list[int] = field(default_factory=list)

    def ioctl(self, descriptor: int, request: int, argument: bytearray) -> int:
        assert request == 0xC020660B
        start, length, flags, mapped, room, reserved = struct.unpack_from("=QQIIII", argument)
        assert (flags, mapped, reserved) == (1, 0, 0) and start + length <= 1 << 64
        assert len(argument) == 32 + 56 * room and not any(argument[32:])
        self.asked.append(start)
        inode = os.fstat(descriptor).st_ino
        if inode not in self.of:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        now = [each for each in self.of[inode] if each[0] + each[2] > start][: min(self.at_once, room)]
        for number, (offset, place, size, kind) in enumerate(now):
            last = LAST if (offset, place, size, kind) == self.of[inode][-1] else 0
            struct.pack_into("=QQQ16xI12x", argument, 32 + 56 * number, offset, place, size, kind | last)
        struct.pack_into("=I", argument, 20, len(now))
        return 0


@dataclass
class Pair:
    """Two files of the same size, and where their blocks are."""

    paths: tuple[Path, Path]
    kernel: Fiemap

    def place(self, left: list[Mapped], right: list[Mapped]) -> None:
        for path, mapped in zip(self.paths, (left, right), strict=True):
            self.kernel.of[path.stat().st_ino] = mapped

    def same(self) -> bool:
        left, right = (os.open(path, os.O_RDONLY) for path in self.paths)
        try:
            return same_content(left, right)
        finally:
            os.close(left)
            os.close(right)


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pair:
    kernel = Fiemap({})
    monkeypatch.setattr(extents.fcntl, "ioctl", kernel.ioctl)
    paths = tmp_path / "left", tmp_path / "right"
    # what blocks say is not what reading says: so it is known which of both was asked
    paths[0].write_bytes(b"a" * 12 * KIB)
    paths[1].write_bytes(b"b" * 12 * KIB)
    return Pair(paths, kernel)


def test_files_that_share_all_blocks_are_not_read(pair: Pair) -> None:
    three = [(0, 64 * KIB, 4 * KIB, 0), (4 * KIB, 0, 4 * KIB, 0), (8 * KIB, 4 * KIB, 4 * KIB, 0)]
    pair.place(three, three)
    assert pair.same()
    # after two extents it goes on where they end
    assert pair.kernel.asked == [0, 8 * KIB] * 2


def test_neighbours_are_one_extent_and_what_was_never_written_is_none(pair: Pair) -> None:
    pair.place(
        [(0, 64 * KIB, 4 * KIB, 0), (4 * KIB, 68 * KIB, 4 * KIB, 0), (8 * KIB, 0, 4 * KIB, UNWRITTEN)],
        [(0, 64 * KIB, 8 * KIB, 0)],
    )
    assert pair.same()


def test_file_with_a_block_of_its_own_is_read(pair: Pair) -> None:
    pair.place([(0, 64 * KIB, 12 * KIB, 0)], [(0, 96 * KIB, 12 * KIB, 0)])
    assert not pair.same()
    pair.paths[1].write_bytes(b"a" * 12 * KIB)
    assert pair.same()


def test_only_what_is_written_in_one_of_both_is_read(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[tuple[int, int]]()
    pread = os.pread

    def noted(descriptor: int, length: int, offset: int) -> bytes:
        read.append((offset, length))
        return pread(descriptor, length, offset)

    monkeypatch.setattr(extents.os, "pread", noted)
    for path in pair.paths:
        os.truncate(path, 0)
        # as large as tmpfs and XFS take it: read to its end, it would take years
        os.truncate(path, (1 << 62))
    shared = (1 << 40, 1 << 30, 64 * KIB, 0)
    behind = (1 << 40) + 8 * KIB, (1 << 30) + 8 * KIB, 56 * KIB, 0
    pair.place([shared], [(8 * KIB, 0, 4 * KIB, 0), (1 << 40, 0, 8 * KIB, 0), behind])
    # of an extent that was split, what is still shared is not read
    assert pair.same() and set(read) == {(8 * KIB, 4 * KIB), (1 << 40, 8 * KIB)}


def test_place_that_says_nothing_is_no_proof(pair: Pair) -> None:
    pair.place([(0, 0, 12 * KIB, DELALLOC)], [(0, 0, 12 * KIB, DELALLOC)])
    assert not pair.same()


def test_file_system_that_says_nothing_has_its_files_read(pair: Pair) -> None:
    assert not pair.same()
    pair.paths[1].write_bytes(b"a" * 12 * KIB)
    assert pair.same()


def test_files_of_two_sizes_differ(pair: Pair) -> None:
    pair.place([(0, 64 * KIB, 12 * KIB, 0)], [(0, 64 * KIB, 12 * KIB, 0)])
    pair.paths[1].write_bytes(b"a" * 11 * KIB)
    assert not pair.same()
