# SPDX-License-Identifier: Apache-2.0
"""What millrace-cleanup@schedule.service does: make the snapshots that are due, one after the other, and thin them.

A snapshot is a job as one of a user is. One that fails stays due, and the next upkeep tries it again.
"""

import time
from collections.abc import Callable
from datetime import datetime

from millrace.plan.policy import policy_in_force
from millrace.protect.snapshot import snapshot_counts, snapshot_job, snapshot_thin
from millrace.protect.snapshot.snapshot_run import FLOOR
from millrace.protect.snapshot.snapshot_schedule import due, stamp
from millrace.protect.snapshot.snapshot_schedule_model import RECORD, FloorRemoval, ScheduleRecord, ScheduleTry
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.config import store
from millrace.serve.config.model import DesiredShare
from millrace.serve.config.schedule import ScheduledKind
from millrace.serve.share.server import ShareServer
from millrace.system import locks, paths
from millrace.system.errors import Failed, Refused
from millrace.system.jobs.job import SERVER
from millrace.system.users import only_root

ALREADY = "the upkeep of snapshots is running: systemctl status millrace-cleanup@schedule.service"
FULL = (
    f"less than {FLOOR} % of the pool is free, and a full pool makes no snapshot: remove files, or older snapshots "
    "(millrace snapshot list)"
)


def upkeep(server: ShareServer, now: Callable[[], datetime] = lambda: datetime.now().astimezone()) -> list[str]:
    """Hold the floor of free space, make what is due, and thin; return what was done, in words.

    `now` has the zone of the server. Refused: another process does so. Failed, OSError: the pool fails.
    """
    only_root()
    with locks.held(paths.run_dir() / "snapshot/upkeep.lock", ALREADY):
        _note(stamp(now()))
        done = _hold(server, now())
        for name in [share.name for share in store.load().shares if share.snapshots is not None]:
            done += _share(name, server, now)
        done += _hold(server, now())
        snapshot_counts.write(server.pool.filesystem.mountpoint, now())
    return done


def _share(name: str, server: ShareServer, now: Callable[[], datetime]) -> list[str]:
    # snapshots before it may have taken hours
    config = store.load()
    share = config.share(name)
    if share is None or share.snapshots is None:
        return []
    rows = SnapshotStore(server.pool.filesystem.mountpoint).rows(config, name)
    kind = due(share.snapshots, [row.name for row in rows if not row.former], now())
    done = [] if kind is None else [_make(share, kind, server, now)]
    return [*done, *(f"{name}@{old} is removed" for old in snapshot_thin.thin(name, server, now()))]


def _make(share: DesiredShare, kind: ScheduledKind, server: ShareServer, now: Callable[[], datetime]) -> str:
    assert share.snapshots is not None
    began = time.monotonic()
    last = _record().last(share.name)
    seconds = last.seconds if last is not None else None
    try:
        if not snapshot_thin.has_free(FLOOR, server.pool.filesystem.mountpoint):
            raise Failed(FULL)
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


def _hold(server: ShareServer, now: datetime) -> list[str]:
    floor = policy_in_force.in_force().snapshots.free
    removal = snapshot_thin.hold_floor(floor, server, now)
    if removal is None:
        return []
    _note(stamp(now), removal)
    return [f"{removal.removed} scheduled snapshots are removed, as less than {floor} % of the pool was free"]


def _record() -> ScheduleRecord:
    return RECORD.get() or ScheduleRecord(checked="1970-01-01T00:00:00+00:00")


def _note(at: str, removal: FloorRemoval | None = None) -> None:
    before = _record()
    RECORD.write(before.model_copy(update={"checked": at, "floor": removal or before.floor}))


def _try(ended: ScheduleTry) -> None:
    before = _record()
    tries = [*(each for each in before.tries if each.share != ended.share), ended]
    RECORD.write(before.model_copy(update={"checked": ended.at, "tries": tries}))
