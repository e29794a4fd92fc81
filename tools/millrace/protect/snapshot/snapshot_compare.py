# SPDX-License-Identifier: Apache-2.0
"""How two trees differ, of which one is a snapshot: name by name, side by side, in several threads.

A clone keeps content, owner, mode and time of a file, and shares its blocks. So what looks equal is equal where it
shares all blocks; only what does not is read. A file or a directory that is gone from one place and has come to another
one with the same time of change is the same one, if the content says so, too.
"""

import errno
import os
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal

from millrace.protect.snapshot.compare_model import DifferenceKind, SnapshotComparison, SnapshotDifference
from millrace.protect.snapshot.snapshot_model import EntryKind
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.clone import clone_job, clone_place
from millrace.serve.clone.clone_place import ClonePlace
from millrace.serve.share.server import ShareServer
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.extents import same_content
from millrace.system.text import printable_name
from millrace.system.trees.descend import GONE, below, descend, entries, is_gone
from millrace.system.trees.opener import Opener, Place
from millrace.system.users import only_root

LISTED = 1000
"""Entries that a comparison names."""
MATCHED = 50_000
"""Files, and directories, that are looked at for whether they were moved, on each side; others count as not moved."""

# a device, or a file that an NFS client holds for writing, keeps nobody waiting
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS: dict[int, EntryKind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
# a bad sector, or a structure of XFS that its checksum refutes: of one file
_UNREADABLE = (errno.EIO, errno.ENODATA, errno.EUCLEAN, errno.EBADMSG)
# snapshots have none of them
_DEVICES = (stat.S_IFCHR, stat.S_IFBLK)

Names = tuple[str, ...]
Verdict = Literal["equal", "changed", "permissions", "replaced", "unread"]


@dataclass(frozen=True)
class _Held:
    """An entry of one side: its names from the top that is compared, and its state."""

    path: Names
    state: os.stat_result


_Pair = tuple[_Held, _Held]


@dataclass
class _Differences:
    """What was found. What is `gone` or has `come` may be one that was moved."""

    compared: int = 0
    unread: int = 0
    counts: Counter[DifferenceKind] = field(default_factory=Counter)
    listed: list[SnapshotDifference] = field(default_factory=list)
    gone: list[_Held] = field(default_factory=list)
    come: list[_Held] = field(default_factory=list)

    def add(self, what: DifferenceKind, held: _Held, former: Names | None = None) -> None:
        """Count an entry; the first ones by path are listed."""
        self.counts[what] += 1
        kind = _kind(held.state)
        self.listed.append(
            SnapshotDifference(
                what=what,
                kind=kind,
                path=_shown(held.path, kind),
                former=None if former is None else _shown(former, kind),
                bytes=held.state.st_size if kind == "file" else 0,
            )
        )
        if len(self.listed) > 2 * LISTED:
            self.listed = sorted(self.listed, key=lambda entry: entry.path)[:LISTED]


def compare(older: str, newer: str | None, server: ShareServer) -> SnapshotComparison:
    """Compare a snapshot, or a directory of it, with another one; with the share as it is where there is none.

    BadInput: a place is no snapshot, or they are of two shares. Refused: there is no such snapshot or directory.
    Failed: one of them was removed or replaced meanwhile.
    """
    only_root()
    snapshots = SnapshotStore(server.pool.filesystem.mountpoint)
    left = snapshots.known(older)
    right = ClonePlace(left.share, left.path) if newer is None else snapshots.known(newer)
    if right.share != left.share:
        raise BadInput(f"{left} and {right} are of two shares: compare snapshots of one share")
    with (
        clone_place.opened(left, snapshots.mountpoint) as ours,
        clone_place.opened(right, snapshots.mountpoint) as theirs,
    ):
        differences = differing(ours, theirs, clone_job.threads())
        for place, at in ((left, ours), (right, theirs)):
            _require_unmoved(place, at, snapshots.mountpoint)
    listed = sorted(differences.listed, key=lambda entry: entry.path)[:LISTED]
    counts = differences.counts
    return SnapshotComparison(
        older=str(left),
        newer=str(right),
        compared=differences.compared,
        added=counts["added"],
        changed=counts["changed"],
        permissions=counts["permissions"],
        moved=counts["moved"],
        removed=counts["removed"],
        unread=differences.unread,
        entries=listed,
        more=counts.total() - len(listed),
    )


def _require_unmoved(place: ClonePlace, at: int, mountpoint: str) -> None:
    """Failed: a place is not the directory that was opened, so what was found in it may be half of it."""
    try:
        with clone_place.opened(place, mountpoint) as now:
            same = os.path.samestat(os.fstat(now), os.fstat(at))
    except Refused:
        same = False
    if not same:
        raise Failed(f"{place} was removed or replaced while it was compared: compare again")


def differing(older: int, newer: int, threads: int) -> _Differences:
    """Return how two open directories differ. Failed, OSError: a part of one of them cannot be read."""
    differences = _Differences()
    _side_by_side(older, newer, (), (), threads, differences)
    while pairs := _moved_directories(older, newer, differences):
        for ours, theirs in pairs:
            differences.add("moved", theirs, ours.path)
            with below(older, ours.path) as left, below(newer, theirs.path) as right:
                _side_by_side(left, right, ours.path, theirs.path, threads, differences)
    _moved_files(older, newer, differences)
    for held in differences.gone:
        _whole(older, held, "removed", threads, differences)
    for held in differences.come:
        _whole(newer, held, "added", threads, differences)
    return differences


def _side_by_side(older: int, newer: int, ours: Names, theirs: Names, threads: int, differences: _Differences) -> None:
    """Compare two open directories, and what has the same names in them; `ours` and `theirs` lead to them."""
    lock = Lock()

    def visit(path: Place) -> list[str]:
        names = tuple(path)
        try:
            with left_opener.below(path) as left, right_opener.below(path) as right:
                there, now = _held(left), _held(right)
                verdicts = {name: _verdict(name, there[name], now[name], left, right) for name in there.keys() & now}
        except Failed as error:
            if not is_gone(error):
                raise
            with lock:
                differences.unread += 1
            return []
        replaced = {name for name, verdict in verdicts.items() if verdict == "replaced"}
        with lock:
            differences.compared += len(now)
            for name, verdict in verdicts.items():
                match verdict:
                    case "unread":
                        differences.unread += 1
                    case "changed" | "permissions":
                        differences.add(verdict, _Held((*theirs, *names, name), now[name]))
            for name in replaced | (there.keys() - now):
                differences.gone.append(_Held((*ours, *names, name), there[name]))
            for name in replaced | (now.keys() - there):
                differences.come.append(_Held((*theirs, *names, name), now[name]))
        return [name for name in verdicts if stat.S_ISDIR(now[name].st_mode) and name not in replaced]

    with Opener(older) as left_opener, Opener(newer) as right_opener:
        descend(visit, threads, lambda: None)


def _held(at: int) -> dict[str, os.stat_result]:
    """Return what an open directory holds that a snapshot would have."""
    device = os.fstat(at).st_dev
    return {
        name: state
        for name, state in entries(at)
        if state.st_dev == device and stat.S_IFMT(state.st_mode) not in _DEVICES
    }


def _verdict(name: str, old: os.stat_result, new: os.stat_result, left: int, right: int) -> Verdict:
    """How an entry of two open directories differs."""
    if stat.S_IFMT(old.st_mode) != stat.S_IFMT(new.st_mode):
        return "replaced"
    if stat.S_ISREG(new.st_mode) and (same := _same_file(name, old, new, left, right)) is not True:
        return "unread" if same is None else "changed"
    if stat.S_ISLNK(new.st_mode) and (same := _same_link(name, left, right)) is not True:
        return "unread" if same is None else "changed"
    same_rights = (old.st_mode, old.st_uid, old.st_gid) == (new.st_mode, new.st_uid, new.st_gid)
    return "equal" if same_rights else "permissions"


def _same_file(
    name: str, old: os.stat_result, new: os.stat_result, left: int, right: int, other: str | None = None
) -> bool | None:
    """Whether a file has the same content in both; None where a client, or a fault, keeps it from being read.

    `other` is its name in the second directory where it has another one there.
    """
    if (old.st_size, old.st_mtime_ns) != (new.st_size, new.st_mtime_ns):
        return False
    try:
        with _file(name, left) as ours, _file(other or name, right) as theirs:
            return same_content(ours, theirs)
    except OSError as error:
        if error.errno in (*GONE, *_UNREADABLE, errno.EAGAIN):
            return None
        raise


def _same_link(name: str, left: int, right: int) -> bool | None:
    try:
        return os.readlink(name, dir_fd=left) == os.readlink(name, dir_fd=right)
    except OSError as error:
        if error.errno in (*GONE, errno.EINVAL):
            return None
        raise


@contextmanager
def _file(name: str, at: int) -> Iterator[int]:
    descriptor = os.open(name, _READ, dir_fd=at)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _moved_directories(older: int, newer: int, differences: _Differences) -> list[_Pair]:
    """Take the directories that were moved from what is gone and has come.

    The time of change of a directory stays if it is moved, and so do the names in it, in most cases.
    """

    def same(ours: _Held, theirs: _Held) -> bool:
        with below(older, ours.path) as left, below(newer, theirs.path) as right:
            return _held(left).keys() == _held(right).keys()

    return _moved(differences, _alike(differences, stat.S_ISDIR, lambda state: (state.st_mtime_ns,)), same)


def _moved_files(older: int, newer: int, differences: _Differences) -> None:
    """Take the files that were moved from what is gone and has come, and count them."""

    def same(ours: _Held, theirs: _Held) -> bool:
        with below(older, ours.path[:-1]) as left, below(newer, theirs.path[:-1]) as right:
            return _same_file(ours.path[-1], ours.state, theirs.state, left, right, theirs.path[-1]) is True

    alike = _alike(differences, stat.S_ISREG, lambda state: (state.st_mtime_ns, state.st_size))
    for ours, theirs in _moved(differences, alike, same):
        differences.add("moved", theirs, ours.path)


def _moved(differences: _Differences, alike: Iterator[_Pair], same: Callable[[_Held, _Held], bool]) -> list[_Pair]:
    """Return which of the pairs are one entry, and take these from what is gone and has come."""
    pairs = []
    for ours, theirs in alike:
        try:
            if same(ours, theirs):
                pairs.append((ours, theirs))
        except Failed as error:
            if not is_gone(error):
                raise
    taken = {id(held) for pair in pairs for held in pair}
    differences.gone = [held for held in differences.gone if id(held) not in taken]
    differences.come = [held for held in differences.come if id(held) not in taken]
    return pairs


def _alike(
    differences: _Differences, of_kind: Callable[[int], bool], key: Callable[[os.stat_result], tuple[int, ...]]
) -> Iterator[_Pair]:
    """Yield what is gone with what has come and is like it, each once."""
    gone = defaultdict[tuple[int, ...], list[_Held]](list)
    for held in differences.gone[:MATCHED]:
        if of_kind(held.state.st_mode):
            gone[key(held.state)].append(held)
    for held in differences.come[:MATCHED]:
        if of_kind(held.state.st_mode) and (like := gone.get(key(held.state))):
            yield like.pop(0), held


def _whole(top: int, held: _Held, what: DifferenceKind, threads: int, differences: _Differences) -> None:
    """Count an entry, and all that is in it."""
    differences.add(what, held)
    if not stat.S_ISDIR(held.state.st_mode):
        return
    lock = Lock()

    def visit(path: Place) -> list[str]:
        try:
            with opener.below(path) as at:
                inner = _held(at)
        except Failed as error:
            if not is_gone(error):
                raise
            return []
        with lock:
            for name, state in inner.items():
                differences.add(what, _Held((*held.path, *path, name), state))
        return [name for name, state in inner.items() if stat.S_ISDIR(state.st_mode)]

    try:
        with below(top, held.path) as directory, Opener(directory) as opener:
            descend(visit, threads, lambda: None)
    except Failed as error:
        if not is_gone(error):
            raise


def _kind(state: os.stat_result) -> EntryKind:
    return _KINDS.get(stat.S_IFMT(state.st_mode), "other")


def _shown(path: Names, kind: EntryKind) -> str:
    return printable_name(os.fsencode("/".join(path))) + ("/" if kind == "directory" else "")
