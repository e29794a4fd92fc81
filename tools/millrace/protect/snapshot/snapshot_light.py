# SPDX-License-Identifier: Apache-2.0
"""The light of each share on this server: whether its scheduled snapshots are in time, from records."""

from datetime import datetime, timedelta

from millrace.protect.light import Light, LightState, absent
from millrace.protect.snapshot import snapshot_job
from millrace.protect.snapshot.snapshot_schedule import PERIODS, counts_as, ends, shortest, stamp
from millrace.protect.snapshot.snapshot_schedule_model import (
    COUNTS,
    RECORD,
    ScheduleRecord,
    ShareSnapshots,
    SnapshotCounts,
)
from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.config.schedule import ScheduledKind, SnapshotSchedule
from millrace.system import ages
from millrace.system.command import command
from millrace.system.run import Runner
from millrace.system.text import duration, moment

LATE = 2
"""A snapshot that was not made for so many of its periods was missed."""
AGAIN = "millrace snapshot schedules; millrace job show snapshot"


def lights(config: Config, now: datetime, run: Runner | None = None) -> list[Light]:
    """Return the light of each share on this server; with `run` a snapshot that is being made is `running`."""
    held, record, running = COUNTS.get(), RECORD.get(), _running(run)
    return [_light(share, held, record, now, running == share.name) for share in config.shares]


def _running(run: Runner | None) -> str | None:
    order = snapshot_job.ORDER.get() if run is not None else None
    return order.share if order is not None and run is not None and snapshot_job.JOB.runs(run) else None


def _light(
    share: DesiredShare, held: SnapshotCounts | None, record: ScheduleRecord | None, now: datetime, running: bool
) -> Light:
    schedule, snapshots = share.snapshots, held.of(share.name) if held is not None else None
    last = max(snapshots.newest.values(), default=None) if snapshots is not None else None
    if schedule is None:
        how = command("millrace snapshot schedule", share.name, options=["--hourly 24", "--daily 7"])
        light = absent(share.name, "here", how if share.replica is None else None, last)
    else:
        state, sentence, todo = _state(share.name, schedule, snapshots, record, now)
        light = Light(
            share=share.name,
            place="here",
            state=state,
            schedule=schedule.words,
            last=last,
            period=round(PERIODS[shortest(schedule)].total_seconds()),
            next=_next(schedule, snapshots, now),
            drill=None,
            sentence=sentence,
            todo=todo,
        )
    if running:
        words = f"A snapshot of share {share.name} is being made."
        return light.model_copy(update={"state": "running", "sentence": words, "todo": "millrace job show snapshot"})
    return light


def _state(
    share: str,
    schedule: SnapshotSchedule,
    snapshots: ShareSnapshots | None,
    record: ScheduleRecord | None,
    now: datetime,
) -> tuple[LightState, str, str | None]:
    last = record.last(share) if record is not None else None
    if last is not None and last.problem is not None:
        sentence = f"Share {share} has no {last.kind} snapshot of {moment(last.at)}: {last.problem.rstrip('.')}."
        by_hand = command("millrace snapshot create", share)
        return "failed", sentence, f"It is tried again every 15 minutes; now: {by_hand}"
    if snapshots is None:
        return "none", f"The snapshots of share {share} have not been counted since the start.", AGAIN
    missed = next((kind for kind, number in schedule.kept.items() if number and _is_late(kind, snapshots, now)), None)
    if missed is not None:
        sentence = f"Share {share} has no {missed} snapshot of the last {duration(LATE * _seconds(missed))}."
        return "late", sentence, f"See why: {AGAIN}"
    made = [snapshots.newest[kind] for kind in PERIODS if kind in snapshots.newest]
    if not made:
        return "none", f"The first scheduled snapshot of share {share} has not been made yet.", None
    return "ok", f"Share {share} has a scheduled snapshot of {moment(max(made))}.", None


def _is_late(kind: ScheduledKind, snapshots: ShareSnapshots, now: datetime) -> bool:
    found = [ages.age(snapshots.newest[each], now) for each in counts_as(kind) if each in snapshots.newest]
    known = [age for age in found if age is not None]
    # before the first one there is nothing to be late; that the upkeep does not run is said once
    return bool(known) and min(known).total_seconds() > LATE * _seconds(kind)


def _seconds(kind: ScheduledKind) -> float:
    # a month has up to 31 days
    return PERIODS[kind].total_seconds() + (timedelta(days=3).total_seconds() if kind == "monthly" else 0)


def _next(schedule: SnapshotSchedule, snapshots: ShareSnapshots | None, now: datetime) -> str:
    """When the next snapshot is due: now where it should have been made already."""
    newest = snapshots.newest if snapshots is not None else {}
    due = []
    for kind in (kind for kind, number in schedule.kept.items() if number):
        times = [ages.when(newest[each]) for each in counts_as(kind) if each in newest]
        # days, weeks and months begin in the zone of the server
        due.append(ends(kind, max(times).astimezone()) if times else now)
    return stamp(max(min(due), now))
