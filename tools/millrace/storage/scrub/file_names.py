# SPDX-License-Identifier: Apache-2.0
"""Inodes of the pool become names of files: by parent pointers, else by reading every directory.

Parent pointers take as long as there are inodes to name, and a directory is a file like others. A pool that was made
by another mkfs.xfs may have none (health reports it): then 10⁸ files are more than can be searched in the time.
"""

import os
import stat
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millrace.system import paths, xfs
from millrace.system.errors import Failed
from millrace.system.inode_names import TRIES, InodeNames, Named
from millrace.system.text import printable_name
from millrace.system.trees import nofollow
from millrace.system.trees.descend import below
from millrace.system.trees.walk import WRITTEN, opened_files, regular_files

LIMIT = 600.0
"""Seconds for the search."""

MOST = 100
"""How many names of a file are listed; a client can give it 2³¹."""

NOTED = 10
"""How many files with more names than that are named."""

UNFINISHED = "the search for names ended after 10 minutes"
WALKED = (
    "the search did not cover all files: the file system has no parent pointers, and not all of its directories could "
    "be read within 10 minutes"
)

_OWN = os.fsencode(paths.POOL_OWN)


@dataclass
class FileNames:
    """Names of regular files by inode, relative to the pool; control characters are escaped.

    `others` is what is not a file of a client, or has no name, in words; `notes` is what is not listed, in sentences.
    `complete` is false where the time was too short. No more than `most` names are kept, and no more than that of
    `others`; `count` names were found, and `more_others` are not kept. `many` have more names than are listed.
    """

    files: dict[int, list[str]] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    complete: bool = True
    most: int = sys.maxsize
    count: int = 0
    more_others: int = 0
    many: int = 0

    def add(self, inode: int, found: Sequence[str]) -> None:
        """Add names of a file."""
        kept = found[: max(self.most - self.count, 0)]
        self.count += len(found)
        if kept:
            self.files.setdefault(inode, []).extend(kept)

    def add_other(self, found: str) -> None:
        """Add what is not a file of a client."""
        if len(self.others) < self.most:
            self.others.append(found)
        else:
            self.more_others += 1

    def add_many(self, found: str) -> None:
        """Add a file that has more names than are listed."""
        self.many += 1
        if self.many <= NOTED:
            self.notes.append(found)


def names(top: Path, inodes: Collection[int], most: int = sys.maxsize) -> FileNames:
    """Search for the names of inodes of the file system that is mounted at `top`; keep `most` of them.

    Failed: it cannot be opened.
    """
    file_names = FileNames(most=most)
    if not inodes:
        return file_names
    with nofollow.directory(top) as directory:
        if _has_parents(directory):
            return _by_parents(directory, sorted(inodes), file_names)
    return _by_walk(top, inodes, file_names)


def opened(top: Path, inodes: Collection[int]) -> Iterator[tuple[str, int]]:
    """Yield each regular file of a client that is one of these inodes: a printable name, and a descriptor to write.

    The descriptor is closed after the next step. A file that cannot be opened, or is removed meanwhile, is none.
    Without parent pointers a file comes once for each of its names. Failed: the file system cannot be opened.
    """
    with nofollow.directory(top) as directory:
        if not _has_parents(directory):
            yield from opened_files(top, paths.POOL_OWN, inodes)
            return
        reader = InodeNames(directory)
        for number in sorted(inodes):
            file = _open(directory, reader, number)
            if file is None:
                continue
            name, descriptor = file
            try:
                yield name, descriptor
            finally:
                os.close(descriptor)


def _open(top: int, reader: InodeNames, number: int) -> tuple[str, int] | None:
    """A file by one of its names, each step without following a link; its names may change between the steps."""
    for _ in range(TRIES):
        try:
            named = reader.named(number, MOST)
        except OSError:
            return None
        for path in named.paths if named is not None else []:
            if _is_own(path):
                continue
            *above, name = os.fsdecode(path).split("/")
            try:
                with below(top, above) as directory:
                    descriptor = os.open(name, WRITTEN, dir_fd=directory)
            except (OSError, Failed):
                continue
            held = os.fstat(descriptor)
            if stat.S_ISREG(held.st_mode) and (held.st_ino, held.st_dev) == (number, os.fstat(top).st_dev):
                return printable_name(path), descriptor
            os.close(descriptor)
        reader.forget()
    return None


def _is_own(path: bytes) -> bool:
    return path == _OWN or path.startswith(_OWN + b"/")


def _has_parents(top: int) -> bool:
    try:
        return bool(xfs.features(top) & xfs.PARENT)
    except OSError:
        return False


def _by_parents(top: int, inodes: list[int], file_names: FileNames) -> FileNames:
    reader, end = InodeNames(top), time.monotonic() + LIMIT
    for at, number in enumerate(inodes):
        if time.monotonic() > end:
            left = len(inodes) - at
            file_names.notes.append(f"{UNFINISHED}: {left} inode{'s have' if left > 1 else ' has'} no name yet")
            file_names.complete = False
            break
        try:
            named = reader.named(number, MOST)
        except OSError as error:
            file_names.add_other(f"inode {number}, whose name cannot be read ({error.strerror or error})")
            continue
        if named is not None:
            _sort(named, file_names)
    if file_names.many > NOTED:
        file_names.notes.append(f"{file_names.many - NOTED} more have more than {MOST} names each")
    return file_names


def _sort(named: Named, file_names: FileNames) -> None:
    number, mode = named.inode.handle.number, named.inode.mode
    what = "file" if stat.S_ISREG(mode) else "directory" if stat.S_ISDIR(mode) else "special file"
    what = "symbolic link" if stat.S_ISLNK(mode) else what
    shown = [(printable_name(path), _is_own(path)) for path in named.paths]
    clients = [name for name, own in shown if not own]
    if stat.S_ISREG(mode) and clients:
        file_names.add(number, clients)
    for name, own in shown:
        if own or not stat.S_ISREG(mode):
            file_names.add_other(f"{what} of the server {name}" if own else f"{what} {name}")
    if named.more and shown:
        file_names.add_many(f"{shown[0][0]} has {named.inode.links} names, of which {len(shown)} are listed")
    if named.problem:
        file_names.add_other(f"{what} with inode {number}, which {named.problem}")


def _by_walk(top: Path, inodes: Collection[int], file_names: FileNames) -> FileNames:
    missing, end = set(inodes), time.monotonic() + LIMIT
    for name, held in regular_files(top, paths.POOL_OWN):
        if name is None or held is None or time.monotonic() > end:
            file_names.notes.append(WALKED)
            file_names.complete = False
            break
        if held.st_ino in inodes:
            file_names.add(held.st_ino, [name])
            missing.discard(held.st_ino)
    for inode in sorted(missing):
        file_names.add_other(f"inode {inode}: a directory, a file of the server, or removed meanwhile")
    return file_names
