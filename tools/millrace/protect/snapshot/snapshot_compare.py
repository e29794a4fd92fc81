# SPDX-License-Identifier: Apache-2.0
"""How two trees differ, of which one is a snapshot: name by name, side by side, in several threads.

A clone keeps content, owner, mode and time of a file, and shares its blocks. So what looks equal is equal where it
shares all blocks; only what does not is read. A file or a directory that is gone from one place and has come to another
one with the same time of change is the same one, if the content says so, too.
"""

import errno
import os
import stat
from typing import Literal

from millrace.protect.snapshot import compare_entries
from millrace.protect.snapshot.compare_entries import (
    LISTED,
    Differences,
    HeldEntry,
    Names,
    held_entries,
    kind_of_entry,
    parts_of,
    same_file,
    same_rights,
)
from millrace.protect.snapshot.compare_model import DifferenceKind, SnapshotComparison
from millrace.protect.snapshot.compare_moved import add_moved, moved_directories, moved_files
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.clone import clone_job, clone_place
from millrace.serve.clone.clone_place import ClonePlace
from millrace.serve.share.server import ShareServer
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.trees.descend import DEEPEST, GONE, below, descend, is_gone
from millrace.system.trees.opener import Opener, Place
from millrace.system.users import only_root

ROUNDS = 64
"""So often directories that were moved are looked for in others that were moved; others count as not moved."""

Verdict = Literal["equal", "changed", "permissions", "replaced", "unread"]


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
        unread_names=differences.unread_names,
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


def differing(older: int, newer: int, threads: int) -> Differences:
    """Return how two open directories differ. Failed, OSError: a part of one of them cannot be read."""
    differences = Differences()
    _side_by_side(older, newer, (), (), threads, differences)
    for _ in range(ROUNDS):
        pairs = moved_directories(older, newer, differences)
        if not pairs:
            break
        for ours, theirs in pairs:
            add_moved(ours, theirs, differences)
            with below(older, ours.path) as left, below(newer, theirs.path) as right:
                _side_by_side(left, right, ours.path, theirs.path, threads, differences)
    moved_files(older, newer, differences)
    for held in differences.gone:
        _whole(older, held, "removed", threads, differences)
    for held in differences.come:
        _whole(newer, held, "added", threads, differences)
    return differences


def _side_by_side(older: int, newer: int, ours: Names, theirs: Names, threads: int, differences: Differences) -> None:
    """Compare two open directories, and what has the same names in them; `ours` and `theirs` lead to them."""

    def visit(path: Place) -> list[str]:
        names = tuple(path)
        if max(len(ours), len(theirs)) + len(names) >= DEEPEST:
            with differences.lock:
                differences.skip((*theirs, *names))
            return []
        try:
            with left_opener.below(path) as left, right_opener.below(path) as right:
                parts = max(parts_of(left), parts_of(right))
                return [name for part in range(parts) for name in compared(names, left, right, part, parts)]
        except Failed as error:
            if not is_gone(error):
                raise
            with differences.lock:
                differences.skip((*theirs, *names))
            return []

    def compared(names: Names, left: int, right: int, part: int, parts: int) -> list[str]:
        """Compare a part of the names of a directory; return the directories of both sides in it."""
        there, now = dict(held_entries(left, part, parts)), dict(held_entries(right, part, parts))
        verdicts = {name: _verdict(name, there[name], now[name], left, right) for name in there.keys() & now}
        replaced = {name for name, verdict in verdicts.items() if verdict == "replaced"}
        with differences.lock:
            differences.compared += len(now)
            for name, verdict in verdicts.items():
                match verdict:
                    case "unread":
                        differences.skip((*theirs, *names, name), kind_of_entry(now[name]))
                    case "changed" | "permissions":
                        differences.add(verdict, HeldEntry((*theirs, *names, name), now[name]))
        for name in replaced | (there.keys() - now):
            _set_aside(older, HeldEntry((*ours, *names, name), there[name]), "removed", differences.gone, differences)
        for name in replaced | (now.keys() - there):
            _set_aside(newer, HeldEntry((*theirs, *names, name), now[name]), "added", differences.come, differences)
        return [name for name in verdicts if stat.S_ISDIR(now[name].st_mode) and name not in replaced]

    with Opener(older) as left_opener, Opener(newer) as right_opener:
        descend(visit, threads, lambda: None)


def _set_aside(
    top: int, held: HeldEntry, what: DifferenceKind, kept: list[HeldEntry], differences: Differences
) -> None:
    """Keep what may have been moved, and count all that is beyond the bound."""
    with differences.lock:
        if len(kept) < compare_entries.MATCHED:
            kept.append(held)
            return
    _whole(top, held, what, 1, differences)


def _verdict(name: str, old: os.stat_result, new: os.stat_result, left: int, right: int) -> Verdict:
    """How an entry of two open directories differs."""
    if stat.S_IFMT(old.st_mode) != stat.S_IFMT(new.st_mode):
        return "replaced"
    if stat.S_ISREG(new.st_mode) and (same := same_file(name, old, new, left, right)) is not True:
        return "unread" if same is None else "changed"
    if stat.S_ISLNK(new.st_mode) and (same := _same_link(name, left, right)) is not True:
        return "unread" if same is None else "changed"
    return "equal" if same_rights(old, new) else "permissions"


def _same_link(name: str, left: int, right: int) -> bool | None:
    try:
        return os.readlink(name, dir_fd=left) == os.readlink(name, dir_fd=right)
    except OSError as error:
        if error.errno in (*GONE, errno.EINVAL):
            return None
        raise


def _whole(top: int, held: HeldEntry, what: DifferenceKind, threads: int, differences: Differences) -> None:
    """Count an entry, and all that is in it."""
    with differences.lock:
        differences.add(what, held)
    if not stat.S_ISDIR(held.state.st_mode):
        return

    def visit(path: Place) -> list[str]:
        names, inner = (*held.path, *path), list[str]()
        if len(names) >= DEEPEST:
            with differences.lock:
                differences.skip(names)
            return []
        try:
            with opener.below(path) as at:
                for name, state in held_entries(at):
                    with differences.lock:
                        differences.add(what, HeldEntry((*names, name), state))
                    if stat.S_ISDIR(state.st_mode):
                        inner.append(name)
        except Failed as error:
            if not is_gone(error):
                raise
        return inner

    try:
        with below(top, held.path) as directory, Opener(directory) as opener:
            descend(visit, threads, lambda: None)
    except Failed as error:
        if not is_gone(error):
            raise
