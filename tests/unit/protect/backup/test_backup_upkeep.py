# SPDX-License-Identifier: Apache-2.0
"""Which task is due, what is shown of a backup, and what an administrator changes."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from millrace.cli.program import run
from millrace.protect.backup import backup_job, backup_store
from millrace.protect.backup.backup_job import ORDER
from millrace.protect.backup.backup_model import Backup, BackupOutcome, BackupState, BackupTarget, BackupTask
from millrace.protect.backup.backup_upkeep import due, upkeep
from millrace.protect.snapshot import snapshot_holds, snapshot_remove
from millrace.serve.config import store
from millrace.serve.share import server as share_server
from millrace.system.errors import Refused
from millrace.system.jobs.job import KILLED
from millrace.system.run import Result
from tests.unit.protect.backup.conftest import Site

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
BACKUP = Backup(
    name="offsite", id="1" * 32, share="data", target=BackupTarget(protocol="rest", host="far", port=1, path="x")
)


def ended(hours: float, failures: int = 0) -> BackupOutcome:
    at = (NOW - timedelta(hours=hours)).isoformat()
    return BackupOutcome(at=at, succeeded=at, problem="it failed" if failures else None, failures=failures)


@pytest.mark.parametrize(
    ("state", "tasks"),
    [
        ({}, ["run"]),
        ({"run": ended(23), "version": "1", "check": ended(1), "drill": ended(1)}, []),
        ({"run": ended(25), "version": "1", "check": ended(1), "drill": ended(1)}, ["run"]),
        ({"run": ended(1), "version": "1"}, ["check", "drill"]),
        ({"run": ended(1), "version": "1", "check": ended(169), "drill": ended(167)}, ["check"]),
        ({"run": ended(0.2, failures=1)}, []),
        ({"run": ended(0.3, failures=1)}, ["run"]),
        ({"run": ended(0.3, failures=2)}, []),
        ({"run": ended(23, failures=99)}, []),
        ({"run": ended(25, failures=99)}, ["run"]),
        ({"run": ended(-30)}, ["run"]),
    ],
)
def test_task_is_due_after_its_period_and_sooner_where_it_failed(
    state: dict[str, object], tasks: list[BackupTask]
) -> None:
    known = BackupState.model_validate({"name": "offsite", "id": BACKUP.id, **state})
    assert list(due(BACKUP, known, NOW)) == tasks
    assert list(due(BACKUP.model_copy(update={"paused": True}), known, NOW)) == []


def test_upkeep_starts_one_task_and_holds_what_is_compared(site: Site) -> None:
    site.add()
    site.systemd.run = lambda: None
    assert upkeep(site.systemd, site.at) == ["backup offsite is started"]
    order = ORDER.read()
    assert (order.backup, order.task, order.by) == ("offsite", "run", "the server")


def test_task_that_was_killed_is_a_failure_and_not_due_at_once(site: Site) -> None:
    site.add()
    site.systemd.run = lambda: None
    backup_job.start("offsite", "run", site.systemd, "ann")
    # what the unit runs at its end, and then its cleanup
    backup_job.clean_up()
    run = site.state().run
    assert run is not None and run.problem == KILLED and run.failures == 1
    assert upkeep(site.systemd, datetime.now(UTC)) == []


def test_task_whose_end_cannot_be_recorded_waits_longer_each_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.add()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup_store, "note", full)
    site.fake.answers["init"] = Result(1, "", "")
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            site.carry_out("run")
    now = datetime.now(UTC)
    assert upkeep(site.systemd, now + timedelta(minutes=16)) == []
    site.systemd.run = lambda: None
    assert upkeep(site.systemd, now + timedelta(minutes=31)) == ["backup offsite is started"]


def test_snapshot_that_is_read_is_not_removed_and_the_base_only_by_an_administrator(site: Site) -> None:
    site.add()
    site.carry_out("run")
    name = str(site.state().snapshot)
    assert snapshot_holds.holder("data", name, read=False) == "a backup"
    snapshot_holds.hold("a backup", True, [("data", name)])
    with pytest.raises(Refused, match="a backup reads data@"):
        snapshot_remove.remove(f"data@{name}", site.server)
    snapshot_holds.hold("a backup", True, [])
    snapshot_remove.remove(f"data@{name}", site.server)
    assert not site.nas.snapshots.place("data", name).exists()


def test_list_and_show_have_no_secret(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    password = site.add().password
    site.carry_out("run")
    assert run(["backup", "list", "--json"]) == 0
    printed = capsys.readouterr().out
    assert str(password) not in printed and "s3cret" not in printed
    [row] = json.loads(printed)["backups"]
    assert row["backup"]["target"]["host"] == "backup.example.com" and row["state"]["moved"]["files"] == 3
    assert run(["backup", "list"]) == 0 and run(["backup", "show", "offsite"]) == 0
    assert "kept versions: 14 daily" in capsys.readouterr().out


def test_password_is_shown_again_with_a_reason(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    password = str(site.add().password)
    assert run(["backup", "password", "offsite"]) == 2
    assert run(["backup", "password", "offsite", "--reason", "drill on paper"]) == 0
    assert capsys.readouterr().out.strip() == password and len(password) == 47


def test_second_backup_into_the_same_target_is_refused(site: Site) -> None:
    site.add()
    with pytest.raises(Refused, match="backup offsite has this target already"):
        site.add("again")
    assert [each.name for each in backup_store.load()] == ["offsite"]


def test_attached_repository_needs_the_password_that_opens_it(site: Site) -> None:
    password = str(site.add().password)
    site.carry_out("run")
    backup_store.remove("offsite")
    assert site.add("back", password).password is None
    site.carry_out("restore", "back")
    [restored] = site.nas.snapshots.top.glob("data/*-restored")
    # this server cannot know whether the files are of the share that it has
    assert restored.stat().st_mode & 0o777 == 0o700
    assert site.nas.snapshots.row(store.load(), "data", restored.name).former


def test_attached_backup_is_paused_until_its_first_run(site: Site) -> None:
    password = str(site.add().password)
    site.carry_out("run")
    backup_store.remove("offsite")
    site.add("back", password)
    assert upkeep(site.systemd, site.at) == [] and backup_store.known("back").paused
    site.carry_out("run", "back")
    assert not backup_store.known("back").paused


def test_restore_after_an_attachment_takes_a_version_of_before(site: Site) -> None:
    password = str(site.add().password)
    site.carry_out("run")
    before = site.fake.versions[-1].id
    backup_store.remove("offsite")
    site.add("back", password)
    site.carry_out("run", "back")
    words = site.carry_out("restore", "back")
    assert words[0].startswith(f"version {before[:8]} ") and "before the repository was attached" in words[1]


def test_removed_backup_leaves_no_secret_and_no_snapshot(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add()
    site.carry_out("run")
    base = site.snapshot().parent
    monkeypatch.setattr(share_server, "this_server", lambda: site.server)
    assert run(["backup", "remove", "offsite", "--name-again", "other"]) == 1
    assert "is not the name of the backup" in capsys.readouterr().err
    assert run(["backup", "remove", "offsite", "--name-again", "offsite"]) == 0
    assert backup_store.load() == [] and not backup_store.secrets_directory("offsite").exists()
    assert not base.exists()


def test_paused_backup_is_resumed(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.add()
    assert run(["backup", "pause", "offsite"]) == 0 and backup_store.known("offsite").paused
    assert run(["backup", "resume", "offsite"]) == 0 and not backup_store.known("offsite").paused
    assert "due begins within 15 minutes" in capsys.readouterr().out
