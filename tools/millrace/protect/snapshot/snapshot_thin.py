# SPDX-License-Identifier: Apache-2.0
"""Which scheduled snapshots are removed: those that the schedule keeps no longer, and the oldest for free space.

Never one that is not older than the newest complete one of its share, none of a share of an earlier time, none that a
user made, and none whose time is not known: a clock that was wrong removes nothing.
"""

import os
from collections.abc import Sequence
from datetime import datetime

from millrace.protect.snapshot import snapshot_remove
from millrace.protect.snapshot.snapshot_model import SnapshotRow, kind_of
from millrace.protect.snapshot.snapshot_schedule import KINDS, made_at, stamp
from millrace.protect.snapshot.snapshot_schedule_model import FloorRemoval
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.config import store
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.serve.share import kept_snapshots
from millrace.serve.share.server import ShareServer
from millrace.system.errors import Refused
from millrace.system.wait import wait_until

FREEING = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds between looks at the free space: XFS frees the blocks of removed files in the background."""


def removable(rows: Sequence[SnapshotRow], now: datetime) -> list[SnapshotRow]:
    """Return the scheduled snapshots of one share that may be removed, the oldest first."""
    newest = max((at for row in rows if (at := _complete(row, now))), default=None)
    old = [
        (at, row)
        for row in rows
        if kind_of(row.name) in KINDS and (at := _complete(row, now)) and newest is not None and at < newest
    ]
    return [row for _, row in sorted(old, key=lambda pair: pair[0])]


def surplus(schedule: SnapshotSchedule, rows: Sequence[SnapshotRow], now: datetime) -> list[SnapshotRow]:
    """Return the snapshots of one share that its schedule keeps no longer, the oldest first."""
    allowed = removable(rows, now)
    beyond: set[str] = set()
    for kind, number in schedule.kept.items():
        names = sorted(row.name for row in rows if kind_of(row.name) == kind and _complete(row, now))
        beyond.update(names[: max(len(names) - number, 0)])
    return [row for row in allowed if row.name in beyond]


def thin(share: str, server: ShareServer, now: datetime) -> list[str]:
    """Remove what the schedule of a share keeps no longer; return the names. A share without a schedule keeps all."""
    config = store.load()
    desired = config.share(share)
    if desired is None or desired.snapshots is None:
        return []
    rows = SnapshotStore(server.pool.filesystem.mountpoint).rows(config, share)
    return [row.name for row in surplus(desired.snapshots, rows, now) if _remove(row, server)]


def hold_floor(floor: int, server: ShareServer, now: datetime) -> FloorRemoval | None:
    """Remove the oldest scheduled snapshots of all shares until `floor` percent of the pool are free.

    None where nothing was to do. Failed: what was removed frees no space.
    """
    snapshots = SnapshotStore(server.pool.filesystem.mountpoint)
    if has_free(floor, snapshots.mountpoint):
        return None
    removed = 0
    for row in _oldest(snapshots, now):
        if not _remove(row, server):
            continue
        removed += 1
        snapshots.remove_old(server.run)
        if wait_until(lambda: has_free(floor, snapshots.mountpoint), bool, FREEING, server.pause):
            break
    is_enough = has_free(floor, snapshots.mountpoint)
    return FloorRemoval(at=stamp(now), removed=removed, floor=floor, is_enough=is_enough) if removed else None


def has_free(percent: int, mountpoint: str) -> bool:
    """Whether so many percent of the pool are free. OSError: the pool cannot be asked."""
    return room(percent, mountpoint) >= 0


def room(percent: int, mountpoint: str) -> int:
    """Return the free bytes of the pool above so many percent; negative below. OSError: the pool cannot be asked."""
    pool = os.statvfs(kept_snapshots.top(mountpoint).parent)
    return (pool.f_bavail - pool.f_blocks * percent // 100) * pool.f_frsize


def _oldest(snapshots: SnapshotStore, now: datetime) -> list[SnapshotRow]:
    by_share: dict[str, list[SnapshotRow]] = {}
    for row in snapshots.rows(store.load(), None):
        by_share.setdefault(row.share, []).append(row)
    return sorted((row for rows in by_share.values() for row in removable(rows, now)), key=lambda row: row.name)


def _complete(row: SnapshotRow, now: datetime) -> datetime | None:
    """When a snapshot was made that can be read and is of the share of now; None for others."""
    return None if row.former or row.manifest is None else made_at(row.name, now)


def _remove(row: SnapshotRow, server: ShareServer) -> bool:
    try:
        snapshot_remove.remove(f"{row.share}@{row.name}", server)
    except Refused:
        # it is being read, or was removed meanwhile
        return False
    return True
