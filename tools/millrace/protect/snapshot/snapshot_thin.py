# SPDX-License-Identifier: Apache-2.0
"""Which scheduled snapshots are removed: those that the schedule keeps no longer, and the oldest for free space.

Never one that is not older than the newest complete scheduled one of its share, none of a share of an earlier time,
none that a user made, and none whose time is not known: a clock that was wrong removes nothing. For free space the
newest complete one of each kind stays, too, and none of a replica is removed: how many it keeps is its own, its runs
end above the floor, and a source whose files were encrypted would fill the pool until the good ones were gone.
"""

import os
from collections.abc import Callable, Sequence
from datetime import datetime

from millrace.protect.snapshot import kept_removals, snapshot_holds, snapshot_remove, snapshot_retention
from millrace.protect.snapshot.kept_removals import RemovalClock
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
MOST = 8
"""Snapshots that one upkeep removes for free space at most: each keeps it for up to the sum of `FREEING`."""
VAIN = 3
"""After so many removals in a row that gained next to nothing no more are made: something else fills the pool."""
GAIN = 0.02
"""The part of what was missing that a removal has to gain."""


def removable(rows: Sequence[SnapshotRow], now: datetime) -> list[SnapshotRow]:
    """Return the scheduled snapshots of one share that may be removed, the oldest first."""
    # what a user, or a rollback, makes may hold what a schedule is to bring back
    made = [(at, row) for row in rows if kind_of(row.name) in KINDS and (at := _complete(row, now))]
    newest = max((at for at, _ in made), default=None)
    return [row for at, row in sorted(made, key=lambda pair: pair[0]) if newest is not None and at < newest]


def spare(rows: Sequence[SnapshotRow], now: datetime) -> list[SnapshotRow]:
    """Return the scheduled snapshots of one share that may be removed for free space, the oldest first."""
    newest = {kind_of(row.name): row.name for row in sorted(rows, key=lambda row: row.name) if _complete(row, now)}
    return [row for row in removable(rows, now) if row.name != newest[kind_of(row.name)]]


def surplus(schedule: SnapshotSchedule, rows: Sequence[SnapshotRow], now: datetime) -> list[SnapshotRow]:
    """Return the snapshots of one share that its schedule keeps no longer, the oldest first."""
    allowed = removable(rows, now)
    beyond: set[str] = set()
    for kind, number in schedule.kept.items():
        names = sorted(row.name for row in rows if kind_of(row.name) == kind and _complete(row, now))
        beyond.update(names[: max(len(names) - number, 0)])
    return [row for row in allowed if row.name in beyond]


def thin(share: str, server: ShareServer, now: datetime) -> list[str]:
    """Remove what the schedule of a share keeps no longer; return the names. A share without a schedule keeps all.

    Refused: the record of removals cannot be read.
    """
    config, snapshots = store.load(), SnapshotStore(server.pool.filesystem.mountpoint)
    desired = config.share(share)
    if desired is None or desired.snapshots is None:
        return []
    record = kept_removals.read(snapshots.mountpoint, RemovalClock())
    schedule = snapshot_retention.kept(desired, desired.snapshots, record)
    beyond = surplus(schedule, snapshots.rows(config, share), now)
    # what a backup compares the next one with; the floor of free space removes it all the same
    free = [row for row in beyond if snapshot_holds.holder(row.share, row.name, read=False) is None]
    return [row.name for row in free if _remove(row, server)]


def hold_floor(
    floor: int,
    server: ShareServer,
    now: datetime,
    most: int = MOST,
    note: Callable[[FloorRemoval], object] = lambda _: None,
) -> FloorRemoval | None:
    """Remove the oldest scheduled snapshots of all shares until `floor` percent of the pool and its inodes are free.

    Ends after `most` removals, and after `VAIN` in a row that gain next to nothing. `note` gets how it stands after
    each. None where nothing was to do. OSError: the pool cannot be asked.
    """
    snapshots = SnapshotStore(server.pool.filesystem.mountpoint)
    before = lacking(floor, snapshots.mountpoint)
    removal, vain = None, 0
    for row in _oldest(snapshots, now) if before > 0 and most > 0 else ():
        if not _remove(row, server):
            continue
        since, removed = (removal.since, removal.removed) if removal is not None else (stamp(now), 0)
        removal = FloorRemoval(since=since, at=stamp(now), removed=removed + 1, floor=floor, is_enough=False)
        note(removal)
        snapshots.remove_old(server.run)
        after = wait_until(
            lambda: lacking(floor, snapshots.mountpoint), lambda percent: percent <= 0, FREEING, server.pause
        )
        vain = vain + 1 if before - after < before * GAIN else 0
        outcome = {"is_enough": after <= 0, "is_vain": vain >= VAIN and after > 0, "lacking": max(after, 0.0)}
        removal = removal.model_copy(update=outcome)
        note(removal)
        if after <= 0 or vain >= VAIN or removal.removed >= most:
            break
        before = after
    return removal


def has_free(percent: int, mountpoint: str) -> bool:
    """Whether so many percent of the pool and of its inodes are free. OSError: the pool cannot be asked."""
    return lacking(percent, mountpoint) <= 0


def lacking(percent: int, mountpoint: str) -> float:
    """Return how many percent of the pool, or of its inodes, are missing until so many are free; not above 0: none.

    OSError: the pool cannot be asked.
    """
    pool = _pool(mountpoint)
    # a file system without a limit of inodes has 0 of them
    inodes = 100 * pool.f_favail / pool.f_files if pool.f_files else 100
    return percent - min(100 * pool.f_bavail / pool.f_blocks, inodes)


def room(percent: int, mountpoint: str) -> int:
    """Return the free bytes of the pool above so many percent; negative below. OSError: the pool cannot be asked."""
    pool = _pool(mountpoint)
    return (pool.f_bavail - pool.f_blocks * percent // 100) * pool.f_frsize


def inodes(percent: int, mountpoint: str) -> int | None:
    """Return the free inodes of the pool above so many percent, negative below; None where it has no limit of them.

    OSError: the pool cannot be asked.
    """
    pool = _pool(mountpoint)
    return pool.f_favail - pool.f_files * percent // 100 if pool.f_files else None


def _pool(mountpoint: str) -> os.statvfs_result:
    return os.statvfs(kept_snapshots.top(mountpoint).parent)


def _oldest(snapshots: SnapshotStore, now: datetime) -> list[SnapshotRow]:
    by_share: dict[str, list[SnapshotRow]] = {}
    config = store.load()
    replicas = {share.name for share in config.shares if share.replica is not None}
    for row in snapshots.rows(config, None):
        if row.share in replicas:
            continue
        by_share.setdefault(row.share, []).append(row)
    return sorted((row for rows in by_share.values() for row in spare(rows, now)), key=lambda row: row.name)


def _complete(row: SnapshotRow, now: datetime) -> datetime | None:
    """When a snapshot was made that can be read and is of the share of now; None for others."""
    return None if row.former or row.manifest is None else made_at(row.name, now)


def _remove(row: SnapshotRow, server: ShareServer) -> bool:
    try:
        snapshot_remove.remove(f"{row.share}@{row.name}", server)
    except (Refused, FileNotFoundError):
        # it is being read, or was removed meanwhile
        return False
    return True
