# SPDX-License-Identifier: Apache-2.0
"""Clone a tree by reflink, while clients change it: each file as it was at one moment, nothing outside of the tree.

The target is out of the reach of clients until it is complete; its directories are opened in the same way all the same.
"""

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Lock

from millrace.system import posix_acl, reflink
from millrace.system.errors import Failed
from millrace.system.trees.descend import descend, entries, is_gone
from millrace.system.trees.opener import Opener, Place

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOATIME
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
ACCESS = (
    "system.posix_acl_access",
    "system.posix_acl_default",
    "security.capability",
    "security.NTACL",
    "user.DOSATTRIB",
)
"""Attributes that decide who may do what with a file, by the kernel and by Samba."""
TreePath = tuple[str, ...]
"""The path of a file or directory in a tree, by its names; none is the tree itself."""
BLOCK = 512
"""Bytes that `st_blocks` counts in."""


class CloneStopped(Exception):
    """The work was stopped from outside."""


@dataclass
class Tally:
    """What a tree holds, or what was cloned of it: files and directories, and bytes of their blocks.

    `changed` entries were removed or replaced by clients while they were read; `skipped` are devices and what is
    mounted.
    """

    entries: int = 0
    bytes: int = 0
    changed: int = 0
    skipped: int = 0


def count(source: int, threads: int, tick: Callable[[Tally], None]) -> Tally:
    """Count what is below an open directory, itself included. Failed: a part of it cannot be read."""
    tally, lock, stop = Tally(), Lock(), Event()

    def visit(path: Place) -> list[str]:
        own, inner = Tally(entries=1), []
        try:
            with opener.below(path) as at:
                device = os.fstat(at).st_dev
                for name, held in entries(at):
                    if stop.is_set():
                        raise CloneStopped
                    if stat.S_ISDIR(held.st_mode):
                        inner += [name] if held.st_dev == device else []
                    else:
                        own.entries += 1
                        # a second name of a file shares its blocks
                        own.bytes += held.st_blocks * BLOCK // max(held.st_nlink, 1)
        except Failed as error:
            if not path or not is_gone(error):
                raise
        with lock:
            tally.entries, tally.bytes = tally.entries + own.entries, tally.bytes + own.bytes
        return inner

    with Opener(source) as opener:
        descend(visit, threads, lambda: tick(tally), stop.set)
    return tally


