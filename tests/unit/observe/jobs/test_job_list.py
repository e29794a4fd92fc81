# SPDX-License-Identifier: Apache-2.0
"""Jobs from their files and the state of their units."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from millrace.observe.jobs.job_list import JobStatus, current, listed, status
from millrace.observe.jobs.registry import job
from millrace.system import paths
from millrace.system.errors import BadInput
from millrace.system.files import write_text
from millrace.system.jobs import record
from millrace.system.jobs.job import KILLED
from millrace.system.jobs.kinds import ALL, BY_NAME, JobKind, JobName
from millrace.system.run import Result
from tests.fakes.jobs import JobManager
from tests.unit.observe.jobs.servers import SERIAL, begin, booted, checks_later, erases


@pytest.fixture
def systemd(root_user: Path) -> JobManager:
    return booted(root_user)


def names(found: Sequence[JobStatus]) -> list[tuple[str, str]]:
    return [(one.name, one.state) for one in found]


def test_server_without_a_job_asks_systemd_nothing(systemd: JobManager) -> None:
    assert current(systemd) == []
    assert systemd.calls == []
    assert listed(systemd).jobs == []


def test_running_job_has_its_progress_and_who_ordered_it(systemd: JobManager) -> None:
    erases(systemd)
    [found] = current(systemd)
    assert (found.name, found.title, found.state) == ("erase", "drive erasure", "running")
    assert (found.what, found.progress, found.seconds_left) == (f"drive {SERIAL}: overwriting", 0.25, 600)
    assert (found.by, found.ended, found.after_boot) == ("admin", None, "ends")
    assert not found.cancellable and "an erasure is not cancelled" in (found.why or "")
    # one question for all units
    assert systemd.called("") == ["systemctl show --property=Id,ActiveState,Job millrace-erase.service"]


def test_all_units_of_which_a_file_speaks_are_asked_for_at_once(systemd: JobManager) -> None:
    erases(systemd)
    checks_later()
    assert names(current(systemd)) == [("erase", "running"), ("scrub", "waiting")]
    assert len(systemd.calls) == 1


def test_round_of_checks_that_its_unit_goes_on_with_runs(systemd: JobManager) -> None:
    checks_later()
    systemd.others["millrace-scrub.service"] = "active"
    # its timer looks whether anything is due
    assert names(current(systemd)) == [("scrub", "waiting")]
    write_text(paths.scrub_file(), '{"round": {}, "stopped": null}')
    assert names(current(systemd)) == [("scrub", "running")]


def test_killed_job_is_not_current_and_listed_as_interrupted(systemd: JobManager) -> None:
    erases(systemd)
    systemd.others.clear()
    assert current(systemd) == []
    [found] = listed(systemd).jobs
    assert (found.state, found.reason, found.progress) == ("interrupted", KILLED, None)


def test_job_that_ended_is_listed_behind_one_that_runs(systemd: JobManager) -> None:
    record.end(record.begin("provision", "the pool", "admin"), "failed", "no space is left")
    erases(systemd)
    assert names(listed(systemd).jobs) == [("erase", "running"), ("provision", "failed")]
    failed = listed(systemd).jobs[1]
    assert (failed.reason, failed.by, failed.cancellable) == ("no space is left", "admin", False)
    assert failed.ended is not None


def test_job_that_ends_between_two_looks_is_the_one_that_ran(
    systemd: JobManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin("erase", f"drive {SERIAL}", systemd)
    found = job("erase")
    answers = iter([True, False])
    monkeypatch.setattr(type(found), "runs", lambda *_: next(answers))
    shown = status(found, systemd)
    assert shown is not None and shown.state == "running"


def test_progress_that_cannot_be_read_hides_no_job(systemd: JobManager, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise BadInput("progress.json cannot be read")

    erases(systemd)
    monkeypatch.setitem(job("erase").__dict__, "glance", broken)
    [found] = current(systemd)
    assert (found.what, found.state, found.progress) == (f"drive {SERIAL}", "running", None)


def test_files_that_only_root_reads_leave_the_question_to_systemd(
    systemd: JobManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object) -> bool:
        raise PermissionError(13, "Permission denied")

    begin("erase", f"drive {SERIAL}", systemd)
    monkeypatch.setattr(JobKind, "may_run", denied)
    monkeypatch.setattr(type(job("erase")), "is_open", denied)
    assert names(current(systemd)) == [("erase", "running")]
    assert names(listed(systemd).jobs) == [("erase", "running")]


def test_systemd_that_says_nothing_hides_no_open_journal(systemd: JobManager) -> None:
    systemd.broken["systemctl show"] = Result(1, "", "Failed to connect to bus\n")
    erases(systemd)
    write_text(paths.reset_file(), "{}")
    assert names(current(systemd)) == [("reset", "waiting")]


@pytest.mark.parametrize("name", list(BY_NAME))
def test_every_kind_is_a_job_while_its_unit_works(name: JobName, systemd: JobManager) -> None:
    kind = BY_NAME[name]
    begin(name, "its object", systemd)
    if name in ("scrub", "trim"):
        write_text(paths.scrub_file() if name == "scrub" else paths.trim_file(), '{"round": {}, "stopped": null}')
    elif kind.sign is not None:
        write_text(kind.sign(), "{}")
    else:
        files = {
            "provision": paths.transaction_file,
            "drive-change": paths.drive_change_file,
            "adopt": paths.adoption_file,
            "reset": paths.reset_file,
            "destroy": paths.destruction_file,
            "unclean": paths.unclean_file,
        }
        write_text(files[name](), '{"starts": [{"check": "waiting"}]}')
    assert names(current(systemd)) == [(name, "running")]
    [running_job] = listed(systemd).jobs
    assert (running_job.name, running_job.unit, running_job.after_boot, running_job.by) == (
        name,
        kind.unit,
        kind.after_boot,
        "admin",
    )
    assert len(BY_NAME) == len(ALL)
