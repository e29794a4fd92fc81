# SPDX-License-Identifier: Apache-2.0
"""Backups that are late, fail or are paused, and repositories that are damaged."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.observe.health.checks import backups
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.observe.metrics.sources import backups as metrics
from millrace.protect.backup import backup_store
from millrace.protect.backup.backup_model import Backup, BackupMoved, BackupOutcome, BackupState, BackupTarget
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.fakes.samples import pool

TARGET = BackupTarget(protocol="rest", host="backup.example.com", port=8000, path="data")


def ago(**by: float) -> str:
    return (datetime.now(UTC) - timedelta(**by)).isoformat(timespec="seconds")


@pytest.fixture
def host(root_user: Path) -> Host:
    write_model(paths.pool_file(), pool())
    added(ago(days=30))
    return Host(lambda _, stdin=None: Result(0, "", ""))


def added(at: str, paused: bool = False) -> None:
    backup = Backup(name="offsite", id="1" * 32, share="data", target=TARGET, at=at, paused=paused)
    backup_store.directory().mkdir(parents=True, exist_ok=True)
    backup_store._write([backup])


def ended(unread: int = 0, **outcomes: BackupOutcome) -> None:
    moved = BackupMoved(files=10, read=2, bytes=5000, sent=700, seconds=3, unread=unread)
    backup_store._put(BackupState(name="offsite", id="1" * 32, made=True, moved=moved, **outcomes))


def found(host: Host) -> HealthFinding:
    [finding] = backups.check(host)
    return finding


def test_backup_that_is_sent_in_time_is_well(host: Host) -> None:
    at = ago(hours=3)
    ended(run=BackupOutcome(at=at, succeeded=at))
    finding = found(host)
    assert finding.level is Level.OK and finding.sentence.startswith("1 backup is in time")


def test_version_that_lacks_files_is_a_warning(host: Host) -> None:
    at = ago(hours=3)
    ended(unread=4, run=BackupOutcome(at=at, succeeded=at))
    assert (found(host).level, found(host).kind) == (Level.WARN, "unread") and ": 4;" in found(host).sentence


def test_backup_without_success_for_two_periods_is_late(host: Host) -> None:
    ended(
        run=BackupOutcome(at=ago(hours=1), succeeded=ago(hours=49), problem="it is full: free space there", failures=2)
    )
    finding = found(host)
    assert (finding.level, finding.kind, finding.subject) == (Level.WARN, "late", "offsite")
    assert "49 h" in finding.sentence or "2 d" in finding.sentence
    assert finding.sentence.endswith(": it is full: free space there.")
    assert finding.todo is not None and "millrace backup run offsite" in finding.todo


def test_backup_that_was_never_sent_is_late_after_two_periods(host: Host) -> None:
    assert "nothing of share data was sent" in found(host).sentence
    added(ago(hours=40))
    assert found(host).level is Level.OK


def test_run_that_failed_once_is_tried_again_first(host: Host) -> None:
    last = BackupOutcome(at=ago(hours=1), succeeded=ago(hours=26), problem="it is gone", failures=2)
    ended(run=last)
    assert found(host).level is Level.OK
    ended(run=last.model_copy(update={"failures": 3}))
    assert (found(host).level, found(host).kind) == (Level.WARN, "run-failed")


@pytest.mark.parametrize("task", ["check", "drill"])
def test_damage_is_a_failure_at_once_and_an_unreachable_target_is_none(host: Host, task: str) -> None:
    at = ago(hours=3)
    well = BackupOutcome(at=at, succeeded=at)
    ended(run=well, **{task: BackupOutcome(at=at, problem="it is gone", failures=1)})
    assert found(host).level is Level.OK
    ended(run=well, **{task: BackupOutcome(at=at, problem="it is damaged", failures=1, red=True)})
    assert (found(host).level, found(host).kind) == (Level.FAIL, f"{task}-failed")


def test_paused_backup_is_a_warning(host: Host) -> None:
    added(ago(hours=1), paused=True)
    finding = found(host)
    assert (finding.level, finding.kind, finding.todo) == (Level.WARN, "paused", "millrace backup resume offsite")


def test_backups_that_cannot_be_read_are_a_warning(host: Host) -> None:
    backup_store.backups_file().write_text("{")
    assert (found(host).level, found(host).kind) == (Level.WARN, "record")


def test_metrics_have_each_task_and_what_was_sent(host: Host) -> None:
    at = ago(hours=3)
    ended(run=BackupOutcome(at=at, succeeded=at), drill=BackupOutcome(at=at, problem="differs", failures=2))
    values = {family.name: family.samples for family in metrics.families()}
    assert len(values) == 4 and sum(len(samples) for samples in values.values()) == 5
