# SPDX-License-Identifier: Apache-2.0
"""Ordered removals and locks of snapshots, on the pool beside the snapshots: each with the time that it still takes.

That time passes only while a server runs with the pool, as CLOCK_BOOTTIME counts it: a clock that is set ten years
ahead ends no lock and hastens no removal. The time from a boot to its first look is not counted, nor is the time from
the last look to the end of a boot.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeVar

from pydantic import Field

from millrace.protect.snapshot.retention_model import KeptFloor, Retention, WaitingRemoval
from millrace.protect.snapshot.snapshot_model import OrderedRemoval
from millrace.protect.snapshot.snapshot_schedule import stamp
from millrace.protect.snapshot.snapshot_schedule_model import FloorRemoval
from millrace.serve.share import kept_snapshots
from millrace.serve.share.kept_snapshots import DRIFT, RECORD, NamedSnapshot, SnapshotLock
from millrace.system import ages, locks, paths
from millrace.system.boot import boot_id
from millrace.system.documents import Contract, Count, write_model
from millrace.system.errors import LaterRelease, MillraceError, Refused
from millrace.system.jobs import job_paths
from millrace.system.jobs.job import Document

Waiting = TypeVar("Waiting", bound=WaitingRemoval)


class RemovalRecord(Contract):
    """What is known of removals: those that are ordered, what is locked, and what the floor of free space removed.

    `retentions` are what the schedules keep, and `kept_floor` is the floor that holds, each with what is to follow.
    `boot` is the boot in which the times were counted down last, and `counted` its age in seconds at that time.
    """

    schema_version: Literal[1] = 1
    boot: str = ""
    counted: Count = 0
    removals: list[OrderedRemoval] = Field(default_factory=list)
    locks: list[SnapshotLock] = Field(default_factory=list)
    floor: FloorRemoval | None = None
    retentions: list[Retention] = Field(default_factory=list)
    kept_floor: KeptFloor | None = None

    def removal(self, share: str, name: str) -> OrderedRemoval | None:
        """Return the removal of a snapshot; None where none is ordered."""
        return next((each for each in self.removals if (each.share, each.name) == (share, name)), None)

    def lock(self, share: str, name: str) -> SnapshotLock | None:
        """Return the lock of a snapshot; None where it has none."""
        return next((each for each in self.locks if (each.share, each.name) == (share, name)), None)

    @property
    def is_counted(self) -> bool:
        """Whether time is counted down for anything."""
        is_raised = self.kept_floor is not None and self.kept_floor.raised is not None
        return bool(self.removals or self.locks or is_raised or any(each.tighter for each in self.retentions))

    def retention(self, share: str, project: int) -> Retention | None:
        """Return what is kept of a share; None where no schedule was seen."""
        return next((each for each in self.retentions if (each.share, each.project) == (share, project)), None)

    def without(self, share: str, name: str) -> "RemovalRecord":
        """Return the record without an ordered removal of a snapshot."""
        kept = [each for each in self.removals if (each.share, each.name) != (share, name)]
        return self.model_copy(update={"removals": kept})


class KeptSnapshots(Contract):
    """Removals that were cancelled, as they were ordered."""

    schema_version: Literal[1] = 1
    removals: list[OrderedRemoval]


KEPT = Document(job_paths.snapshot_kept_file, KeptSnapshots)
"""Cancelled removals that a full pool has still in its record, until it takes another one."""


@dataclass(frozen=True)
class RemovalClock:
    """The clock, the seconds for which this server runs, and the id of its boot."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    running: Callable[[], float] = lambda: time.clock_gettime(time.CLOCK_BOOTTIME)
    boot: Callable[[], str] = boot_id


def alone() -> AbstractContextManager[None]:
    """Hold the lock of the record; what is removed is removed under it, so that nothing is locked or kept meanwhile."""
    return locks.held(paths.run_dir() / "snapshot/removals.lock")


