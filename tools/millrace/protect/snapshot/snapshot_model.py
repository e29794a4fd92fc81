# SPDX-License-Identifier: Apache-2.0
"""A snapshot of a share: what is asked for, its progress, its manifest, and what is in it."""

from typing import Literal, get_args

from pydantic import Field

from millrace.protect.snapshot.retention_model import KeptFloor, Retention, WaitingRemoval
from millrace.serve.clone.clone_model import Clone, CloneProgress
from millrace.serve.config.choices import ShareType
from millrace.serve.share.kept_snapshots import NamedSnapshot, SnapshotLock
from millrace.system.documents import Contract, Count

SnapshotKind = Literal["manual", "hourly", "daily", "weekly", "monthly", "before-rollback", "backup", "restored"]
SnapshotPhase = Literal["count", "clone", "scan"]
EntryKind = Literal["file", "directory", "link", "other"]


REPLICATED = "replica of "
"""How the `by` of a snapshot begins that a replica has of its source; no user is named so."""


def kind_of(name: str) -> SnapshotKind:
    """Return the kind of a snapshot by its name; `manual`, which no schedule removes, where it ends with none."""
    kinds: tuple[SnapshotKind, ...] = get_args(SnapshotKind)
    return next((kind for kind in kinds if name.endswith(f"-{kind}")), "manual")


class SnapshotOrder(Contract):
    """Of which share the unit is to make a snapshot, and its name; `large` also above the limit of files.

    With `rollback`, the name of another snapshot, the share becomes first what that one is.
    """

    id: str
    share: str
    name: str
    large: bool
    by: str
    rollback: str | None = None


class SnapshotProgress(Contract):
    """How far a snapshot is: files and directories done of all that were counted; `total` is null while it counts."""

    schema_version: Literal[1] = 1
    share: str
    phase: SnapshotPhase
    done: Count
    total: int | None
    seconds_left: int | None


class SnapshotManifest(Contract):
    """What a snapshot is. Times are in UTC.

    Each file is as it was at one moment between `first` and `last`. With `moment` the whole tree is as it was at that
    moment: nothing changed while it was taken, or all that did was taken again. Without, `changed_count` files and
    directories changed until the end, and `changed` names some of them; the name of a directory ends with a slash.
    `project` is the quota project of the share, which no later share of this name has. `entries` are files and
    directories, `bytes` those of their blocks, which the snapshot shares with the share until they change. `skipped`
    are devices and what is mounted, `taken_again` what changed meanwhile and was taken again. `bare_count` files and
    directories, of which `bare` names some, have more extended attributes than the kernel lists: they are in the
    snapshot with their access lists and without the other attributes. `unread_count` files, of which `unread` names
    some, are missing in the snapshot of a replica, as its source could not read them. `type` is the type of the share
    at the time; null in snapshots of earlier releases.
    """

    schema_version: Literal[1] = 1
    id: str
    share: str
    project: int
    name: str
    kind: SnapshotKind
    by: str
    first: str
    last: str
    moment: str | None
    entries: Count
    bytes: Count
    skipped: Count
    taken_again: Count
    changed_count: Count
    changed: list[str]
    type: ShareType | None = None
    bare_count: Count = 0
    bare: list[str] = Field(default_factory=list)
    unread_count: Count = 0
    unread: list[str] = Field(default_factory=list)


# What `millrace snapshot create --json` prints: progress many times, then the manifest.
SnapshotLine = SnapshotProgress | SnapshotManifest


class OrderedRemoval(NamedSnapshot, WaitingRemoval):
    """A snapshot whose removal `by` ordered at `at`."""


class SnapshotRow(Contract):
    """One snapshot. `manifest` is null where it cannot be read, and `problem` says why.

    Viewers list snapshots: `changed`, `bare` and `unread` of the manifest are empty here: they have names of files.
    `former`: the share of this name is another one by now, or there is none. `removal` is ordered, and waits; null
    where none is. `lock` keeps it until its date; null where it is not locked.
    """

    share: str
    name: str
    former: bool
    manifest: SnapshotManifest | None
    problem: str | None
    removal: OrderedRemoval | None = None
    lock: SnapshotLock | None = None


class SnapshotList(Contract):
    """The snapshots of this server, or of one share, the oldest of each share first.

    `tighter` are the shares whose schedule keeps fewer of them after the waiting time, and `floor` is the floor of free
    space if it rises then; null where it does not.
    `problem` is why it is not known which of them are locked or to be removed; nothing is removed then.
    """

    schema_version: Literal[1] = 1
    snapshots: list[SnapshotRow]
    tighter: list[Retention] = Field(default_factory=list)
    floor: KeptFloor | None = None
    problem: str | None = None


class SnapshotEntry(Contract):
    """What is in a directory of a snapshot: its name fit for one line, `bytes` of a file, when its content changed."""

    name: str
    kind: EntryKind
    bytes: Count
    changed: str


class SnapshotDirectory(Contract):
    """The first entries of a directory of a snapshot by name, and how many more there are."""

    schema_version: Literal[1] = 1
    place: str
    entries: list[SnapshotEntry]
    more: Count


class SnapshotRemoval(Contract):
    """A snapshot that is to be removed, when that is expected (ISO 8601 in UTC), and in how many seconds."""

    schema_version: Literal[1] = 1
    share: str
    name: str
    by: str
    due: str
    left: Count


class SnapshotKept(Contract):
    """A snapshot that stays: its removal, which `by` had ordered, is cancelled."""

    schema_version: Literal[1] = 1
    share: str
    name: str
    by: str


class SnapshotLocked(Contract):
    """A snapshot that nothing removes before `until` (ISO 8601 in UTC). `cancelled`: a removal of it was ordered."""

    schema_version: Literal[1] = 1
    share: str
    name: str
    until: str
    cancelled: bool


class RestoredFile(Contract):
    """A file of a snapshot that is in a share again; it shares its blocks with the snapshot until they change."""

    schema_version: Literal[1] = 1
    source: str
    target: str
    bytes: Count


# What `millrace snapshot get --json` prints: a file at once; of a directory the progress, then how it ended.
RestoreLine = RestoredFile | CloneProgress | Clone
