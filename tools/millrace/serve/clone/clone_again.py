# SPDX-License-Identifier: Apache-2.0
"""What clients changed while their tree was cloned: found by its time of change, and taken again.

The kernel alone sets the time of change (ctime) of a file, of a directory whose names change, and of what is renamed
(xfs_rename). Where a walk finds none since a moment, the tree was, as the walk began, as it was at that moment. A file
that a client holds for writing (system/leases) may have changed without it: it counts as changed, and the client
returns it when it is opened to be taken again.
"""

import os
import stat
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from millrace.serve.clone.clone_tree import TreeClone, TreePath, dress
from millrace.system import leases, reflink
from millrace.system.errors import Failed
from millrace.system.text import printable_name
from millrace.system.trees import nofollow
from millrace.system.trees.descend import descend, entries, is_gone
from millrace.system.trees.opener import Opener, Place

MOST = 50_000
"""Changed entries that are held in memory, and taken again, at a time."""
COARSE = 50_000_000
"""Nanoseconds by which a time of change may be older than the clock: the kernel takes that of its last tick."""


class ChangeClock:
    """Which time of change at least has what changes after a moment, also where the clock is set back meanwhile."""

    def __init__(
        self,
        now: Callable[[], int] = time.time_ns,
        running: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME),
    ) -> None:
        self._now, self._running = now, running
        self._lowest = self._ahead()

    def _ahead(self) -> int:
        return self._now() - self._running()

    def tick(self) -> None:
        """Note whether the clock was set back; set back and forth between two calls, it is not noticed."""
        self._lowest = min(self._lowest, self._ahead())

    def mark(self) -> tuple[int, int]:
        """Return this moment, in nanoseconds of the clock, and by how much the clock is ahead of that of the kernel."""
        self.tick()
        return self._now(), self._ahead()

    def since(self, mark: tuple[int, int]) -> int:
        """Return the least time of change of what has changed since a moment, in nanoseconds."""
        self.tick()
        moment, ahead = mark
        return moment + min(0, self._lowest - ahead) - COARSE


@dataclass
class Changes:
    """What has changed in a tree: directories whose own names or attributes did, and entries that are none.

    `count` has those, too, of which there was no room for the names, and the `nameless`: files that are held for
    writing since the walk passed them.
    """

    directories: list[Place] = field(default_factory=list)
    entries: list[tuple[Place, str]] = field(default_factory=list)
    count: int = 0
    nameless: int = 0

    @property
    def named(self) -> int:
        """How many of them can be taken again."""
        return len(self.directories) + len(self.entries)

    def names(self, most: int) -> list[str]:
        """Return the names of what has changed, at most so many, fit for one line each; those of directories end with
        a slash.
        """
        changed = [("/".join([*place, ""]) or "/") for place in self.directories]
        changed += ["/".join((*place, name)) for place, name in self.entries]
        return [printable_name(os.fsencode(name)) for name in sorted(changed)[:most]]


def changes(source: int, since: int, threads: int, tick: Callable[[int], None]) -> Changes:
    """Return what has a time of change from `since` on, in nanoseconds, or is held for writing, in an open directory.

    `tick` gets how many files and directories were seen. Failed, OSError: a part of the tree, or who holds files,
    cannot be read.
    """
    collected, lock, seen = Changes(), Lock(), [0]
    device = os.fstat(source).st_dev
    before = leases.held_for_writing(device)
    # 8 bytes of each: clients open files of other shares all the time, and these do not count
    others = array("Q")

    def visit(place: Place) -> list[str]:
        own, inner, inodes = list[tuple[Place, str]](), list[str](), array("Q")
        try:
            with opener.below(place) as at:
                changed = os.fstat(at).st_ctime_ns >= since
                for name, held in entries(at):
                    if stat.S_ISDIR(held.st_mode):
                        inner += [name] if held.st_dev == device else []
                        continue
                    if held.st_ctime_ns >= since or held.st_ino in before:
                        own.append((place, name))
                    else:
                        inodes.append(held.st_ino)
        except Failed as error:
            # moved or removed: the directory that had it has changed, too
            if not place or not is_gone(error):
                raise
            return []
        with lock:
            seen[0] += 1 + len(own) + len(inodes)
            others.extend(inodes)
            collected.count += len(own) + changed
            if changed and collected.named < MOST:
                collected.directories.append(place)
            collected.entries += own[: MOST - collected.named]
        return inner

    with Opener(source) as opener:
        descend(visit, threads, lambda: tick(seen[0]))
    if later := leases.held_for_writing(device) - before:
        collected.nameless = len(later.intersection(others))
        collected.count += collected.nameless
    return collected