class TreeClone:
    """A clone of the open directory `source` in the open and empty directory `target` of the same file system.

    `share` makes one open file have the blocks of another. `origins` gets the inode of each directory of the source by
    that of its clone. `bare` gets the paths of files and directories with more attributes than the kernel lists, which
    are cloned with the access lists alone; without it such a one cannot be cloned.
    """

    def __init__(
        self,
        source: int,
        target: int,
        share: Callable[[int, int], None] = reflink.clone,
        origins: dict[int, int] | None = None,
        bare: set[TreePath] | None = None,
    ) -> None:
        self._bare = bare
        self.sources, self.targets = Opener(source), Opener(target)
        self._origins = origins
        self._target, self._share = target, share
        self._device = os.fstat(source).st_dev
        self._lock, self._linking = Lock(), Lock()
        self._links: dict[tuple[int, int, int], tuple[Place, str]] = {}
        self._stop = Event()
        self.tally = Tally()

    def run(self, threads: int, tick: Callable[[Tally], None]) -> Tally:
        """Clone everything; what `tick` raises ends it. Failed, OSError: something cannot be cloned."""
        with self.sources, self.targets:
            descend(self._directory, threads, lambda: tick(self.tally), self._stop.set)
        # XFS writes its log in order: with this directory, all that was done before is on the drives
        os.fsync(self._target)
        return self.tally

    def _directory(self, path: Place) -> list[str]:
        """Fill one directory, which exists; its own times come last, and before anything below it, which keeps them."""
        inner = []
        try:
            with self.sources.below(path) as source, self.targets.below(path) as target:
                if self._origins is not None:
                    self._origins[os.fstat(target).st_ino] = os.fstat(source).st_ino
                for name, held in entries(source):
                    if self._stop.is_set():
                        raise CloneStopped
                    if self.entry(path, name, held, source, target):
                        inner.append(name)
                self._dress(source, target, tuple(path))
                self._add(1, 0)
        except Failed as error:
            if not path or not is_gone(error):
                raise
            # the empty directory stays, of root alone
            self._add(0, 0, changed=1)
        return inner

    def entry(self, path: Place, name: str, held: os.stat_result, source: int, target: int) -> bool:
        """Clone one entry of a directory; return whether it is a directory, which is made empty.

        OSError: it cannot be cloned.
        """
        kind = stat.S_IFMT(held.st_mode)
        try:
            if held.st_dev != self._device or kind in (stat.S_IFCHR, stat.S_IFBLK):
                self._add(0, 0, skipped=1)
            elif kind == stat.S_IFDIR:
                os.mkdir(name, 0o700, dir_fd=target)
                return True
            elif kind == stat.S_IFREG:
                self._add(1, self._file(path, name, source, target))
            else:
                self._special(name, held, source, target)
                self._add(1, 0)
        except FileExistsError:
            # a rename while the directory was read: its name came twice
            self._add(0, 0, changed=1)
        except OSError as error:
            if not is_gone(error):
                raise
            self._add(0, 0, changed=1)
        return False

    def _file(self, path: Place, name: str, source: int, target: int) -> int:
        with _opened(name, source) as file:
            held = os.fstat(file)
            if not stat.S_ISREG(held.st_mode):
                raise FileNotFoundError(errno.ENOENT, "replaced", name)
            if held.st_nlink == 1:
                return self._data(path, name, file, target)
            # one file of several names at a time: the second name waits until the first one is there
            with self._linking:
                # with its time: the number of a file that a client removed is given to another one
                key = (held.st_ino, held.st_size, held.st_mtime_ns)
                known = self._links.get(key)
                if known is None:
                    copied = self._data(path, name, file, target)
                    self._links[key] = (path, name)
                    return copied
                with self.targets.below(known[0]) as directory:
                    os.link(known[1], name, src_dir_fd=directory, dst_dir_fd=target, follow_symlinks=False)
        return 0

    def _data(self, path: Place, name: str, found: int, target: int) -> int:
        made = os.open(name, _NEW, 0o600, dir_fd=target)
        try:
            self._share(found, made)
            self._dress(found, made, (*path, name))
            return os.fstat(made).st_blocks * BLOCK
        finally:
            os.close(made)

    def _dress(self, source: int, target: int, path: TreePath) -> None:
        if not dress(source, target, self._bare is not None) and self._bare is not None:
            self._bare.add(path)

    def _special(self, name: str, held: os.stat_result, source: int, target: int) -> None:
        """A symbolic link, a named pipe or a socket: none is opened."""
        if stat.S_ISLNK(held.st_mode):
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        else:
            os.mknod(name, stat.S_IFMT(held.st_mode) | 0o600, dir_fd=target)
        os.chown(name, held.st_uid, held.st_gid, dir_fd=target, follow_symlinks=False)
        original, other = (f"/proc/self/fd/{directory}/{name}" for directory in (source, target))
        if not stat.S_ISLNK(held.st_mode):
            os.chmod(name, stat.S_IMODE(held.st_mode), dir_fd=target)
        for attribute in posix_acl.attributes(original, follow_symlinks=False):
            value = os.getxattr(original, attribute, follow_symlinks=False)
            os.setxattr(other, attribute, value, follow_symlinks=False)
        os.utime(name, ns=(held.st_atime_ns, held.st_mtime_ns), dir_fd=target, follow_symlinks=False)

    def _add(self, entries: int, size: int, changed: int = 0, skipped: int = 0) -> None:
        with self._lock:
            self.tally.entries += entries
            self.tally.bytes += size
            self.tally.changed += changed
            self.tally.skipped += skipped


class _opened:
    """A file that is opened without a link being followed, a pipe being waited for, or the time of access changed."""

    def __init__(self, name: str, directory: int) -> None:
        try:
            self._descriptor = os.open(name, _READ | os.O_NONBLOCK, dir_fd=directory)
        except BlockingIOError:
            # A client has a delegation of it: it is given back first. By the inode, which nobody can replace.
            known = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
            try:
                if not stat.S_ISREG(os.fstat(known).st_mode):
                    raise FileNotFoundError(errno.ENOENT, "replaced", name) from None
                same = f"/proc/self/fd/{known}"
                self._descriptor = os.open(same, os.O_RDONLY | os.O_CLOEXEC)
            finally:
                os.close(known)

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def dress(source: int, target: int, lenient: bool = False) -> bool:
    """Give one open file or directory owner, mode, extended attributes and times of another one, in this order.

    A change of owner clears capabilities and the bits for set-user-ID, an access list sets the bits of the group.
    Return False where there are more attributes than the kernel lists, and `lenient` takes those of `ACCESS` alone.
    OSError: one of them cannot be read or set.
    """
    held = os.fstat(source)
    os.fchown(target, held.st_uid, held.st_gid)
    os.fchmod(target, stat.S_IMODE(held.st_mode))
    is_listed = True
    try:
        names = posix_acl.attributes(source)
    except OSError as error:
        # 64 KiB of names (xattr(7)); XFS has no such limit, so a client may go beyond it
        if error.errno != errno.E2BIG or not lenient:
            raise
        is_listed, names = False, list(ACCESS)
    # an access list that the directory handed down, or an attribute that a client has removed
    for name in set(posix_acl.attributes(target)).difference(names):
        os.removexattr(target, name)
    for name in names:
        try:
            os.setxattr(target, name, os.getxattr(source, name))
        except OSError as error:
            # removed meanwhile
            if error.errno != errno.ENODATA:
                raise
    os.utime(target, ns=(held.st_atime_ns, held.st_mtime_ns))
    return is_listed
