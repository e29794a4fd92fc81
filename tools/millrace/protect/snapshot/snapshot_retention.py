# SPDX-License-Identifier: Apache-2.0
"""Less is kept only after the waiting time of removals: a tighter schedule or a higher floor removes nothing at once.

The record on the pool has what each share keeps, by its quota project, however its schedule is changed: by a command,
an import, a rollback, or a share that is removed and comes back. Schedules that keep more hold at once.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise

from millrace.plan.policy import policy_in_force
from millrace.protect.snapshot import kept_removals
from millrace.protect.snapshot.kept_removals import RemovalClock, RemovalRecord
from millrace.protect.snapshot.retention_model import KeptFloor, RaisedFloor, Retention, TighterSchedule, WaitingRemoval
from millrace.protect.snapshot.snapshot_model import kind_of
from millrace.protect.snapshot.snapshot_schedule import KINDS, stamp
from millrace.serve.config import history
from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.serve.share import kept_snapshots
from millrace.system.errors import Refused
from millrace.system.jobs.job import SERVER

POLICY = "the policy"


def note(config: Config, mountpoint: str, clock: RemovalClock) -> RemovalRecord:
    """Record what the schedules and the policy keep now, and return the record; what they keep less waits.

    Refused: the record cannot be read. OSError: the pool fails.
    """
    with kept_removals.alone():
        record = followed(kept_removals.read(mountpoint, clock), config, mountpoint, clock)
        kept_removals.write(mountpoint, record)
    return record


def followed(record: RemovalRecord, config: Config, mountpoint: str, clock: RemovalClock) -> RemovalRecord:
    """Return the record with what the schedules and the policy keep now, and what they keep less after their time.

    OSError: the snapshots cannot be listed.
    """
    if not kept_snapshots.top(mountpoint).is_dir():
        # there is no snapshot yet, and no place for the record
        return record
    retentions = list(_retentions(record, config, mountpoint, clock))
    floor = _floor(record.kept_floor, clock) if retentions else None
    return record.model_copy(update={"retentions": retentions, "kept_floor": floor})


def kept(share: DesiredShare, schedule: SnapshotSchedule, record: RemovalRecord) -> SnapshotSchedule:
    """Return how many snapshots of a share are kept: not fewer than the record has before the waiting time is over."""
    before = record.retention(share.name, share.project)
    return schedule if before is None else _most(before.kept, schedule)


def floor(mountpoint: str) -> int:
    """Return the floor of free space that holds, in percent: a higher one of the policy waits."""
    wanted = policy_in_force.in_force().snapshots.free
    try:
        before = kept_removals.read(mountpoint, RemovalClock()).kept_floor
    except Refused:
        # nothing is removed then
        return wanted
    return wanted if before is None else min(before.percent, wanted)


def _retentions(record: RemovalRecord, config: Config, mountpoint: str, clock: RemovalClock) -> Iterator[Retention]:
    present = {(share.name, share.project): share.snapshots for share in config.shares}
    for before in record.retentions:
        schedule = present.get((before.share, before.project))
        names = kept_snapshots.names(before.share, mountpoint)
        if schedule is not None:
            yield _changed(before, schedule, Counter(kind_of(name) for name in names), config, clock)
        elif names:
            # without a schedule none is removed; the next one starts from what was kept before
            yield before.model_copy(update={"tighter": None})
    known = {(before.share, before.project) for before in record.retentions}
    for (share, project), schedule in present.items():
        if schedule is not None and (share, project) not in known:
            yield Retention(share=share, project=project, kept=schedule)


def _changed(
    before: Retention, wanted: SnapshotSchedule, held: Counter[str], config: Config, clock: RemovalClock
) -> Retention:
    # by their names alone: a clock that is set back for a moment hides none of them
    fewer = [kind for kind in KINDS if wanted.kept[kind] < before.kept.kept[kind] and held[kind] > wanted.kept[kind]]
    tighter = before.tighter
    if tighter is not None and any(wanted.kept[kind] < tighter.wanted.kept[kind] for kind in KINDS):
        tighter = None
    if not fewer or (tighter is not None and not tighter.left):
        return before.model_copy(update={"kept": wanted, "tighter": None})
    removed = sum(held[kind] - wanted.kept[kind] for kind in fewer)
    times = tighter if tighter is not None else _waiting(_who(before.share, config), clock)
    after = TighterSchedule(by=times.by, at=times.at, left=times.left, due=times.due, wanted=wanted, removed=removed)
    now: dict[str, int] = {kind: before.kept.kept[kind] if kind in fewer else wanted.kept[kind] for kind in KINDS}
    return before.model_copy(update={"kept": wanted.model_copy(update=now), "tighter": after})


def _floor(before: KeptFloor | None, clock: RemovalClock) -> KeptFloor:
    wanted = policy_in_force.in_force().snapshots.free
    if before is None or wanted <= before.percent:
        return KeptFloor(percent=wanted)
    raised = before.raised
    if raised is None or wanted > raised.percent:
        times = _waiting(POLICY, clock)
        raised = RaisedFloor(by=times.by, at=times.at, left=times.left, due=times.due, percent=wanted)
    elif not raised.left:
        return KeptFloor(percent=wanted)
    return before.model_copy(update={"raised": raised.model_copy(update={"percent": wanted})})


def _waiting(by: str, clock: RemovalClock) -> WaitingRemoval:
    seconds, now = policy_in_force.in_force().snapshots.removal_delay * 3600, clock.now()
    return WaitingRemoval(by=by, at=stamp(now), left=seconds, due=stamp(now + timedelta(seconds=seconds)))


def _most(before: SnapshotSchedule, wanted: SnapshotSchedule) -> SnapshotSchedule:
    return wanted.model_copy(update={kind: max(before.kept[kind], wanted.kept[kind]) for kind in KINDS})


def _who(share: str, config: Config) -> str:
    """The user of the last change of a schedule, whatever changed it."""
    for change, earlier in pairwise(history.changes(config.serial)):
        known, after = earlier.config.share(share), change.config.share(share)
        if after is not None and (known is None or known.snapshots != after.snapshots):
            return change.who
    return SERVER
