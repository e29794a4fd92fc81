# SPDX-License-Identifier: Apache-2.0
"""What two trees hold that are compared, and how they differ as far as that is known; all of it is bounded."""

import errno
import os
import stat
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock

from millrace.protect.snapshot.compare_model import DifferenceKind, SnapshotDifference
from millrace.protect.snapshot.snapshot_model import EntryKind
from millrace.system.extents import same_content
from millrace.system.text import printable_name
from millrace.system.trees.descend import GONE, entries

LISTED = 1000
"""Entries that a comparison names."""
MATCHED = 50_000
"""Entries that are looked at for whether they were moved, on each side; others count as not moved."""
PART = 1 << 17
"""Names of a directory whose states are held at once: one may have millions."""
SHOWN_NAMES = 256
"""A path with more names is shown shortened."""
NAMED = 10
"""Entries that could not be compared and are named."""

# a device, or a file that an NFS client holds for writing, keeps nobody waiting
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS: dict[int, EntryKind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
# a bad sector, or a structure of XFS that its checksum refutes: of one file
_UNREADABLE = (errno.EIO, errno.ENODATA, errno.EUCLEAN, errno.EBADMSG)
# snapshots have none of them
_DEVICES = (stat.S_IFCHR, stat.S_IFBLK)

Names = tuple[str, ...]


@dataclass(frozen=True)
class HeldEntry:
    """An entry of one side: its names from the top that is compared, and its state."""

    path: Names
    state: os.stat_result


@dataclass
class Differences:
    """What was found. What is `gone` or has `come` may be one that was moved."""

    lock: RLock = field(default_factory=RLock)
    compared: int = 0
    unread: int = 0
    unread_names: list[str] = field(default_factory=list)
    counts: Counter[DifferenceKind] = field(default_factory=Counter)
    listed: list[SnapshotDifference] = field(default_factory=list)
    gone: list[HeldEntry] = field(default_factory=list)
    come: list[HeldEntry] = field(default_factory=list)
    refused: set[tuple[Names, Names]] = field(default_factory=set)

    def skip(self, path: Names, kind: EntryKind = "directory") -> None:
        """Count what cannot be compared; the first ones are named."""
        self.unread += 1
        if len(self.unread_names) < NAMED:
            self.unread_names.append(shown_path(path, kind))

    def add(self, what: DifferenceKind, held: HeldEntry, former: Names | None = None) -> None:
        """Count an entry; the first ones by path are listed."""
        self.counts[what] += 1
        kind = kind_of_entry(held.state)
        self.listed.append(
            SnapshotDifference(
                what=what,
                kind=kind,
                path=shown_path(held.path, kind),
                former=None if former is None else shown_path(former, kind),
                bytes=held.state.st_size if kind == "file" else 0,
            )
        )
        if len(self.listed) > 2 * LISTED:
            self.listed = sorted(self.listed, key=lambda entry: entry.path)[:LISTED]


HeldPair = tuple[HeldEntry, HeldEntry]


def parts_of(at: int) -> int:
    """Return in how many parts the names of an open directory are read. OSError: it cannot be read."""
    with os.scandir(at) as listed:
        return 1 + sum(1 for _ in listed) // PART


def held_entries(at: int, part: int = 0, parts: int = 1) -> Iterator[tuple[str, os.stat_result]]:
    """Yield what an open directory holds that a snapshot would have, in one of so many parts of its names.

    OSError: it cannot be read.
    """
    device = os.fstat(at).st_dev
    for name, state in entries(at, lambda name: parts == 1 or zlib.crc32(os.fsencode(name)) % parts == part):
        if state.st_dev == device and stat.S_IFMT(state.st_mode) not in _DEVICES:
            yield name, state


def same_rights(old: os.stat_result, new: os.stat_result) -> bool:
    """Whether owner, group and mode are the same."""
    return (old.st_mode, old.st_uid, old.st_gid) == (new.st_mode, new.st_uid, new.st_gid)


def same_file(
    name: str, old: os.stat_result, new: os.stat_result, left: int, right: int, other: str | None = None
) -> bool | None:
    """Whether a file has the same content in both; None where a client, or a fault, keeps it from being read.

    `other` is its name in the second directory where it has another one there. OSError: the pool fails.
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


@contextmanager
def _file(name: str, at: int) -> Iterator[int]:
    descriptor = os.open(name, _READ, dir_fd=at)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def kind_of_entry(state: os.stat_result) -> EntryKind:
    """Return what an entry is."""
    return _KINDS.get(stat.S_IFMT(state.st_mode), "other")


def shown_path(path: Names, kind: EntryKind) -> str:
    """Return a path fit for one line; that of a directory ends with a slash."""
    shown = path if len(path) <= SHOWN_NAMES else (*path[:3], "…", *path[-1:])
    return printable_name(os.fsencode("/".join(shown))) + ("/" if kind == "directory" else "")
