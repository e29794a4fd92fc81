# SPDX-License-Identifier: Apache-2.0
"""When a scheduled snapshot is due: in each hour, day, week and month by the clock, as far as the schedule has them.

A snapshot of a longer period is one of the shorter ones, too. The times are in the names of snapshots.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import get_args

from millrace.protect.snapshot.snapshot_model import SnapshotList, kind_of
from millrace.protect.snapshot.snapshot_schedule_model import ShareSnapshots, SnapshotCounts
from millrace.serve.config.schedule import ScheduledKind, SnapshotSchedule
from millrace.system import ages

PERIODS: dict[ScheduledKind, timedelta] = {
    "hourly": timedelta(hours=1),
    "daily": timedelta(days=1),
    "weekly": timedelta(days=7),
    "monthly": timedelta(days=28),
}
KINDS: tuple[ScheduledKind, ...] = get_args(ScheduledKind)


def made_at(name: str, now: datetime) -> datetime | None:
    """Return when a snapshot was made, by its name; None where that is not known, as the clock was wrong then."""
    at = _named(name)
    return None if at is None or ages.age(at, now) is None else at


def is_ahead(name: str, now: datetime) -> bool:
    """Whether the time in the name of a snapshot has yet to come: the clock is wrong, or was when it was made."""
    at = _named(name)
    return at is not None and ages.is_ahead(at, now)


def counts_as(kind: ScheduledKind) -> tuple[ScheduledKind, ...]:
    """Return the kinds whose snapshots are those of `kind`, too: its own, and those of longer periods."""
    return KINDS[KINDS.index(kind) :]


def due(schedule: SnapshotSchedule, names: Iterable[str], now: datetime) -> ScheduledKind | None:
    """Return the kind that is due of the share whose snapshots have these names, the longest one; None where none is.

    `now` has a zone: days, weeks and months begin there.
    """
    times = [(kind_of(name), at) for name in names if (at := made_at(name, now))]
    for kind in reversed(KINDS):
        newest = max((at for known, at in times if known in counts_as(kind)), default=None)
        if schedule.kept[kind] and (
            newest is None or _begins(kind, newest.astimezone(now.tzinfo)) < _begins(kind, now)
        ):
            return kind
    return None


def ends(kind: ScheduledKind, at: datetime) -> datetime:
    """Return when the hour, day, week or month of a moment ends, in the zone of the moment; hours are those of UTC."""
    if kind == "hourly":
        return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    day = at.replace(hour=0, minute=0, second=0, microsecond=0)
    if kind == "daily":
        return day + timedelta(days=1)
    if kind == "weekly":
        return day + timedelta(days=7 - day.weekday())
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def shortest(schedule: SnapshotSchedule) -> ScheduledKind:
    """Return the kind of the shortest period that a schedule has."""
    return next(kind for kind, number in schedule.kept.items() if number)


def counts(listed: SnapshotList, now: datetime) -> SnapshotCounts:
    """Return how many snapshots the shares have, from the list of all."""
    shares: dict[str, ShareSnapshots] = {}
    for row in listed.snapshots:
        at = made_at(row.name, now)
        if row.former or at is None:
            continue
        before = shares.setdefault(row.share, ShareSnapshots(share=row.share, held={}, newest={}))
        kind = kind_of(row.name)
        held = before.held | {kind: before.held.get(kind, 0) + 1}
        newest = before.newest | {kind: max(before.newest.get(kind, ""), stamp(at))}
        shares[row.share] = ShareSnapshots(
            share=row.share,
            held=held,
            newest=newest,
            removals=before.removals + (row.removal is not None),
            locked=before.locked + (row.lock is not None),
        )
    ordered = [row.removal for row in listed.snapshots if row.removal is not None]
    return SnapshotCounts(
        at=stamp(now),
        shares=list(shares.values()),
        removals=ordered,
        tighter=listed.tighter,
        floor=listed.floor,
        problem=listed.problem,
    )


def stamp(now: datetime) -> str:
    """Return a moment as documents have it, ISO 8601 in UTC."""
    return now.astimezone(UTC).isoformat(timespec="seconds")


def _named(name: str) -> datetime | None:
    try:
        return datetime.strptime(name.partition("-")[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        # digits that are no time
        return None


def _begins(kind: ScheduledKind, at: datetime) -> tuple[int, ...]:
    """The hour, day, week or month of a moment; hours are those of UTC, as one of local time comes twice a year."""
    if kind == "hourly":
        at = at.astimezone(UTC)
        return (at.year, at.month, at.day, at.hour)
    if kind == "weekly":
        week = at.isocalendar()
        return (week.year, week.week)
    return (at.year, at.month, at.day) if kind == "daily" else (at.year, at.month)
