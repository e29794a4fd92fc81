# SPDX-License-Identifier: Apache-2.0
"""Two servers in one directory: a tree of a source with its list, and what is built of it."""

import io
import os
import random
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from millrace.protect.replica import file_list
from millrace.protect.replica.file_list import FileList, FileListHeader, ListedEntry, OwnerNames, SourceShare
from millrace.protect.replica.tree_build import BaseTree, Built, TreeBuild
from millrace.system.extents import Extent

UNIT = 4096
HEADER = FileListHeader(id="7", share="data", name="20261130T110000Z-hourly", settings=SourceShare(type="mixed"))


def places(opened: int) -> list[Extent]:
    """Where the blocks of a file would be, if equal blocks were shared: a place for each content; zeros are a hole."""
    mapped = []
    for offset in range(0, os.fstat(opened).st_size, UNIT):
        block = os.pread(opened, UNIT, offset)
        if block.strip(b"\0"):
            place = int.from_bytes(blake2b(block, digest_size=6).digest()) * UNIT
            mapped.append((offset, place, UNIT))
    return mapped


def copy_blocks(source: int, target: int) -> None:
    """Stand in for a reflink, which tmpfs does not know; strict: a target with content is replaced."""
    os.ftruncate(target, 0)
    os.pwrite(target, os.pread(source, os.fstat(source).st_size, 0), 0)


@dataclass
class Pair:
    """A source, and what was built of its states, one directory each."""

    top: Path
    built: int = 0
    bases: list[tuple[Path, bytes]] = field(default_factory=list)

    @property
    def source(self) -> Path:
        return self.top / "source"

    @property
    def target(self) -> Path:
        return self.top / f"target{self.built}"

    def text(self) -> bytes:
        """Return the list of the source as it is now."""
        path = self.top / file_list.FILE_LIST
        with opened(self.source) as tree:
            file_list.write(tree, HEADER, path, OwnerNames({os.getuid(): "ann"}, {}))
        return path.read_bytes()

    def build(
        self, text: bytes, full: bool = True, is_exact: bool = True, tick: Callable[[Built], None] = lambda _: None
    ) -> Built:
        """Build what the list says, from the last complete tree; what was begun goes on."""
        for directory in (self.target, self.top / "parts"):
            directory.mkdir(exist_ok=True)
        with ExitStack() as stack:
            source, target, parts = (
                stack.enter_context(opened(path)) for path in (self.source, self.target, self.top / "parts")
            )
            bases = [
                BaseTree(stack.enter_context(opened(path)), list(entries(base)), is_exact) for path, base in self.bases
            ]
            build = TreeBuild(source, target, parts, bases, tick, copy_blocks, random.Random(7))
            return build.run(entries(text), full)

    def keep(self, text: bytes) -> None:
        """Let what was built be the base of the next build."""
        self.bases = [(self.target, text)]
        self.built += 1


@contextmanager
def opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def entries(text: bytes) -> Iterator[ListedEntry]:
    yield from FileList(io.BytesIO(text), "files.gz").entries()


def states(top: Path) -> dict[str, tuple[object, ...]]:
    """What is in a tree, by name: all that a replica keeps, with which names are one file."""
    held: dict[str, tuple[object, ...]] = {}
    inodes: dict[int, str] = {}
    for path in sorted([top, *top.rglob("*")], key=os.fsencode):
        state = path.lstat()
        name = str(path.relative_to(top))
        first = inodes.setdefault(state.st_ino, name)
        content: object = None
        if stat.S_ISREG(state.st_mode):
            content = path.read_bytes()
        elif path.is_symlink():
            content = os.readlink(path)
        attributes = {
            key: os.getxattr(path, key, follow_symlinks=False) for key in os.listxattr(path, follow_symlinks=False)
        }
        held[name] = (state.st_mode, state.st_uid, state.st_gid, state.st_mtime_ns, content, first, attributes)
    return held