class AgainClone:
    """Takes again what has changed in the open directory `source` since it was cloned to `target`.

    What a clone had is moved into the empty directory `aside`. `origins` are those of the clone (TreeClone): a
    directory that is another one by now is taken again with everything in it. A file of several names of which only one
    is taken again has two copies then.
    """

    def __init__(
        self,
        source: int,
        target: int,
        aside: int,
        origins: dict[int, int],
        threads: int,
        share: Callable[[int, int], None] = reflink.clone,
        bare: set[TreePath] | None = None,
    ) -> None:
        self._bare = bare
        self._source, self._target, self._aside = source, target, aside
        self._origins, self._threads, self._share = origins, threads, share
        self._moved = 0
        self._tick: Callable[[], None] = lambda: None
        self._done: set[tuple[str, str]] = set()

    def take(self, changed: Changes, tick: Callable[[], None]) -> None:
        """Take again what has changed. What is gone by now is left out: it has changed once more.

        Failed, OSError: something cannot be cloned.
        """
        clone = TreeClone(self._source, self._target, self._share, self._origins, self._bare)
        self._done.clear()
        self._tick = tick
        touched: dict[str, Place] = {}
        with clone.sources, clone.targets:
            for place in sorted(changed.directories, key=len):
                tick()
                if self._attempted(self._directory, clone, place):
                    touched["/".join(place)] = place
            for place, name in changed.entries:
                tick()
                if self._attempted(self._entry, clone, place, name):
                    touched["/".join(place)] = place
            # the inner ones first: a change in a directory changes its time
            for place in sorted(touched.values(), key=len, reverse=True):
                self._attempted(self._dress, clone, place)
        os.fsync(self._target)

    def _attempted(self, work: Callable[..., bool], clone: TreeClone, *what: object) -> bool:
        try:
            return work(clone, *what)
        except (Failed, OSError) as error:
            if not is_gone(error):
                raise
            return False

    def _directory(self, clone: TreeClone, place: Place) -> bool:
        """Give the clone of a directory the names that the directory has; return whether there is one."""
        with clone.sources.below(place) as source, clone.targets.below(place) as target:
            if not self._is_same(place, source, target):
                # the directory above gets another one in its place
                return False
            there = dict(entries(target))
            for name, held in entries(source):
                known = there.pop(name, None)
                if known is not None and self._is_taken(known, held):
                    continue
                self._take(clone, place, name, source, target)
            for name in there:
                self._set_aside(name, target)
        return True

    def _entry(self, clone: TreeClone, place: Place, name: str) -> bool:
        with clone.sources.below(place) as source, clone.targets.below(place) as target:
            if not self._is_same(place, source, target):
                return False
            self._take(clone, place, name, source, target)
        return True

    def _dress(self, clone: TreeClone, place: Place) -> bool:
        with clone.sources.below(place) as source, clone.targets.below(place) as target:
            if self._is_same(place, source, target):
                dress(source, target, self._bare is not None)
        return True

    def _is_same(self, place: Place, source: int, target: int) -> bool:
        return not place or self._origins.get(os.fstat(target).st_ino) == os.fstat(source).st_ino

    def _is_taken(self, known: os.stat_result, held: os.stat_result) -> bool:
        """Whether a name stands for what was cloned: another file has a time of change of its own."""
        if stat.S_IFMT(known.st_mode) != stat.S_IFMT(held.st_mode):
            return False
        return not stat.S_ISDIR(held.st_mode) or self._origins.get(known.st_ino) == held.st_ino

    def _take(self, clone: TreeClone, place: Place, name: str, source: int, target: int) -> None:
        known = ("/".join(place), name)
        if known in self._done:
            # another name of it may be a link to this one by now
            return
        held = os.stat(name, dir_fd=source, follow_symlinks=False)
        self._done.add(known)
        self._set_aside(name, target)
        if not clone.entry(place, name, held, source, target):
            return
        with nofollow.directory(name, source) as inner, nofollow.directory(name, target) as made:
            below: set[TreePath] | None = None if self._bare is None else set()
            TreeClone(inner, made, self._share, self._origins, below).run(self._threads, lambda _: self._tick())
        if self._bare is not None:
            self._bare.update((*place, name, *inside) for inside in below or ())

    def _set_aside(self, name: str, target: int) -> None:
        self._moved += 1
        try:
            os.rename(name, str(self._moved), src_dir_fd=target, dst_dir_fd=self._aside)
        except FileNotFoundError:
            return
