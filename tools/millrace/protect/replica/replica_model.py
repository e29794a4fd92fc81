# SPDX-License-Identifier: Apache-2.0
"""A replica: what is ordered, its progress, how it ended, and what is known of all replicas."""

from datetime import datetime, timedelta
from typing import Literal

from pydantic import Field

from millrace.protect.snapshot.snapshot_model import SnapshotProgress
from millrace.serve.config.replica import ReplicaSource
from millrace.system import ages, paths
from millrace.system.documents import Contract, Count
from millrace.system.jobs.job import Document

ReplicaAction = Literal["sync", "drill"]
LATE = 3
"""A replica that was not up to date for so many periods is late."""
LEAST_LATE = timedelta(hours=3)
"""Its newest snapshot is late after `LATE` periods and not before this: schedules begin at an hour."""


class ReplicaOrder(Contract):
    """What the unit is to do with the replica `share`; `full` compares all files with the source."""

    id: str
    share: str
    action: ReplicaAction
    full: bool
    by: str


class ReplicaProgress(Contract):
    """How far a replica is: entries of all that the snapshot has, and bytes that were read from the source."""

    schema_version: Literal[1] = 1
    share: str
    snapshot: str
    entries: Count
    total: Count
    fetched: Count
    rate: Count


class ReplicaReport(Contract):
    """How a replica was brought up to date at `at`. Times are ISO 8601 in UTC, sizes in bytes.

    `snapshot` is the newest one of the source that has a list; `moment` is when the share was like it. `is_new`: it was
    not here before. `is_newest`: the source had none after it. Of its `entries` `shared` files have all blocks of an
    earlier snapshot here, of `changed` ones the ranges that differ were read. `fetched` were read from the source,
    `verified` of them twice. `removed` snapshots were more than are kept. `unread` files the source cannot read: they
    are missing in the snapshot, whose manifest names some.
    """

    schema_version: Literal[1] = 1
    id: str
    share: str
    source: str
    snapshot: str
    moment: str
    at: str
    is_new: bool
    is_newest: bool = True
    entries: Count = 0
    shared: Count = 0
    changed: Count = 0
    fetched: Count = 0
    verified: Count = 0
    seconds: Count = 0
    removed: list[str] = Field(default_factory=list)
    unread: Count = 0


class DrillReport(Contract):
    """How a drill ended: `files` of a snapshot were restored and compared with the source, `bytes` in all.

    `different` of them are not what the source has.
    """

    schema_version: Literal[1] = 1
    id: str
    share: str
    snapshot: str
    at: str
    files: Count
    bytes: Count
    different: Count


class ReplicaState(Contract):
    """What is known of a replica: its last runs. `problem` is why the last one ended badly; null where it did not.

    `since` is when it was added, or when this record began. `tried_at` is when the last run began, or was cancelled;
    `unfinished` is the order of a run that began and has not ended by itself. `current_at` is when it last had the
    newest snapshot of the source. `newest` is the last snapshot that came here, `moment` when the source was like it.
    `distrusted`: files here differed from the source, so the next snapshot is read as a whole.
    """

    share: str
    since: str | None = None
    tried_at: str | None = None
    unfinished: str | None = None
    newest: str | None = None
    moment: str | None = None
    problem: str | None = None
    current_at: str | None = None
    report: ReplicaReport | None = None
    drill: DrillReport | None = None
    distrusted: bool = False


class ReplicaStates(Contract):
    """What is known of all replicas."""

    schema_version: Literal[1] = 1
    replicas: list[ReplicaState] = Field(default_factory=list)

    def of(self, share: str) -> ReplicaState:
        """Return what is known of a replica."""
        return next((state for state in self.replicas if state.share == share), ReplicaState(share=share))

    def with_state(self, state: ReplicaState) -> "ReplicaStates":
        """Return it with another state of a replica."""
        others = [each for each in self.replicas if each.share != state.share]
        return ReplicaStates(replicas=[*others, state])


STATES = Document(paths.replicas_file, ReplicaStates)


class ReplicaRow(Contract):
    """A replica. `snapshots` are held here; `newest` is the last of them, `moment` when the source was like it.

    `age` are the seconds since that; `lag` those since it last had the newest snapshot of the source. Null is never.
    `late` says why it does not protect as it should, in a sentence; null where it does.
    """

    share: str
    source: str
    every: Count
    keep: Count
    paused: bool
    running: bool
    snapshots: Count
    newest: str | None
    moment: str | None
    age: int | None
    lag: int | None
    late: str | None
    last: ReplicaState


class ReaderRow(Contract):
    """A server that may read the snapshots of a share of this one, by its address and the CA that it shows."""

    share: str
    address: str
    fingerprint: str


class ReplicaList(Contract):
    """The replicas of this server, and the servers that have replicas of its shares."""

    schema_version: Literal[1] = 1
    replicas: list[ReplicaRow]
    readers: list[ReaderRow] = Field(default_factory=list)


class ReplicaCertificate(Contract):
    """The CA of this server, whose certificate it shows to the sources of its replicas."""

    schema_version: Literal[1] = 1
    fingerprint: str
    authority: str


class ReplicaChange(Contract):
    """What was decided of a replica, or of a server that reads snapshots, in sentences."""

    schema_version: Literal[1] = 1
    share: str
    done: list[str]
    warnings: list[str] = Field(default_factory=list)


class Promotion(Contract):
    """A replica that is a served share now, as it was in `snapshot`. `missing` is what this server lacks, in words."""

    schema_version: Literal[1] = 1
    share: str
    snapshot: str
    moment: str
    missing: list[str]
    warnings: list[str] = Field(default_factory=list)


ReplicaLine = ReplicaProgress | ReplicaReport
DrillLine = ReplicaProgress | DrillReport
PromotionLine = SnapshotProgress | Promotion


def late(source: ReplicaSource, state: ReplicaState, moment: str | None, now: datetime) -> str | None:
    """Return why a replica does not protect as it should; None where it does, or is paused."""
    if source.paused:
        return None
    period = timedelta(minutes=source.every)
    # before the first end from when it was added: a run that is killed each time has none
    counted = state.current_at or state.since
    lag = None if counted is None else ages.age(counted, now)
    is_behind = counted is not None and (lag is None or lag > LATE * period)
    if moment is None:
        return "it has no snapshot yet" if is_behind or state.problem is not None else None
    if is_behind:
        return f"it was not up to date for more than {LATE} periods"
    age = ages.age(moment, now)
    if age is None or age > max(LATE * period, LEAST_LATE):
        return f"its newest snapshot is older than {LATE} periods: the source makes none, or has listed none"
    return None
