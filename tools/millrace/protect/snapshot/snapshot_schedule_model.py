# SPDX-License-Identifier: Apache-2.0
"""Schedules of snapshots: the plan of a schedule, how the last attempt ended, and how many snapshots there are."""

from datetime import timedelta
from typing import Literal

from pydantic import Field

from millrace.protect.snapshot.retention_model import KeptFloor, Retention, TighterSchedule
from millrace.protect.snapshot.snapshot_model import OrderedRemoval
from millrace.serve.config.schedule import ScheduledKind, SnapshotSchedule
from millrace.system.documents import Contract, Count
from millrace.system.jobs import job_paths
from millrace.system.jobs.job import Document


class SchedulePlan(Contract):
    """What a schedule will cost, before its first snapshot.

    A snapshot has `entries` files and directories, takes about so many `seconds` (by an earlier snapshot or clone where
    `measured`), and its `metadata` in bytes of the pool. When all `kept` snapshots are there, they hold `held` bytes of
    metadata, and what clients changed or removed since the oldest of them. `free` are bytes of the pool above the
    floor of the policy, of `floor` percent. `obstacle` is why such a schedule cannot hold.
    """

    share: str
    schedule: SnapshotSchedule | None
    entries: Count
    seconds: Count
    measured: bool
    metadata: Count
    kept: Count
    held: Count
    free: Count
    floor: Count
    obstacle: str | None


class ScheduleChange(Contract):
    """A schedule that is set, or that would be with --dry-run; `plan` is null where a schedule ends.

    `tighter` is when it removes snapshots that the schedule before keeps; null where it removes none of them.
    """

    schema_version: Literal[1] = 1
    share: str
    schedule: SnapshotSchedule | None
    plan: SchedulePlan | None
    tighter: TighterSchedule | None = None


class ScheduleTry(Contract):
    """How the last scheduled snapshot of a share ended; `seconds` is how long the last complete one took.

    `at` is ISO 8601 in UTC. `problem` is why there is none, null where it is complete.
    """

    share: str
    kind: ScheduledKind
    at: str
    seconds: Count | None
    problem: str | None


class FloorRemoval(Contract):
    """Scheduled snapshots that were removed for free space, from `since` to `at` (ISO 8601 in UTC).

    `is_enough`: the floor of so many percent held then. `is_vain`: the last ones freed next to nothing, and `lacking`
    percent of the pool or of its inodes were missing after that.
    """

    since: str
    at: str
    removed: Count
    floor: Count
    is_enough: bool
    is_vain: bool = False
    lacking: float = 0.0


class ScheduleRecord(Contract):
    """What the upkeep of snapshots did since the boot; `checked` is when it last looked what is due."""

    schema_version: Literal[1] = 1
    checked: str
    tries: list[ScheduleTry] = Field(default_factory=list)
    floor: FloorRemoval | None = None

    def last(self, share: str) -> ScheduleTry | None:
        """Return how the last one of a share ended; None where there was none since the boot."""
        return next((each for each in self.tries if each.share == share), None)


class ShareSnapshots(Contract):
    """The snapshots of a share by kind: how many, and when the newest was made (ISO 8601 in UTC).

    `removals` are to be removed, as was ordered, and `locked` have a lock.
    Those of a former share of this name do not count, nor those whose time has yet to come by the clock.
    """

    share: str
    held: dict[str, int]
    newest: dict[str, str]
    removals: Count = 0
    locked: Count = 0


class SnapshotCounts(Contract):
    """How many snapshots the shares have; checks and metrics read this, and do not open the pool.

    `removals` are all that are ordered, also of former shares. `tighter` and `floor` are changes that wait, as in the
    list of snapshots. `problem` is why that is not known.
    """

    schema_version: Literal[1] = 1
    at: str
    shares: list[ShareSnapshots]
    removals: list[OrderedRemoval] = Field(default_factory=list)
    tighter: list[Retention] = Field(default_factory=list)
    floor: KeptFloor | None = None
    problem: str | None = None

    def of(self, share: str) -> ShareSnapshots:
        """Return those of a share."""
        none = ShareSnapshots(share=share, held={}, newest={})
        return next((each for each in self.shares if each.share == share), none)


class ScheduledShare(Contract):
    """The schedule of a share, its snapshots, and how the last scheduled one ended."""

    share: str
    schedule: SnapshotSchedule
    snapshots: ShareSnapshots
    last: ScheduleTry | None


class ScheduleList(Contract):
    """The schedules of all shares that have one."""

    schema_version: Literal[1] = 1
    shares: list[ScheduledShare]


NEWS = timedelta(days=1)
"""For so long a removal for free space is reported, and a removal in vain is not repeated."""

COUNTS = Document(job_paths.snapshot_counts_file, SnapshotCounts)
RECORD = Document(job_paths.snapshot_schedule_file, ScheduleRecord)
