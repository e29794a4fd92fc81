# SPDX-License-Identifier: Apache-2.0
"""Set the permissions of everything in a tree that clients write: by descriptors, never through a link or into a mount.

A file with several names is left alone: another name of it may be outside of the tree, put there by any client.
"""

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Lock

from millrace.serve.share.permissions import AccessRule
from millrace.system import posix_acl
from millrace.system.errors import Failed
from millrace.system.trees.descend import descend, entries, is_gone
from millrace.system.trees.opener import Opener, Place

_KNOWN = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_PERMISSIONS = 0o777
# entries of one directory after which progress is shown
_OFTEN = 1000
# of others than the owner
_WRITE = 0o022


class PermissionsStopped(Exception):
    """The walk was stopped from outside."""


@dataclass
class PermissionsTally:
    """Files and directories that were seen, and what became of them (`PermissionsReport`)."""

    entries: int = 0
    differ: int = 0
    linked: int = 0
    refused: int = 0

    def add(self, other: "PermissionsTally") -> None:
        """Add the numbers of another tally."""
        self.entries += other.entries
        self.differ += other.differ
        self.linked += other.linked
        self.refused += other.refused


class PermissionsWalk:
    """A walk below the open directory `top` by a rule; `gid` is the group of everything, None leaves groups alone.

    Without `applies` it only counts what differs. The top itself is set by its share (serve/share/directories.py).
    """

    def __init__(self, top: int, rule: AccessRule, gid: int | None, applies: bool) -> None:
        self._opener, self._rule, self._gid, self._applies = Opener(top), rule, gid, applies
        self._device = os.fstat(top).st_dev
        self._default = None if rule.default is None else posix_acl.encode(rule.default)
        self._lock, self._stop = Lock(), Event()
        self.tally = PermissionsTally()

    def run(self, threads: int, tick: Callable[[PermissionsTally], None]) -> PermissionsTally:
        """Walk from the top down, so that what clients create meanwhile has the new permissions already.

        What `tick` raises ends it. Failed, OSError: something cannot be read or changed.
        """
        with self._opener:
            descend(self._directory, threads, lambda: tick(self.tally), self._stop.set)
        return self.tally

    def _directory(self, path: Place) -> list[str]:
        seen, inner = PermissionsTally(), []
        try:
            with self._opener.below(path) as at:
                if os.fstat(at).st_dev != self._device:
                    return []
                if path:
                    self._change(at, self._of_directory, self._default, seen)
                for name, held in entries(at):
                    if self._stop.is_set():
                        raise PermissionsStopped
                    if held.st_dev != self._device:
                        continue
                    if stat.S_ISDIR(held.st_mode):
                        inner.append(name)
                    elif stat.S_ISREG(held.st_mode):
                        self._file(name, at, seen)
                    if seen.entries >= _OFTEN:
                        self._add(seen)
                        seen = PermissionsTally()
        except (Failed, OSError) as error:
            if not path or not is_gone(error):
                raise
        finally:
            self._add(seen)
        return inner

    def _add(self, seen: PermissionsTally) -> None:
        with self._lock:
            self.tally.add(seen)

    def _file(self, name: str, directory: int, seen: PermissionsTally) -> None:
        try:
            file = os.open(name, _KNOWN, dir_fd=directory)
        except OSError as error:
            if not is_gone(error):
                raise
            return
        try:
            status = os.fstat(file)
            # by the inode: the name may be that of anything else by now
            if not stat.S_ISREG(status.st_mode) or status.st_dev != self._device:
                return
            if status.st_nlink > 1:
                seen.entries, seen.linked = seen.entries + 1, seen.linked + 1
            else:
                self._change(file, self._of_file, None, seen)
        finally:
            os.close(file)

    def _of_directory(self, mode: int) -> int:
        return self._rule.inner if self._rule.default is not None else mode & _PERMISSIONS & ~_WRITE

    def _of_file(self, mode: int) -> int:
        """The mode of a file; a program stays one. What others may write runs as nobody but the user who starts it."""
        default = self._rule.default
        if default is None:
            return mode & _PERMISSIONS & ~_WRITE
        return default & (0o777 if mode & 0o111 else 0o666)

    def _change(
        self,
        descriptor: int,
        wanted: Callable[[int], int],
        default: bytes | None,
        seen: PermissionsTally,
    ) -> None:
        status = os.fstat(descriptor)
        # for a descriptor with O_PATH, which opens nothing: neither a pipe is waited for nor a delegation
        place = f"/proc/self/fd/{descriptor}"
        gid = status.st_gid if self._gid is None else self._gid
        access = posix_acl.read(place, posix_acl.ACCESS)
        of_new = posix_acl.read(place, posix_acl.DEFAULT) if stat.S_ISDIR(status.st_mode) else default
        held = stat.S_IMODE(status.st_mode)
        kept = held if access is None else posix_acl.mode_without(access, held)
        mode = wanted(kept)
        seen.entries += 1
        if (held, status.st_gid, access, of_new) == (mode, gid, None, default):
            return
        seen.differ += 1
        if not self._applies:
            return
        try:
            if access is not None:
                # first: without the list, its mask would be what the group may do
                os.chmod(place, kept)
                posix_acl.write(place, posix_acl.ACCESS, None)
            if of_new != default:
                posix_acl.write(place, posix_acl.DEFAULT, default)
            if gid != status.st_gid:
                os.chown(place, -1, gid)
            # last: a new group takes set-user-ID and set-group-ID bits away
            os.chmod(place, mode)
        except OSError as error:
            if error.errno != errno.EPERM:
                raise
            seen.differ, seen.refused = seen.differ - 1, seen.refused + 1
