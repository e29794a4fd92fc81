# SPDX-License-Identifier: Apache-2.0
"""Which of the entries that are gone from one place have come to another one, with the same content."""

import hashlib
import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterator

from millrace.protect.snapshot.compare_entries import (
    Differences,
    HeldEntry,
    HeldPair,
    held_entries,
    same_file,
    same_rights,
)
from millrace.system.errors import Failed
from millrace.system.trees.descend import below, is_gone


def add_moved(ours: HeldEntry, theirs: HeldEntry, differences: Differences) -> None:
    """Count an entry that was moved, and its permissions where they are other ones by now."""
    differences.add("moved", theirs, ours.path)
    if not same_rights(ours.state, theirs.state):
        differences.add("permissions", theirs)


def moved_directories(older: int, newer: int, differences: Differences) -> list[HeldPair]:
    """Take the directories that were moved from what is gone and has come.

    The time of change of a directory stays if it is moved, and so do the names in it, in most cases.
    """

    def same(ours: HeldEntry, theirs: HeldEntry) -> bool:
        with below(older, ours.path) as left, below(newer, theirs.path) as right:
            return _fingerprint(left) == _fingerprint(right)

    return _moved(differences, _alike(differences, stat.S_ISDIR, lambda state: (state.st_mtime_ns,)), same)


def _fingerprint(at: int) -> tuple[int, int]:
    """The number of names in an open directory, and a sum of them that their order does not change."""
    number, total = 0, 0
    for name, _ in held_entries(at):
        number, total = number + 1, total + int.from_bytes(hashlib.sha256(os.fsencode(name)).digest())
    return number, total


def moved_files(older: int, newer: int, differences: Differences) -> None:
    """Take the files that were moved from what is gone and has come, and count them."""

    def same(ours: HeldEntry, theirs: HeldEntry) -> bool:
        with below(older, ours.path[:-1]) as left, below(newer, theirs.path[:-1]) as right:
            return same_file(ours.path[-1], ours.state, theirs.state, left, right, theirs.path[-1]) is True

    alike = _alike(differences, stat.S_ISREG, lambda state: (state.st_mtime_ns, state.st_size))
    for ours, theirs in _moved(differences, alike, same):
        add_moved(ours, theirs, differences)


def _moved(
    differences: Differences, alike: Iterator[HeldPair], same: Callable[[HeldEntry, HeldEntry], bool]
) -> list[HeldPair]:
    """Return which of the pairs are one entry, and take these from what is gone and has come."""
    pairs = []
    for ours, theirs in alike:
        if (ours.path, theirs.path) in differences.refused:
            continue
        try:
            if same(ours, theirs):
                pairs.append((ours, theirs))
            else:
                # the next round finds the same pair
                differences.refused.add((ours.path, theirs.path))
        except Failed as error:
            if not is_gone(error):
                raise
    taken = {id(held) for pair in pairs for held in pair}
    differences.gone = [held for held in differences.gone if id(held) not in taken]
    differences.come = [held for held in differences.come if id(held) not in taken]
    return pairs


def _alike(
    differences: Differences, of_kind: Callable[[int], bool], key: Callable[[os.stat_result], tuple[int, ...]]
) -> Iterator[HeldPair]:
    """Yield what is gone with what has come and is like it, each once."""
    gone = defaultdict[tuple[int, ...], list[HeldEntry]](list)
    for held in differences.gone:
        if of_kind(held.state.st_mode):
            gone[key(held.state)].append(held)
    for held in differences.come:
        if of_kind(held.state.st_mode) and (like := gone.get(key(held.state))):
            yield like.pop(0), held
