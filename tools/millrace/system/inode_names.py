# SPDX-License-Identifier: Apache-2.0
"""The paths of an inode by the parent pointers of XFS, up to the root, while clients rename and remove.

A path is what the directories had when each was read: nothing is opened by it.
"""

import errno
from typing import NamedTuple

from millrace.system import xfs
from millrace.system.text import printable_name
from millrace.system.xfs import Handle, Inode, InodeLink

LONGEST = 4096
"""Bytes of a path (PATH_MAX): clients of NFS nest directories as deep as they like."""

TRIES = 5
"""How often the way up is read again after a directory on it was moved or removed."""

KEPT = 100_000
"""Directories that are kept: clients make more than there is memory."""

RENAMED = "is being renamed or removed, or a directory above it is"

_ENDING = 200


class Named(NamedTuple):
    """An inode with its paths relative to the root of the file system, fewer than it has where `more`.

    `problem` is why a path is missing, a clause without its subject.
    """

    inode: Inode
    paths: list[bytes]
    more: bool = False
    problem: str | None = None


class _Moved(Exception):
    """A directory on the way up has another place by now, or is gone."""


class _TooLong(Exception):
    """The path is longer than LONGEST."""


class InodeNames:
    """The names of inodes of the file system of `top`, an open directory. Directories are read once, up to KEPT."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._above: dict[Handle, InodeLink | None] = {}

    def named(self, number: int, most: int) -> Named | None:
        """Return an inode with `most` of its paths; None where the number is of no inode that has a name.

        OSError: the inode cannot be read.
        """
        named_inode: Named | None = None
        for _ in range(TRIES):
            inode = xfs.inode(self._top, number)
            if inode is None or inode.links == 0:
                return None
            named_inode = self._named(inode, most)
            if named_inode.problem != RENAMED:
                return named_inode
            self.forget()
        return named_inode

    def forget(self) -> None:
        """Read the directories again: what is known of them may be what has changed."""
        self._above.clear()

    def _named(self, inode: Inode, most: int) -> Named:
        try:
            read = xfs.parents(self._top, inode.handle, most)
        except OSError as error:
            if error.errno != errno.ESTALE:
                raise
            return Named(inode, [], problem=RENAMED)
        if read.is_root:
            return Named(inode, [b"."])
        problem = None if read.links else RENAMED
        paths = list[bytes]()
        for link in read.links:
            try:
                paths.append(self._path(link))
            except _Moved:
                problem = RENAMED
            except _TooLong as error:
                problem = problem or str(error)
        return Named(inode, paths, read.more, problem)

    def _path(self, link: InodeLink) -> bytes:
        names, seen, length = [link.name], set[Handle](), len(link.name)
        above = self._link(link.directory)
        while above is not None:
            # clients that rename meanwhile may show a circle, which there never is
            if link.directory in seen:
                raise _Moved
            seen.add(link.directory)
            link = above
            names.append(link.name)
            length += 1 + len(link.name)
            if length > LONGEST:
                end = printable_name(b"/".join(reversed(names))[-_ENDING:])
                raise _TooLong(f"has a path of more than {LONGEST} bytes that ends in {end}")
            above = self._link(link.directory)
        return b"/".join(reversed(names))

    def _link(self, directory: Handle) -> InodeLink | None:
        """The name of a directory, which has one; None for the root."""
        if directory not in self._above:
            if len(self._above) >= KEPT:
                self.forget()
            try:
                read = xfs.parents(self._top, directory, 1)
            except OSError as error:
                if error.errno == errno.ESTALE:
                    raise _Moved from error
                raise
            if not read.is_root and not read.links:
                raise _Moved
            self._above[directory] = None if read.is_root else read.links[0]
        return self._above[directory]
