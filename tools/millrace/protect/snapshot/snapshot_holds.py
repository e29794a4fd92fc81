# SPDX-License-Identifier: Apache-2.0
"""Snapshots that others need: what is being read stays, and what is compared with the next one is not thinned.

Kept for a boot: who holds a snapshot says so again after a start.
"""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from millrace.serve.share.kept_snapshots import NamedSnapshot
from millrace.system import locks, paths
from millrace.system.documents import Contract
from millrace.system.jobs import job_paths
from millrace.system.jobs.job import Document


class SnapshotHold(NamedSnapshot):
    """A snapshot that `holder` needs. `read`: it is being read, and nothing removes it; else no schedule does."""

    holder: str
    read: bool


class SnapshotHolds(Contract):
    """All holds of this boot."""

    schema_version: Literal[1] = 1
    holds: list[SnapshotHold] = Field(default_factory=list)


HOLDS = Document(job_paths.snapshot_holds_file, SnapshotHolds)


def hold(holder: str, read: bool, snapshots: Iterable[tuple[str, str]]) -> None:
    """Hold snapshots, by share and name, in place of those that `holder` held in this way."""
    with locks.held(paths.run_dir() / "snapshot/holds.lock"):
        before = HOLDS.get() or SnapshotHolds()
        others = [each for each in before.holds if (each.holder, each.read) != (holder, read)]
        own = [SnapshotHold(share=share, name=name, holder=holder, read=read) for share, name in snapshots]
        HOLDS.write(SnapshotHolds(holds=[*others, *own]), 0o600)


def holder(share: str, name: str, read: bool) -> str | None:
    """Return who reads a snapshot, or without `read` who needs it in any way; None where nobody does."""
    now = HOLDS.get() or SnapshotHolds()
    found = (each.holder for each in now.holds if (each.share, each.name) == (share, name) and (each.read or not read))
    return next(found, None)
