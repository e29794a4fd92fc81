# SPDX-License-Identifier: Apache-2.0
"""Which blocks of a device files have, in the files of a box: as seen with XFS of kernel 6.18, by `xfs_io -c fsmap`."""

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from millrace.storage.scrub import remap
from millrace.system import reflink
from millrace.system.run import Result

BLOCK, BYTES = 8, 4096
SIZE = 4096
"""Blocks of the device."""


class Xfs:
    """Blocks by their number, with the inode and the offset of each owner. Metadata has the inode 0."""

    def __init__(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.top = top
        self.owners: dict[int, set[tuple[int, int]]] = {}
        self.unreadable: set[int] = set()
        self.open_elsewhere = False
        self.asked: list[str] = []
        self._next = SIZE - 1
        self._pread = os.pread
        self._unlink = os.unlink
        monkeypatch.setattr(os, "pread", self.pread)
        monkeypatch.setattr(os, "unlink", self.unlink)
        for name in ("dedupe", "preallocate", "punch"):
            monkeypatch.setattr(remap, name, getattr(self, name))
        monkeypatch.setattr(reflink, "clone_range", self.clone)
        monkeypatch.setattr(remap, "alone", lambda file: Alone(not self.open_elsewhere))

    def file(self, name: str, blocks: Sequence[int], size: int | None = None) -> bytes:
        """Make a file that has these blocks; return what is in it."""
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = os.urandom(len(blocks) * BYTES if size is None else size)
        path.write_bytes(content)
        for number, block in enumerate(blocks):
            self._add(block, path.stat().st_ino, number * BYTES)
        return content

    def metadata(self, block: int) -> None:
        self._add(block, 0, 0)

    def of(self, sector: int) -> set[str]:
        """The names of those who have a sector."""
        names = {path.stat().st_ino: str(path.relative_to(self.top)) for path in self.top.rglob("*")}
        return {names[inode] for inode, _ in self.owners.get(sector // BLOCK, set())}

    def fsmap(self, asked: str, mountpoint: str) -> Result:
        self.asked.append(asked)
        command, device, begin, end = asked.split()
        assert (command, device, mountpoint) == ("fsmap", "-d", "/srv/pool")
        rows = list(self._rows(int(begin) // BLOCK, int(end) // BLOCK + 1))
        return Result(0, "".join(f"\t{at}: 9:127 {row}\n" for at, row in enumerate(rows)), "")

    def clone(self, source: int, offset: int, length: int, target: int, at: int) -> None:
        assert offset % BYTES == at % BYTES == 0 and 0 < length <= BYTES
        assert length == BYTES or offset + length == os.fstat(source).st_size
        os.ftruncate(target, at + length)
        block = self._block(os.fstat(source).st_ino, offset)
        if block is not None:
            self._add(block, os.fstat(target).st_ino, at)

    def dedupe(self, source: int, offset: int, length: int, target: int, at: int) -> bool:
        if self._pread(source, length, offset) != self._pread(target, length, at):
            return False
        mine, other = os.fstat(source).st_ino, os.fstat(target).st_ino
        if (block := self._block(mine, offset)) is None:
            block, self._next = self._next, self._next - 1
            self._add(block, mine, offset)
        self._drop(other, at)
        self._add(block, other, at)
        return True

    def preallocate(self, file: int, offset: int, length: int) -> None:
        inode = os.fstat(file).st_ino
        for at in range(offset, offset + length, BYTES):
            before = self._block(inode, at - BYTES)
            assert before is not None
            if self.owners.get(before + 1):
                raise OSError(errno.ENOSPC, "No space left on device")
            self._add(before + 1, inode, at)
        os.ftruncate(file, offset + length)

    def punch(self, file: int, offset: int, length: int) -> None:
        inode, size = os.fstat(file).st_ino, os.fstat(file).st_size
        for at in range(offset, offset + length, BYTES):
            self._drop(inode, at)
        os.pwrite(file, bytes(max(min(offset + length, size) - offset, 0)), offset)

    def pread(self, file: int, length: int, offset: int) -> bytes:
        if self._block(os.fstat(file).st_ino, offset) in self.unreadable:
            raise OSError(errno.EIO, "Input/output error")
        return self._pread(file, length, offset)

    def unlink(self, path: str | Path) -> None:
        inode = os.stat(path).st_ino
        self._unlink(path)
        for owners in self.owners.values():
            owners -= {one for one in owners if one[0] == inode}

    def _rows(self, begin: int, end: int) -> Iterator[str]:
        free = begin
        for block in sorted(block for block, owners in self.owners.items() if owners and begin <= block < end):
            if free < block:
                yield f"[{free * BLOCK}..{block * BLOCK - 1}]: free space 8"
            free = block + 1
            place = f"[{block * BLOCK}..{block * BLOCK + BLOCK - 1}]"
            for inode, offset in sorted(self.owners[block]):
                data = f"inode {inode} data {offset // 512}..{offset // 512 + 7} 8"
                yield f"{place}: {data if inode else 'inode btree 8'}"
        if free < end:
            yield f"[{free * BLOCK}..{end * BLOCK - 1}]: free space 8"

    def _block(self, inode: int, offset: int) -> int | None:
        return next((block for block, owners in self.owners.items() if (inode, offset) in owners), None)

    def _add(self, block: int, inode: int, offset: int) -> None:
        self.owners.setdefault(block, set()).add((inode, offset))

    def _drop(self, inode: int, offset: int) -> None:
        for owners in self.owners.values():
            owners.discard((inode, offset))


class Alone:
    """A lease, or none where a client has the file open."""

    def __init__(self, granted: bool) -> None:
        self._granted = granted

    def __enter__(self) -> bool:
        return self._granted

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""
