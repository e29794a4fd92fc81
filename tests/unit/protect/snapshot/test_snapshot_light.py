# SPDX-License-Identifier: Apache-2.0
"""The light of a share on this server, by its schedule and the records of its snapshots."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.protect.light import Light
from millrace.protect.snapshot.snapshot_job import ORDER
from millrace.protect.snapshot.snapshot_light import lights
from millrace.protect.snapshot.snapshot_model import SnapshotOrder
from millrace.protect.snapshot.snapshot_schedule import ends
from millrace.protect.snapshot.snapshot_schedule_model import (
    COUNTS,
    RECORD,
    ScheduleRecord,
    ScheduleTry,
    ShareSnapshots,
    SnapshotCounts,
)
from millrace.serve.config.model import Config, first_config
from millrace.serve.config.replica import ReplicaSource
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.system.run import Result, Runner

NOW = datetime(2026, 11, 30, 12, 5, tzinfo=UTC)
HOURLY = SnapshotSchedule(hourly=24, daily=7)


def ago(**by: float) -> str:
    return (NOW - timedelta(**by)).isoformat(timespec="seconds")


def config(schedule: SnapshotSchedule | None) -> Config:
    first = first_config()
    return first.model_copy(update={"shares": [first.shares[0].model_copy(update={"snapshots": schedule})]})


def made(**newest: str) -> None:
    held = ShareSnapshots(share="data", held=dict.fromkeys(newest, 1), newest=newest)
    COUNTS.write(SnapshotCounts(at=ago(), shares=[held]))


def light(schedule: SnapshotSchedule | None = HOURLY, run: Runner | None = None) -> Light:
    [only] = lights(config(schedule), NOW, run)
    return only


def test_share_without_a_schedule_has_no_light_and_the_command_that_sets_one(root_user: Path) -> None:
    made(manual=ago(days=3))
    dark = light(None)
    assert (dark.state, dark.last, dark.schedule, dark.next) == ("none", ago(days=3), None, None)
    assert dark.sentence == "No schedule of snapshots has been set for share data."
    assert dark.todo is not None and "millrace snapshot schedule data" in dark.todo


def test_replica_is_not_told_to_have_a_schedule_of_its_own(root_user: Path) -> None:
    source = ReplicaSource(address="10.0.0.7", share="data", authority="-", fingerprint=":".join(["AA"] * 32))
    known = config(None)
    shares = [share.model_copy(update={"replica": source}) for share in known.shares]
    [dark] = lights(known.model_copy(update={"shares": shares}), NOW)
    assert (dark.state, dark.todo) == ("none", None)


def test_share_whose_snapshots_are_in_time_is_ok_until_the_next_hour(root_user: Path) -> None:
    made(hourly=ago(minutes=5), daily=ago(hours=12))
    lit = light()
    assert (lit.state, lit.last, lit.period, lit.schedule) == ("ok", ago(minutes=5), 3600, "24 hourly, 7 daily")
    assert lit.next == "2026-11-30T13:00:00+00:00" and lit.todo is None


def test_missed_snapshot_is_late_and_due_now(root_user: Path) -> None:
    made(hourly=ago(hours=3))
    lit = light()
    assert (lit.state, lit.next) == ("late", ago())
    assert lit.sentence.startswith("Share data has no hourly snapshot of the last 2 h")


def test_snapshot_of_a_longer_period_is_one_of_the_shorter_periods(root_user: Path) -> None:
    made(hourly=ago(hours=9), daily=ago(minutes=20))
    assert light().state == "ok"


def test_month_of_31_days_is_not_late(root_user: Path) -> None:
    made(monthly=ago(days=61))
    assert light(SnapshotSchedule(monthly=1)).state == "ok"
    made(monthly=ago(days=63))
    assert light(SnapshotSchedule(monthly=1)).state == "late"


def test_failed_snapshot_shows_why(root_user: Path) -> None:
    made(hourly=ago(minutes=70))
    tried = ScheduleTry(share="data", kind="hourly", at=ago(minutes=5), seconds=None, problem="the pool is full.")
    RECORD.write(ScheduleRecord(checked=ago(), tries=[tried]))
    lit = light()
    assert (lit.state, lit.last) == ("failed", ago(minutes=70))
    assert lit.sentence.endswith(": the pool is full.") and "millrace snapshot create data" in (lit.todo or "")


def test_share_has_no_copy_before_the_first_snapshot(root_user: Path) -> None:
    assert "have not been counted" in light().sentence
    made()
    assert (light().state, light().next) == ("none", ago())
    assert light().sentence == "The first scheduled snapshot of share data has not been made yet."


def test_snapshot_that_is_being_made_is_running(root_user: Path) -> None:
    made(hourly=ago(minutes=70))
    ORDER.write(SnapshotOrder(id="a", share="data", name="20261130T120000Z-hourly", large=False, by="the server"))
    runs = lambda state: lambda argv, stdin=None: Result(0, f"ActiveState={state}\n", "")  # noqa: E731
    assert light(run=runs("activating")).state == "running"
    assert light(run=runs("inactive")).state == "ok"
    assert light().state == "ok"


@pytest.mark.parametrize(
    ("kind", "end"),
    [
        ("hourly", datetime(2026, 12, 31, 23, 0, tzinfo=UTC)),
        ("daily", datetime(2027, 1, 1, tzinfo=UTC)),
        ("weekly", datetime(2027, 1, 4, tzinfo=UTC)),
        ("monthly", datetime(2027, 1, 1, tzinfo=UTC)),
    ],
)
def test_periods_end_where_the_next_one_begins(kind: str, end: datetime) -> None:
    assert ends(kind, datetime(2026, 12, 31, 22, 15, 9, tzinfo=UTC)) == end  # type: ignore[arg-type]
