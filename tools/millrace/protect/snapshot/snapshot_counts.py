# SPDX-License-Identifier: Apache-2.0
"""How many snapshots there are, written where checks and metrics read it without opening the pool."""

from datetime import UTC, datetime

from millrace.protect.snapshot.snapshot_schedule import counts
from millrace.protect.snapshot.snapshot_schedule_model import COUNTS, RECORD, ScheduledShare, ScheduleList
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.config import store


def write(mountpoint: str, now: datetime | None = None) -> None:
    """Write how many snapshots each share has. OSError: they cannot be listed."""
    listed = SnapshotStore(mountpoint).listed(store.load(), None)
    COUNTS.write(counts(listed, now or datetime.now(UTC)))


def schedules(mountpoint: str) -> ScheduleList:
    """Return the schedules of all shares that have one, with their snapshots. OSError: they cannot be listed."""
    config, record = store.load(), RECORD.get()
    held = counts(SnapshotStore(mountpoint).listed(config, None), datetime.now(UTC))
    return ScheduleList(
        shares=[
            ScheduledShare(
                share=share.name,
                schedule=share.snapshots,
                snapshots=held.of(share.name),
                last=record.last(share.name) if record is not None else None,
            )
            for share in config.shares
            if share.snapshots is not None
        ]
    )
