# SPDX-License-Identifier: Apache-2.0
"""Are scheduled snapshots made in time, and is there room for them? Read from records: no check opens the pool."""

from datetime import UTC, datetime, timedelta

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.protect.snapshot.snapshot_schedule import PERIODS, counts_as, shortest
from millrace.protect.snapshot.snapshot_schedule_model import (
    COUNTS,
    RECORD,
    ScheduleRecord,
    ScheduleTry,
    SnapshotCounts,
)
from millrace.serve.config import store
from millrace.serve.config.schedule import ScheduledKind, SnapshotSchedule
from millrace.system import ages
from millrace.system.command import command
from millrace.system.text import duration, moment

NAME = "snapshots"

LATE = 2
"""A snapshot that was not made for so many of its periods was missed."""
UNIT = "millrace-cleanup@schedule.service"
SILENT = timedelta(hours=1)
"""The timer starts the unit every quarter of an hour; after a boot it may take so long, too."""
NEWS = timedelta(days=1)
"""For so long a removal for free space is reported."""
SCHEDULES = "millrace snapshot schedules"


def check(host: Host) -> list[HealthFinding]:
    """Return what is wrong with scheduled snapshots, else one finding; nothing where no share has a schedule."""
    if host.pool is None:
        return []
    shares = [(share.name, share.snapshots) for share in store.read().config.shares if share.snapshots is not None]
    if not shares:
        return []
    now, record, held = datetime.now(UTC), RECORD.get(), COUNTS.get()
    findings = _floor(record, now)
    if host.uptime > SILENT.total_seconds():
        findings += _silent(host, record, now)
    for share, schedule in shares:
        last = record.last(share) if record is not None else None
        if last is not None and last.problem is not None:
            findings.append(_failed(share, last, last.problem))
            continue
        findings += _slow(share, schedule, last)
        if held is not None and host.uptime > SILENT.total_seconds():
            findings += _late(share, schedule, held, now)
    if findings:
        return findings
    what = "1 share has" if len(shares) == 1 else f"{len(shares)} shares have"
    return [HealthFinding(check=NAME, level=Level.OK, sentence=f"{what} scheduled snapshots, none of which is late.")]


def _silent(host: Host, record: ScheduleRecord | None, now: datetime) -> list[HealthFinding]:
    age = ages.age(record.checked, now) if record is not None else None
    if (age is not None and age <= SILENT) or host.active_state(UNIT) in ("active", "activating"):
        return []
    since = f"since {moment(record.checked)}" if record is not None and age is not None else "since the boot"
    sentence = f"No snapshot was made by a schedule {since}: {UNIT} did not run."
    return [_warning("stopped", "", sentence, f"systemctl status millrace-upkeep@snapshot.timer {UNIT}")]


def _failed(share: str, last: ScheduleTry, problem: str) -> HealthFinding:
    sentence = f"Share {share} has no {last.kind} snapshot of {moment(last.at)}: {problem.rstrip('.')}."
    todo = f"It is tried again every 15 minutes; now: {command('millrace snapshot create', share)}"
    return _warning("failed", share, sentence, todo)


def _slow(share: str, schedule: SnapshotSchedule, last: ScheduleTry | None) -> list[HealthFinding]:
    kind = shortest(schedule)
    if last is None or last.seconds is None or last.seconds <= PERIODS[kind].total_seconds():
        return []
    took = duration(last.seconds)
    sentence = f"The last snapshot of share {share} took {took}, which is longer than the period of {kind} snapshots."
    less = command("millrace snapshot schedule", share, options=[f"--{kind} 0"])
    return [_warning("slow", share, sentence, f"Keep those of a longer period only: {less}")]


def _late(share: str, schedule: SnapshotSchedule, held: SnapshotCounts, now: datetime) -> list[HealthFinding]:
    missed = [kind for kind, number in schedule.kept.items() if number and _is_late(share, kind, held, now)]
    if not missed:
        return []
    sentence = f"Share {share} has no {missed[0]} snapshot of the last {duration(LATE * _seconds(missed[0]))}."
    return [_warning("late", share, sentence, f"See what keeps it from that: {SCHEDULES}; millrace job show snapshot")]


def _is_late(share: str, kind: ScheduledKind, held: SnapshotCounts, now: datetime) -> bool:
    newest = held.of(share).newest
    found = [ages.age(newest[each], now) for each in counts_as(kind) if each in newest]
    known = [age for age in found if age is not None]
    # before the first one there is nothing to be late; that the upkeep does not run is said once
    return bool(known) and min(known).total_seconds() > LATE * _seconds(kind)


def _seconds(kind: ScheduledKind) -> float:
    # a month has up to 31 days
    return PERIODS[kind].total_seconds() + (3 * 86400 if kind == "monthly" else 0)


def _floor(record: ScheduleRecord | None, now: datetime) -> list[HealthFinding]:
    removal = record.floor if record is not None else None
    if removal is None or not ages.is_recent(removal.at, NEWS, now):
        return []
    what = "1 scheduled snapshot was" if removal.removed == 1 else f"{removal.removed} scheduled snapshots were"
    left = "" if removal.is_enough else " There is still less: no other one may be removed."
    sentence = f"{what} removed {moment(removal.at)}, as less than {removal.floor} % of the pool was free.{left}"
    todo = "Remove files, keep fewer snapshots (millrace snapshot schedule), or set snapshots.free of the policy"
    return [_warning("floor", "", sentence, todo)]


def _warning(kind: str, subject: str, sentence: str, todo: str) -> HealthFinding:
    return HealthFinding(check=NAME, kind=kind, subject=subject, level=Level.WARN, sentence=sentence, todo=todo)
