# SPDX-License-Identifier: Apache-2.0
"""Schedules that do not run or take too long, and snapshots that are removed by order or for free space."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.observe.health.checks import snapshots
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.observe.metrics.sources import snapshots as metrics
from millrace.protect.snapshot.retention_model import KeptFloor, RaisedFloor, Retention, TighterSchedule
from millrace.protect.snapshot.snapshot_model import OrderedRemoval
from millrace.protect.snapshot.snapshot_schedule_model import (
    COUNTS,
    RECORD,
    FloorRemoval,
    ScheduleRecord,
    ScheduleTry,
    ShareSnapshots,
    SnapshotCounts,
)
from millrace.serve.config import files, store
from millrace.serve.config.model import first_config
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.fakes.samples import pool

HOUR = 3600


def ago(**by: float) -> str:
    return (datetime.now(UTC) - timedelta(**by)).isoformat(timespec="seconds")


@pytest.fixture
def host(root_user: Path) -> Host:
    write_model(paths.pool_file(), pool())
    config = first_config()
    data = config.shares[0].model_copy(update={"snapshots": SnapshotSchedule(hourly=24, daily=7)})
    files.config_file().parent.mkdir(parents=True, exist_ok=True)
    write_model(files.config_file(), config.model_copy(update={"shares": [data]}))
    return Host(lambda _, stdin=None: Result(0, "ActiveState=inactive\n", ""), uptime=lambda: 2 * HOUR)


def recorded(
    problem: str | None = None,
    seconds: int = 60,
    newest: str | None = None,
    checked: str | None = None,
    floor: FloorRemoval | None = None,
) -> None:
    at = newest or ago(minutes=20)
    tried = ScheduleTry(share="data", kind="hourly", at=at, seconds=seconds, problem=problem)
    RECORD.write(ScheduleRecord(checked=checked or ago(minutes=5), tries=[tried], floor=floor))
    held = ShareSnapshots(share="data", held={"hourly": 3, "daily": 1}, newest={"hourly": at, "daily": ago(hours=9)})
    COUNTS.write(SnapshotCounts(at=at, shares=[held]))


def only(found: list[HealthFinding]) -> HealthFinding:
    [finding] = found
    return finding


def test_snapshots_in_time_are_ok(host: Host) -> None:
    recorded()
    assert only(snapshots.check(host)).level is Level.OK


def test_share_without_a_schedule_has_no_finding(host: Host) -> None:
    write_model(files.config_file(), first_config())
    assert snapshots.check(host) == []


def test_snapshot_that_takes_longer_than_its_period_is_a_warning(host: Host) -> None:
    recorded(seconds=2 * HOUR)
    finding = only(snapshots.check(host))
    assert finding.kind == "slow" and finding.todo is not None and "--hourly 0" in finding.todo


def test_upkeep_that_does_not_run_is_a_warning(host: Host) -> None:
    recorded(checked=ago(hours=2))
    assert only(snapshots.check(host)).kind == "stopped"


def test_boot_that_was_just_now_has_missed_nothing(host: Host) -> None:
    recorded(newest=ago(hours=9), checked=ago(hours=9))
    assert only(snapshots.check(Host(host.query, uptime=lambda: 60.0))).level is Level.OK


def test_removal_for_free_space_is_reported_for_a_day(host: Host) -> None:
    recorded(floor=FloorRemoval(since=ago(hours=3), at=ago(hours=1), removed=3, floor=12, is_enough=False))
    finding = only(snapshots.check(host))
    assert finding.kind == "floor" and "3 scheduled snapshots were removed from" in finding.sentence
    recorded(floor=FloorRemoval(since=ago(hours=31), at=ago(hours=30), removed=3, floor=12, is_enough=True))
    assert only(snapshots.check(host)).level is Level.OK


def test_removal_for_free_space_is_reported_where_every_schedule_has_ended(host: Host) -> None:
    write_model(files.config_file(), first_config())
    recorded(floor=FloorRemoval(since=ago(hours=3), at=ago(hours=1), removed=3, floor=12, is_enough=True))
    assert "floor" in {finding.kind for finding in snapshots.check(host)}


def test_removal_in_vain_says_that_the_other_snapshots_stay(host: Host) -> None:
    at = ago(hours=1)
    recorded(floor=FloorRemoval(since=at, at=at, removed=3, floor=12, is_enough=False, is_vain=True))
    assert "freed next to nothing" in only(snapshots.check(host)).sentence


def changed(what: str, schedule: SnapshotSchedule | None) -> None:
    """A change of the share, as it is recorded."""
    store.change(
        "admin",
        what,
        lambda old: old.model_copy(update={"shares": [old.shares[0].model_copy(update={"snapshots": schedule})]}),
    )


@pytest.mark.parametrize(
    ("what", "kinds"), [("share set data", ["lost"]), ("snapshot schedule data: none", [])], ids=["dropped", "--off"]
)
def test_schedule_that_an_earlier_version_dropped_is_a_warning(
    host: Host, monkeypatch: pytest.MonkeyPatch, what: str, kinds: list[str]
) -> None:
    monkeypatch.setattr("millrace.serve.config.audit_log.note", lambda text: None)
    recorded()
    changed("snapshot schedule data: 24 hourly, 7 daily", SnapshotSchedule(hourly=24, daily=7))
    changed(what, None)
    changed("share set data", None)
    findings = snapshots.check(host)
    assert [finding.kind for finding in findings] == kinds
    assert all("--hourly 24 --daily 7" in (finding.todo or "") for finding in findings)


@pytest.mark.parametrize(
    ("what", "kinds"),
    [
        ("share set data: comment", ["shown"]),
        ("share set data: smb.previous_versions", []),
        ("config rollback 1", []),
    ],
)
def test_previous_versions_that_an_earlier_version_shows_again_are_a_warning(
    host: Host, monkeypatch: pytest.MonkeyPatch, what: str, kinds: list[str]
) -> None:
    monkeypatch.setattr("millrace.serve.config.audit_log.note", lambda text: None)
    recorded()
    for words, is_shown in (("share set data: smb.previous_versions", False), (what, True), ("user set anna", True)):
        smb = store.load().shares[0].smb.model_copy(update={"previous_versions": is_shown})
        shares = [store.load().shares[0].model_copy(update={"smb": smb})]
        store.change("admin", words, lambda old, shares=shares: old.model_copy(update={"shares": shares}))
    findings = [finding for finding in snapshots.check(host) if finding.kind == "shown"]
    assert [finding.kind for finding in findings] == kinds
    assert all("millrace share set data --no-previous-versions" in (finding.todo or "") for finding in findings)


def test_schedule_that_ended_long_ago_is_no_warning(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.serve.config.audit_log.note", lambda text: None)
    changed("snapshot schedule data: 24 hourly", SnapshotSchedule(hourly=24))
    changed("share set data", None)
    held = ShareSnapshots(share="data", held={"hourly": 3}, newest={"hourly": ago(days=8), "manual": ago(days=1)})
    COUNTS.write(SnapshotCounts(at=ago(days=8), shares=[held]))
    assert snapshots.check(host) == []


def ordered(removals: int, problem: str | None = None, locked: int = 0) -> None:
    names = [f"20261129T12000{number}Z-manual" for number in range(removals)]
    waiting = [
        OrderedRemoval(
            share="data", name=name, by="mallory", at=ago(hours=1), left=HOUR, due="2026-12-01T10:00:00+00:00"
        )
        for name in names
    ]
    held = ShareSnapshots(share="data", held={"manual": 2}, newest={}, removals=removals, locked=locked)
    COUNTS.write(SnapshotCounts(at=ago(), shares=[held], removals=waiting, problem=problem))


def test_each_ordered_removal_is_a_warning_of_its_own(host: Host) -> None:
    recorded()
    ordered(2)
    first, second = (finding for finding in snapshots.check(host) if finding.kind == "removal")
    assert (first.subject, first.level) == ("data@20261129T120000Z-manual", Level.WARN)
    assert "will be removed at 2026-12-01 10:00 UTC: mallory ordered it" in first.sentence
    assert second.key != first.key and "millrace snapshot keep" in (second.todo or "")


def test_ordered_removal_is_a_warning_without_any_schedule(host: Host) -> None:
    write_model(files.config_file(), first_config())
    ordered(1)
    assert only(snapshots.check(host)).kind == "removal"


def test_record_that_cannot_be_read_is_a_warning(host: Host) -> None:
    recorded()
    ordered(0, problem="no snapshot is removed")
    assert "record" in {finding.kind for finding in snapshots.check(host)}


def test_changes_that_keep_less_are_warnings_with_the_way_back(host: Host) -> None:
    recorded()
    times = {"by": "mallory", "at": ago(hours=1), "left": HOUR, "due": "2026-12-01T10:00:00+00:00"}
    tighter = TighterSchedule(**times, wanted=SnapshotSchedule(hourly=1), removed=23)
    kept = Retention(share="data", project=1000, kept=SnapshotSchedule(hourly=24, daily=7), tighter=tighter)
    floor = KeptFloor(percent=12, raised=RaisedFloor(**times, percent=50))
    COUNTS.write(COUNTS.read().model_copy(update={"tighter": [kept], "floor": floor}))
    schedule, raised = snapshots.check(host)
    assert (schedule.kind, schedule.subject, raised.kind) == ("tighter", "data", "higher-floor")
    assert "keeps 1 hourly snapshots from 2026-12-01 10:00 UTC, and removes up to 23 snapshots" in schedule.sentence
    assert "mallory changed it" in schedule.sentence and "rises from 12 % to 50 %" in raised.sentence
    assert schedule.todo is not None and "--hourly 24 --daily 7" in schedule.todo
    assert raised.todo is not None and "snapshots.free=12" in raised.todo


def test_locked_snapshots_are_counted(host: Host) -> None:
    recorded()
    ordered(0, locked=2)
    assert only(snapshots.check(host)).sentence.endswith("and the schedules run. 2 snapshots are locked.")
    _, _, locked, removals = metrics.families()
    assert [sample.value for sample in (*locked.samples, *removals.samples)] == [2, 0]


def test_metrics_have_the_newest_and_the_number_of_each_kind(host: Host) -> None:
    assert metrics.families() == []
    recorded(newest="2026-11-29T12:00:00+00:00")
    times, numbers, *_ = metrics.families()
    assert [sample.labels for sample in times.samples] == [{"share": "data"}]
    assert {(sample.labels["kind"], sample.value) for sample in numbers.samples} == {("hourly", 3), ("daily", 1)}
    assert host.pool is not None
