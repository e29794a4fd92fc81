# SPDX-License-Identifier: Apache-2.0
"""A state that is not kept, not everything of it, not lately, or not readably is a warning with its remedy."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.lifecycle.keep.model import KeepStatus
from millrace.observe.health.checks import keep
from millrace.observe.health.model import Level
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from tests.unit.observe.health.servers import host, sentences, well


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    paths.keep_file().unlink()
    created(0)
    return tmp_path


def ago(hours: float) -> str:
    return (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="seconds")


def created(hours: float) -> None:
    pool = read_model(paths.pool_file(), Pool)
    write_model(paths.pool_file(), pool.model_copy(update={"created": ago(hours)}))


def status(hours: float, **more: object) -> None:
    """The newest generation was verified so many hours ago."""
    found = {"directory": "/srv/pool/.millrace/keep", "generation": 7, "written": ago(90), "verified": ago(hours)}
    write_model(paths.keep_file(), KeepStatus.model_validate({**found, **more}))


def test_kept_state_is_all_right(serving: Path) -> None:
    status(1)
    [finding] = keep.check(host())
    assert finding.level is Level.OK and "generation 7, written" in finding.sentence


def test_new_pool_has_two_days(serving: Path) -> None:
    assert "OK: The state of this server is not kept on the pool yet." in sentences(keep.check(host()))
    created(49)
    [finding] = keep.check(host())
    assert (finding.key, finding.level) == ("keep/late", Level.WARN)
    assert finding.sentence == "The state of this server was not kept on the pool since the pool was created."


@pytest.mark.parametrize(("hours", "level"), [(47, Level.OK), (49, Level.WARN)])
def test_state_that_was_not_verified_for_two_days_is_late(serving: Path, hours: int, level: Level) -> None:
    status(hours)
    [finding] = keep.check(host())
    assert finding.level is level
    if level is Level.WARN:
        assert finding.todo is not None and finding.todo.startswith("millrace keep now")


def test_pool_that_does_not_take_it_is_named_at_once(serving: Path) -> None:
    status(1, problem="/srv/pool/.millrace/keep: No space left on device")
    [finding] = keep.check(host())
    assert (finding.key, finding.level) == ("keep/problem", Level.WARN)
    assert "No space left on device" in finding.sentence and "journalctl" in (finding.todo or "")


def test_what_is_missing_in_it_and_what_is_damaged_are_findings(serving: Path) -> None:
    path = "/srv/pool/.millrace/keep/state-000006.tar.gz"
    status(1, unread=["etc/krb5.keytab: Input/output error", "x: y"], damaged=[path])
    found = keep.check(host())
    assert [one.key for one in found] == ["keep/unread", f"keep/damaged/{path}"]
    assert "etc/krb5.keytab: Input/output error and 1 more" in found[0].sentence
    assert f"rm {path}" in (found[1].todo or "")


def test_server_without_a_pool_keeps_nothing(serving: Path) -> None:
    paths.pool_file().unlink()
    assert keep.check(host()) == []


def test_state_that_a_clock_of_a_year_to_come_has_verified_is_due_now(serving: Path) -> None:
    status(-24 * 15_000)
    [finding] = keep.check(host())
    assert (finding.key, finding.level) == ("keep/late", Level.WARN)
    assert "the clock was ahead at that time; it is due now." in finding.sentence
    assert "millrace keep now" in (finding.todo or "")
