# SPDX-License-Identifier: Apache-2.0
"""Files of a snapshot that changed and look as they did in an earlier one: same size, same time of change.

restic decides by size and time whether it reads a file again, because its inode and its ctime are others in each
snapshot. A program that sets the time back, as rsync and image files of virtual machines may, would hide a change. The
two snapshots share the blocks of what did not change, so a comparison finds these files and reads next to nothing.
"""

import errno
import os
import stat
from collections.abc import Callable
from threading import Lock

from millrace.system.errors import Failed
from millrace.system.extents import same_content
from millrace.system.trees.descend import descend, entries, is_gone
from millrace.system.trees.opener import Opener, Place

MOST = 10_000
"""Files above which all files are read again instead: each is a pattern that restic compares with each name."""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def unseen(older: int, newer: int, threads: int, tick: Callable[[], None]) -> list[tuple[str, ...]] | None:
    """Return the paths of the files that restic would take for unchanged; None where there are more than MOST.

    `older` and `newer` are open directories. A file that cannot be compared counts as changed: restic reads it, and
    says why it cannot. Failed, OSError: a directory cannot be read.
    """
    lock, hidden, is_over = Lock(), list[tuple[str, ...]](), False

    def visit(path: Place) -> list[str]:
        nonlocal is_over
        try:
            with before.below(path) as left, now.below(path) as right:
                there, here = dict(entries(left)), dict(entries(right))
                changed = [
                    (*path, name)
                    for name in there.keys() & here.keys()
                    if looks_alike(there[name], here[name]) and not _same(name, left, right)
                ]
        except Failed as error:
            if not is_gone(error):
                raise
            # a directory that only one of them has: all of it is new
            return []
        with lock:
            is_over = is_over or len(hidden) + len(changed) > MOST
            if is_over:
                return []
            hidden.extend(changed)
        return [name for name, state in here.items() if name in there and stat.S_ISDIR(state.st_mode)]

    with Opener(older) as before, Opener(newer) as now:
        descend(visit, threads, tick)
    return None if is_over else sorted(hidden)


def looks_alike(before: os.stat_result, now: os.stat_result) -> bool:
    """Whether restic takes a file for unchanged with --ignore-ctime and --ignore-inode."""
    both_files = stat.S_ISREG(before.st_mode) and stat.S_ISREG(now.st_mode)
    return both_files and (before.st_size, before.st_mtime_ns) == (now.st_size, now.st_mtime_ns)


def _same(name: str, left: int, right: int) -> bool:
    try:
        ours = os.open(name, _READ, dir_fd=left)
        try:
            theirs = os.open(name, _READ, dir_fd=right)
            try:
                return same_content(ours, theirs)
            finally:
                os.close(theirs)
        finally:
            os.close(ours)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
            raise
        return False
