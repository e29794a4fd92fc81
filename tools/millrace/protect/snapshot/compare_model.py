# SPDX-License-Identifier: Apache-2.0
"""How two snapshots of a share, or a snapshot and the share, differ."""

from typing import Literal

from pydantic import Field

from millrace.protect.snapshot.snapshot_model import EntryKind
from millrace.system.documents import Contract, Count

DifferenceKind = Literal["added", "changed", "permissions", "moved", "removed"]


class SnapshotDifference(Contract):
    """An entry that differs. `path` is its name in the newer tree, in the older one of what was removed.

    `former` is where a `moved` entry was. `bytes` are those of a file. `permissions` have another owner, group or mode
    and the same content; one that was moved as well is there twice.
    """

    what: DifferenceKind
    kind: EntryKind
    path: str
    former: str | None
    bytes: Count


class SnapshotComparison(Contract):
    """How `newer` differs from `older`: numbers of files and directories, the first entries by path, how many more.

    A directory that was moved counts once, with what it holds. Of one that was added or removed all that it holds
    counts. `unread` entries were moved, replaced or held by clients while they were compared, could not be read, or
    are below more directories than are compared; `unread_names` are some of them.
    """

    schema_version: Literal[1] = 1
    older: str
    newer: str
    compared: Count
    added: Count
    changed: Count
    permissions: Count
    moved: Count
    removed: Count
    unread: Count
    unread_names: list[str] = Field(default_factory=list)
    entries: list[SnapshotDifference]
    more: Count
