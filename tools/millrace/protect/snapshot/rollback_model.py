# SPDX-License-Identifier: Apache-2.0
"""A share that becomes what a snapshot of it is: its journal on the pool, and what is printed of it."""

from typing import Literal

from pydantic import model_validator

from millrace.protect.snapshot.snapshot_model import SnapshotOrder, SnapshotProgress
from millrace.serve.config.choices import ShareType
from millrace.system.documents import Contract, Count
from millrace.system.names import share_name, snapshot_name


class RollbackJournal(Contract):
    """What is known of a rollback before the share is exchanged: `inode` is that of the directory to come.

    `project` and `type` are those of the share. `error` is why what the share held could not be kept yet, in the boot
    of this id.
    """

    schema_version: Literal[1] = 1
    order: SnapshotOrder
    project: int
    type: ShareType | None
    inode: Count
    error: str | None = None
    boot: str = ""

    @model_validator(mode="after")
    def names_are_names(self) -> "RollbackJournal":
        """Verify that no name leads elsewhere, as the writer of adopted drives could have it. ValueError: one may."""
        share_name(self.order.share)
        snapshot_name(self.order.name)
        snapshot_name(str(self.order.rollback))
        return self


class RollbackTry(Contract):
    """The rollback whose end was begun last in this boot, by the id of its order; `served`: clients see the share."""

    id: str
    served: bool


class RollbackForecast(Contract):
    """What a rollback does to a share: the snapshot with its files, `bytes` and moment, and how it is served.

    `moment` is null where files of it are of several moments.
    """

    share: str
    snapshot: str
    entries: Count
    bytes: Count
    moment: str | None
    nfs: bool
    smb: bool


class SnapshotRollback(Contract):
    """A share that is what a snapshot of it was; what it held before is the snapshot `kept`."""

    schema_version: Literal[1] = 1
    share: str
    snapshot: str
    kept: str


# What `millrace snapshot rollback --json` prints: progress many times, then how it ended.
RollbackLine = SnapshotProgress | SnapshotRollback
