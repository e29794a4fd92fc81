# SPDX-License-Identifier: Apache-2.0
"""When a scheduled snapshot is due, and which ones a schedule keeps no longer."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from millrace.protect.snapshot.snapshot_model import SnapshotList, SnapshotManifest, SnapshotRow
from millrace.protect.snapshot.snapshot_schedule import counts, due, made_at
from millrace.protect.snapshot.snapshot_thin import removable, spare, surplus
from millrace.serve.config.schedule import SnapshotSchedule

NOW = datetime(2026, 11, 30, 12, 5, tzinfo=UTC)
ALL = SnapshotSchedule(hourly=2, daily=2, weekly=1, monthly=1)


def name(kind: str, **ago: float) -> str:
    return f"{NOW - timedelta(**ago):%Y%m%dT%H%M%SZ}-{kind}"


def row(kind: str, former: bool = False, is_complete: bool = True, **ago: float) -> SnapshotRow:
    manifest = SnapshotManifest.model_construct(share="data", name=name(kind, **ago))
    return SnapshotRow.model_construct(
        share="data", name=name(kind, **ago), former=former, manifest=manifest if is_complete else None, problem=None
    )


def test_first_snapshot_is_of_the_longest_period() -> None:
    assert due(ALL, [], NOW) == "monthly"
    assert due(SnapshotSchedule(hourly=1, daily=1), [], NOW) == "daily"


def test_snapshot_of_a_longer_period_counts_for_the_shorter_ones() -> None:
    made = name("monthly", minutes=4)
    assert due(ALL, [made], NOW) is None
    assert due(ALL, [made], NOW + timedelta(hours=1)) == "hourly"
    assert due(ALL, [made, name("hourly", minutes=-60)], NOW + timedelta(days=1)) == "monthly"


def test_manual_snapshot_counts_for_no_schedule() -> None:
    assert due(SnapshotSchedule(hourly=1), [name("manual", minutes=1)], NOW) == "hourly"


def test_days_begin_where_the_server_is() -> None:
    pune = timezone(timedelta(hours=5, minutes=30))
    made = [f"{datetime(2026, 11, 29, 18, 0, tzinfo=UTC):%Y%m%dT%H%M%SZ}-daily"]
    schedule = SnapshotSchedule(daily=7)
    assert due(schedule, made, datetime(2026, 11, 29, 23, 50, tzinfo=pune)) is None
    assert due(schedule, made, datetime(2026, 11, 30, 0, 1, tzinfo=pune)) == "daily"


def test_time_that_has_yet_to_come_is_unknown_and_the_next_snapshot_due() -> None:
    ahead = [name("hourly", days=-400)]
    assert made_at(ahead[0], NOW) is None
    assert due(SnapshotSchedule(hourly=2), ahead, NOW) == "hourly"
    assert due(SnapshotSchedule(hourly=2), [*ahead, name("hourly", minutes=1)], NOW) is None


def test_name_that_is_no_time_is_ignored() -> None:
    assert made_at("99999999T999999Z-hourly", NOW) is None


def test_surplus_is_the_oldest_of_each_kind() -> None:
    rows = [
        row("hourly", hours=3),
        row("hourly", hours=2),
        row("hourly", hours=1),
        row("daily", days=3),
        row("daily", days=1),
        row("manual", days=9),
    ]
    gone = [each.name for each in surplus(ALL, rows, NOW)]
    assert gone == [name("hourly", hours=3)]


def test_kind_that_a_schedule_does_not_have_any_more_is_removed() -> None:
    rows = [row("weekly", days=8), row("hourly", hours=1)]
    assert [each.name for each in surplus(SnapshotSchedule(hourly=1), rows, NOW)] == [name("weekly", days=8)]


def test_last_snapshot_stays_whatever_the_schedule_says() -> None:
    assert surplus(SnapshotSchedule(hourly=1), [row("daily", days=8)], NOW) == []
    # one that cannot be read is no copy to rely on
    assert removable([row("daily", days=8), row("hourly", is_complete=False, hours=1)], NOW) == []


@pytest.mark.parametrize(
    "kept", [row("hourly", days=-3), row("hourly", former=True, days=3), row("hourly", is_complete=False, days=3)]
)
def test_snapshot_of_an_unknown_time_or_of_a_former_share_or_damaged_is_not_removed(kept: SnapshotRow) -> None:
    rows = [kept, row("hourly", hours=3), row("hourly", hours=2), row("hourly", hours=1)]
    assert [each.name for each in surplus(ALL, rows, NOW)] == [name("hourly", hours=3)]


def test_clock_that_runs_ahead_removes_no_more_than_the_schedule_does() -> None:
    rows = [row("hourly", hours=2), row("hourly", hours=1)]
    assert surplus(ALL, rows, NOW + timedelta(days=4000)) == []


def test_newest_of_each_kind_stays_for_free_space() -> None:
    rows = [row("monthly", days=40), row("daily", days=3), row("daily", days=1), row("hourly", hours=1)]
    assert [each.name for each in spare(rows, NOW)] == [name("daily", days=3)]
    # one that cannot be read is none
    damaged = row("daily", is_complete=False, hours=20)
    assert [each.name for each in spare([*rows[:3], damaged, rows[3]], NOW)] == [name("daily", days=3)]


def test_counts_have_kinds_and_the_newest_of_each() -> None:
    rows = [row("hourly", hours=2), row("hourly", hours=1), row("manual", days=1), row("daily", former=True, days=1)]
    listed = SnapshotList(snapshots=[*rows, row("hourly", days=-3)])
    [found] = counts(listed, NOW).shares
    assert found.held == {"hourly": 2, "manual": 1}
    assert found.newest == {"hourly": "2026-11-30T11:05:00+00:00", "manual": "2026-11-29T12:05:00+00:00"}
