# SPDX-License-Identifier: Apache-2.0
"""Copy of a tree of another server into a directory that clients write; copied again, it goes on where it was.

A file has its name when it is complete: until then it has one of root's, which says what version of the source it is.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from millrace.system.errors import Failed
from millrace.system.text import shown
from millrace.system.trees import nofollow
from millrace.system.trees.descend import entries
from millrace.system.trees.opener import Opener, Place

BLOCK = 1 << 20
PARTIAL = ".millrace-copy-"
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass
class Copied:
    """How far a copy is: entries and bytes that are in place, those of them that were already, and what is not copied.

    `unreadable`: the source server does not let this one read them; `changed`: they changed while they were read;
    `skipped`: devices, pipes and sockets.
    """

    entries: int = 0
    bytes: int = 0
    kept: int = 0
    unreadable: int = 0
    changed: int = 0
    skipped: int = 0


def count(source: int, tick: Callable[[], None], total: Copied) -> None:
    """Count entries and bytes of a tree into `total`. OSError: the source refuses."""
    waiting = [Place()]
    with Opener(source) as opener:
        while waiting:
            path = waiting.pop()
            total.entries += 1
            with suppress(PermissionError, Failed), opener.below(path) as directory:
                for name, held in entries(directory):
                    if stat.S_ISDIR(held.st_mode):
                        waiting.append(Place(path, name))
                        continue
                    total.entries += 1
                    total.bytes += held.st_size if stat.S_ISREG(held.st_mode) else 0
                    tick()


@dataclass
class TreeCopy:
    """Copies what the directory `source` holds into the directory `target`; `tick` is called after each block."""

    source: int
    target: int
    tick: Callable[[], None]
    done: Copied = field(default_factory=Copied)
    _linked: dict[int, tuple[Place, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._sources, self._targets = Opener(self.source), Opener(self.target)

    def run(self) -> Copied:
        """Copy everything. OSError: source or target refuse; what is complete stays, and another run goes on."""
        with self._sources, self._targets:
            return self._all()

    def _all(self) -> Copied:
        waiting = [Place()]
        directories: list[Place] = []
        while waiting:
            path = waiting.pop()
            directories.append(path)
            waiting += [Place(path, name) for name in self._directory(path)]
        # the inner ones first: writing into a directory changes its time
        for path in reversed(directories):
            with (
                suppress(PermissionError, Failed),
                self._sources.below(path) as source,
                self._targets.below(path) as target,
            ):
                _dress(source, target)
        return self.done

    def _directory(self, path: Place) -> list[str]:
        inner = []
        with self._readable(), self._sources.below(path) as source, self._targets.below(path) as target:
            for name, held in entries(source):
                if stat.S_ISDIR(held.st_mode):
                    nofollow.make_directory(name, 0o700, target)
                    inner.append(name)
                elif stat.S_ISLNK(held.st_mode):
                    self._link(name, held, source, target)
                elif not stat.S_ISREG(held.st_mode):
                    self.done.skipped += 1
                elif not self._hard_link(path, name, held, target):
                    with self._readable():
                        self._file(name, held, source, target)
                self.tick()
        self.done.entries += 1
        return inner

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except PermissionError:
            self.done.unreadable += 1
        except Failed as error:
            if not isinstance(error.__cause__, PermissionError):
                raise
            self.done.unreadable += 1

    def _hard_link(self, path: Place, name: str, held: os.stat_result, target: int) -> bool:
        """Give a file that has a copy another name; return whether it has one."""
        if held.st_nlink < 2:
            return False
        first = self._linked.setdefault(held.st_ino, (path, name))
        if first == (path, name):
            return False
        with suppress(FileNotFoundError, FileExistsError), self._targets.below(first[0]) as directory:
            status = os.stat(first[1], dir_fd=directory, follow_symlinks=False)
            if status.st_size != held.st_size or status.st_mtime_ns != held.st_mtime_ns:
                return False
            there = _held(name, target)
            if there is None or there.st_ino != status.st_ino:
                if there is not None:
                    os.unlink(name, dir_fd=target)
                os.link(first[1], name, src_dir_fd=directory, dst_dir_fd=target, follow_symlinks=False)
            self.done.entries += 1
            return True
        return False

    def _link(self, name: str, held: os.stat_result, source: int, target: int) -> None:
        text = os.readlink(name, dir_fd=source)
        there = _held(name, target)
        if there is None or not stat.S_ISLNK(there.st_mode) or os.readlink(name, dir_fd=target) != text:
            if there is not None:
                os.unlink(name, dir_fd=target)
            os.symlink(text, name, dir_fd=target)
        os.chown(name, held.st_uid, held.st_gid, dir_fd=target, follow_symlinks=False)
        os.utime(name, ns=(held.st_atime_ns, held.st_mtime_ns), dir_fd=target, follow_symlinks=False)
        self.done.entries += 1

    def _file(self, name: str, held: os.stat_result, source: int, target: int) -> None:
        there = _held(name, target)
        if there is not None and stat.S_ISDIR(there.st_mode):
            raise Failed(f"{shown(name)} is a directory here and a file on the source server: rename one of them")
        if there is not None and (there.st_size, there.st_mtime_ns) == (held.st_size, held.st_mtime_ns):
            self.done.entries += 1
            self.done.kept += 1
            self.done.bytes += held.st_size
            return
        partial = f"{PARTIAL}{held.st_ino:x}-{held.st_size:x}-{held.st_mtime_ns:x}"
        original = os.open(name, _READ, dir_fd=source)
        try:
            copy = _partial(partial, target)
            try:
                self._data(original, copy, target)
                now, size = os.fstat(original), os.fstat(copy).st_size
                if (now.st_size, now.st_mtime_ns) != (held.st_size, held.st_mtime_ns) or size != held.st_size:
                    os.unlink(partial, dir_fd=target)
                    self.done.changed += 1
                    return
                _dress(original, copy)
                # a power cut leaves no complete name without its data
                os.fsync(copy)
                os.rename(partial, name, src_dir_fd=target, dst_dir_fd=target)
            finally:
                os.close(copy)
        finally:
            os.close(original)
        self.done.entries += 1

    def _data(self, original: int, copy: int, directory: int) -> None:
        """Copy what is missing at the end. OSError: the share is full."""
        at = os.fstat(copy).st_size // BLOCK * BLOCK
        self.done.bytes += at
        while block := os.pread(original, BLOCK, at):
            # Root passes limits of quotas. Of a directory XFS shows what its project has left (xfs_qm_bhv.c).
            space = os.fstatvfs(directory)
            if space.f_bavail * space.f_frsize < len(block):
                raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
            view = memoryview(block)
            while view:
                written = os.pwrite(copy, view, at)
                view, at = view[written:], at + written
            self.done.bytes += len(block)
            self.tick()


def _partial(name: str, target: int) -> int:
    """Open the incomplete file of an earlier copy, or a new one; what a client has put there is replaced."""
    descriptor = os.open(name, _WRITE, 0o600, dir_fd=target)
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1:
        return descriptor
    os.close(descriptor)
    os.unlink(name, dir_fd=target)
    return os.open(name, _WRITE | os.O_EXCL, 0o600, dir_fd=target)


def _held(name: str, directory: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _dress(source: int, target: int) -> None:
    """Give a copy the owner, mode, times and extended attributes of users that the original has."""
    held = os.fstat(source)
    os.fchown(target, held.st_uid, held.st_gid)
    os.fchmod(target, stat.S_IMODE(held.st_mode))
    with suppress(OSError):
        for name in os.listxattr(source):
            if name.startswith("user."):
                os.setxattr(target, name, os.getxattr(source, name))
    os.utime(target, ns=(held.st_atime_ns, held.st_mtime_ns))
