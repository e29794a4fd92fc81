# SPDX-License-Identifier: Apache-2.0
"""What millrace-cleanup@schedule.service does: make the snapshots that are due, one after the other, and thin them.

A snapshot is a job as one of a user is. One that fails stays due, and the next upkeep tries it again.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from millrace.protect.snapshot import (
    kept_removals,
    snapshot_counts,
    snapshot_job,
    snapshot_remove,
    snapshot_retention,
    snapshot_thin,
)
from millrace.protect.snapshot.kept_removals import RemovalClock
from millrace.protect.snapshot.snapshot_schedule import due, is_ahead, stamp
from millrace.protect.snapshot.snapshot_schedule_model import NEWS, RECORD, FloorRemoval, ScheduleRecord, ScheduleTry
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.config import store
from millrace.serve.config.model import DesiredShare
from millrace.serve.config.schedule import ScheduledKind
from millrace.serve.share.server import ShareServer
from millrace.system import ages, locks, paths
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.files import describe
from millrace.system.jobs.job import SERVER
from millrace.system.users import only_root

ALREADY = "the upkeep of snapshots is running: systemctl status millrace-cleanup@schedule.service"
SETTLING = 3600.0
"""Seconds after a start for which a clock that is not synchronised is not believed: a time client corrects it soon."""


def upkeep(
    server: ShareServer,
    now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    uptime: Callable[[], float] = lambda: time.clock_gettime(time.CLOCK_BOOTTIME),
) -> list[str]:
    """Remove what was ordered, hold the floor of free space, make what is due, and thin; return that in words.

    `now` has the zone of the server, and `uptime` is in seconds. Refused: another process does so. Failed, OSError: the
    pool fails.
    """
    only_root()
    with locks.held(paths.run_dir() / "snapshot/upkeep.lock", ALREADY):
        _begin(server, now())
        clock = RemovalClock(now, uptime)
        done = _ordered(server, clock)
        removed, held = _hold(server, now(), snapshot_thin.MOST)
        done += held
        doubt = _doubt(server, now(), uptime())
        for name in [share.name for share in store.load().shares if share.snapshots is not None]:
            # snapshots before it may have taken hours
            done += [line for line in _ordered(server, clock) if line not in done]
            try:
                done += _share(name, server, now, doubt)
            except (MillraceError, OSError) as error:
                # the other shares have theirs
                done.append(f"{name}: {describe(error)}")
        done += _hold(server, now(), snapshot_thin.MOST - removed)[1]
        snapshot_counts.write(server.pool.filesystem.mountpoint, now())
    return done


def _begin(server: ShareServer, now: datetime) -> None:
    """Record that it is looked; the first time in a boot with what the pool keeps of the floor."""
    if RECORD.get() is None:
        with suppress(Refused):
            # what the floor removed is reported for a day, also after a start
            kept = kept_removals.read(server.pool.filesystem.mountpoint, RemovalClock())
            RECORD.write(ScheduleRecord(checked=stamp(now), floor=kept.floor))
    _note(stamp(now))


def _ordered(server: ShareServer, clock: RemovalClock) -> list[str]:
    try:
        return snapshot_remove.carry_out(server, clock)
    except (MillraceError, OSError) as error:
        # what is due stays so, and the schedules go on
        return [describe(error)]


def _doubt(server: ShareServer, now: datetime, uptime: float) -> MillraceError | None:
    """Why the clock is not believed: a snapshot of a wrong time would end a real one, and count for nothing later.

    A clock that a time client synchronised is right, and one without a time client is the administrator's.
    """
    if not snapshot_remove.is_unsynchronised(server.run):
        return None
    rows = SnapshotStore(server.pool.filesystem.mountpoint).listed(store.load(), None).snapshots
    # nobody can remove a locked one, and an ordered removal takes its time
    removable = [row for row in rows if row.lock is None and row.removal is None]
    ahead = next((f"{row.share}@{row.name}" for row in removable if is_ahead(row.name, now)), None)
    if ahead is not None:
        return Failed(
            f"the clock is not synchronised, and the time of snapshot {ahead} has yet to come: synchronise the clock "
            "(timedatectl timesync-status), or remove that snapshot if the clock is right now"
        )
    return Refused(snapshot_remove.UNSYNCHRONISED) if uptime < SETTLING else None


def _share(name: str, server: ShareServer, now: Callable[[], datetime], doubt: MillraceError | None) -> list[str]:
    # snapshots before it may have taken hours
    config = store.load()
    share = config.share(name)
    if share is None or share.snapshots is None:
        return []
    rows = SnapshotStore(server.pool.filesystem.mountpoint).rows(config, name)
    kind = due(share.snapshots, [row.name for row in rows if not row.former], now())
    done = [] if kind is None else [_make(share, kind, server, now, doubt)]
    if doubt is not None:
        return done
    return [*done, *(f"{name}@{old} is removed" for old in snapshot_thin.thin(name, server, now()))]


def _make(
    share: DesiredShare,
    kind: ScheduledKind,
    server: ShareServer,
    now: Callable[[], datetime],
    doubt: MillraceError | None,
) -> str:
    assert share.snapshots is not None
    began = time.monotonic()
    last = _record().last(share.name)
    seconds = last.seconds if last is not None else None
    try:
        if doubt is not None:
            raise doubt
        _require_free(server.pool.filesystem.mountpoint)
        order = snapshot_job.prepare(share.name, share.snapshots.large, server, kind, SERVER)
        snapshot_job.start(order, server)
        for _ in snapshot_job.follow(order, server):
            pass
    except Refused as refused:
        # another job keeps it from that; it stays due
        return f"{share.name} has no {kind} snapshot yet: {refused}"
    except Failed as failed:
        _try(ScheduleTry(share=share.name, kind=kind, at=stamp(now()), seconds=seconds, problem=str(failed)))
        return f"{share.name} has no {kind} snapshot: {failed}"
    seconds = round(time.monotonic() - began)
    _try(ScheduleTry(share=share.name, kind=kind, at=stamp(now()), seconds=seconds, problem=None))
    return f"{share.name}@{order.name} is made"


def _require_free(mountpoint: str) -> None:
    # what is made below the floor would be removed again at once
    floor = snapshot_retention.floor(mountpoint)
    if not snapshot_thin.has_free(floor, mountpoint):
        raise Failed(
            f"less than {floor} % of the pool or of its inodes is free (policy: snapshots.free), and a full pool makes "
            f"no snapshot: remove files, or {snapshot_remove.remedy()}"
        )


def _hold(server: ShareServer, now: datetime, most: int) -> tuple[int, list[str]]:
    """Hold the floor with `most` removals; return how many there were, and that in words."""
    floor = snapshot_retention.floor(server.pool.filesystem.mountpoint)
    before = _record().floor
    if before is not None and not ages.is_recent(before.at, NEWS, now):
        before = None
    if before is not None and before.is_vain and before.floor == floor:
        missing = snapshot_thin.lacking(floor, server.pool.filesystem.mountpoint)
        # where much more is missing by now, snapshots may hold it
        if missing < 2 * before.lacking:
            return 0, []

    def note(removal: FloorRemoval) -> None:
        _note(stamp(now), removal, before)
        # of a pool that takes nothing more it is known until the next start
        with suppress(MillraceError, OSError):
            kept_removals.keep_floor(server.pool.filesystem.mountpoint, _record().floor)

    removal = snapshot_thin.hold_floor(floor, server, now, most, note)
    if removal is None:
        return 0, []
    what = (
        f"{removal.removed} scheduled snapshots are removed, as less than {floor} % of the pool or its inodes was free"
    )
    return removal.removed, [what]


def _record() -> ScheduleRecord:
    return RECORD.get() or ScheduleRecord(checked="1970-01-01T00:00:00+00:00")


def _note(at: str, removal: FloorRemoval | None = None, earlier: FloorRemoval | None = None) -> None:
    """Record that it was looked, and what was removed for free space, together with what was `earlier`."""
    before = _record()
    if removal is not None and earlier is not None:
        added = {"since": earlier.since, "removed": earlier.removed + removal.removed}
        removal = removal.model_copy(update=added)
    RECORD.write(before.model_copy(update={"checked": at, "floor": removal or before.floor}))


def _try(ended: ScheduleTry) -> None:
    before = _record()
    tries = [*(each for each in before.tries if each.share != ended.share), ended]
    RECORD.write(before.model_copy(update={"checked": ended.at, "tries": tries}))