def read(mountpoint: str, clock: RemovalClock) -> RemovalRecord:
    """Return the record as of now. Refused: it cannot be read, and what to do; until then nothing is removed."""
    try:
        record = kept_snapshots.read_record(mountpoint, RemovalRecord) or RemovalRecord()
        return _counted(_without_kept(record), mountpoint, clock)
    except LaterRelease as error:
        raise Refused(f"no snapshot is removed: {error}") from error
    except MillraceError as error:
        where = kept_snapshots.top(mountpoint) / RECORD
        raise Refused(
            f"no snapshot is removed, as the record of locks cannot be read: {error}; examine {where} and remove it, "
            "which ends all locks and ordered removals"
        ) from error


def write(mountpoint: str, record: RemovalRecord) -> None:
    """Write the record, unless nothing in it changes; callers hold its lock.

    OSError: the pool fails. BadInput, Failed: the record of before cannot be read.
    """
    before = kept_snapshots.read_record(mountpoint, RemovalRecord) or RemovalRecord()
    same = record.model_copy(update={"boot": before.boot, "counted": before.counted})
    # without anything to count down, the upkeep writes nothing to the pool
    if record.is_counted or same != before:
        write_model(kept_snapshots.top(mountpoint) / RECORD, record, 0o600)
    KEPT.remove()


def cancel(mountpoint: str, removal: OrderedRemoval, record: RemovalRecord) -> None:
    """Cancel a removal of the record, also on a full pool, which takes no new record; callers hold its lock.

    The cancellation is kept in /run then, until the pool takes the record. It does not survive a restart before that.
    BadInput, Failed: the record of before cannot be read.
    """
    try:
        write(mountpoint, record.without(removal.share, removal.name))
    except OSError:
        before = KEPT.get()
        KEPT.write(KeptSnapshots(removals=[*(before.removals if before is not None else []), removal]), 0o600)


def keep_floor(mountpoint: str, removal: FloorRemoval | None) -> None:
    """Keep what was removed for free space for the next boot. Refused: as `read`. OSError: the pool fails."""
    with alone():
        kept = read(mountpoint, RemovalClock())
        write(mountpoint, kept.model_copy(update={"floor": removal}))


def _without_kept(record: RemovalRecord) -> RemovalRecord:
    kept = KEPT.get()
    cancelled = [(each.share, each.name, each.at) for each in kept.removals] if kept is not None else []
    removals = [each for each in record.removals if (each.share, each.name, each.at) not in cancelled]
    return record.model_copy(update={"removals": removals})


def _counted(record: RemovalRecord, mountpoint: str, clock: RemovalClock) -> RemovalRecord:
    """Count down what has passed; what is over, or of a snapshot that is gone, is left out."""
    now, boot, running = clock.now(), clock.boot(), int(clock.running())
    passed = max(running - record.counted, 0) if record.boot == boot else 0
    removals = [_closer(each, passed, now) for each in record.removals if _exists(each, mountpoint)]
    held = [
        each.model_copy(update={"left": max(each.left - passed, 0)})
        for each in record.locks
        if _exists(each, mountpoint)
    ]
    return record.model_copy(
        update={
            "boot": boot,
            "counted": running,
            "removals": removals,
            "retentions": [_sooner(each, passed, now) for each in record.retentions],
            "kept_floor": _higher(record.kept_floor, passed, now),
            "locks": [each for each in held if each.left or ages.until(each.until, now) > timedelta()],
        }
    )


def _closer(removal: Waiting, passed: int, now: datetime) -> Waiting:
    left = max(removal.left - passed, 0)
    due = now + timedelta(seconds=left)
    is_off = abs(ages.until(removal.due, due)) > DRIFT and left > 0
    return removal.model_copy(update={"left": left, "due": stamp(due) if is_off else removal.due})


def _sooner(retention: Retention, passed: int, now: datetime) -> Retention:
    tighter = retention.tighter
    return retention.model_copy(update={"tighter": tighter and _closer(tighter, passed, now)})


def _higher(kept: KeptFloor | None, passed: int, now: datetime) -> KeptFloor | None:
    return kept and kept.model_copy(update={"raised": kept.raised and _closer(kept.raised, passed, now)})


def _exists(each: NamedSnapshot, mountpoint: str) -> bool:
    return kept_snapshots.exists(each.share, each.name, mountpoint)
