# SPDX-License-Identifier: Apache-2.0
"""A job from its order to its record, with systemd as a fake and files that are real."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from millrace.system import locks, paths
from millrace.system.documents import Contract
from millrace.system.errors import Failed, Refused
from millrace.system.files import write_text
from millrace.system.jobs import kinds, record
from millrace.system.jobs.job import KILLED, Document, Job, by_asking, by_stopping
from millrace.system.run import Result
from tests.fakes.jobs import JOBS, JobManager


class Paper(Contract):
    """An order, and progress."""

    text: str


ORDER = Document(lambda: paths.run_dir() / "clone/order.json", Paper)
PROGRESS = Document(lambda: paths.run_dir() / "clone/progress.json", Paper)
STOP = "systemctl stop millrace-reflink@clone.service"


class Systemd(JobManager):
    TAKEN = (*JOBS, STOP)


def made(kind: kinds.JobKind = kinds.CLONE, stop: Callable[..., object] | str = "nobody can") -> Job:
    return Job(kind=kind, busy="a clone runs", stop=stop, glance=lambda: None, files=(ORDER, PROGRESS))


@pytest.fixture
def systemd(root_user: Path) -> Systemd:
    (root_user / "proc/sys/kernel/random").mkdir(parents=True)
    (root_user / "proc/sys/kernel/random/boot_id").write_text("5f0e\n")
    return Systemd("millrace-reflink@clone.service")


def start(job: Job, systemd: JobManager) -> None:
    with job.starting(systemd, "share a"):
        ORDER.write(Paper(text="order"))


def test_start_records_who_ordered_what(systemd: Systemd) -> None:
    job = made()
    PROGRESS.write(Paper(text="of the last one"))
    start(job, systemd)
    found = record.load("clone")
    assert found is not None
    assert (found.what, found.by, found.boot, found.state, found.ended) == ("share a", "root", "5f0e", "running", None)
    assert ORDER.read().text == "order" and PROGRESS.get() is None
    assert systemd.called("systemctl start") == ["systemctl start --no-block millrace-reflink@clone.service"]


@pytest.mark.parametrize("state", ["active", "activating", "deactivating"])
def test_one_at_a_time(state: str, systemd: Systemd) -> None:
    job = made()
    start(job, systemd)
    systemd.states = [state]
    with pytest.raises(Refused, match="a clone runs"):
        start(job, systemd)
    # the order of the one that runs is as it was
    assert ORDER.read().text == "order"


def test_start_beside_what_it_excludes_is_refused_and_writes_nothing(systemd: Systemd) -> None:
    systemd.others = {"millrace-update.service": "activating"}
    with pytest.raises(Refused, match="an update is being installed; wait until that is done"):
        start(made(), systemd)
    assert (ORDER.get(), record.load("clone"), systemd.called("systemctl start")) == (None, None, [])


def test_unit_that_does_not_start_leaves_no_order_and_a_failed_job(systemd: Systemd) -> None:
    systemd.broken["systemctl start"] = Result(1, "", "Unit is masked.\n")
    with pytest.raises(Failed, match=r"millrace-reflink@clone\.service does not start: Unit is masked"):
        start(made(), systemd)
    found = record.load("clone")
    assert found is not None and (found.state, ORDER.get()) == ("failed", None)


def carry_out(job: Job) -> None:
    """Its unit ends because it was asked to."""
    with job.execution() as began:
        record.end(began, "cancelled")


def test_progress_is_yielded_when_it_changes_until_the_unit_has_ended(systemd: Systemd) -> None:
    job = made()
    start(job, systemd)
    systemd.states = ["activating", "active", "active", "deactivating", "inactive"]
    seen = iter(["1", "1", "2", "2", "3"])
    assert list(job.follow(lambda: next(seen), systemd, lambda _: None)) == ["1", "2", "3"]


def test_unit_that_systemd_starts_again_is_followed_over_the_kill(systemd: Systemd) -> None:
    systemd = Systemd("millrace-rescue.service")
    systemd.started = True
    systemd.states = ["active", "inactive", "active", "inactive"]
    seen = iter("abcdefgh")
    assert list(made(kinds.RESCUE).follow(lambda: next(seen), systemd, lambda _: None)) == list("abcdef")


def test_job_that_is_known_to_be_over_is_not_followed_any_more(systemd: Systemd) -> None:
    systemd = Systemd("millrace-rescue.service")
    systemd.started = True
    systemd.states = ["active"]
    seen: list[str] = []

    def look() -> str:
        seen.append("abc"[len(seen)])
        return seen[-1]

    assert list(made(kinds.RESCUE).follow(look, systemd, lambda _: None, lambda: "b" in seen)) == ["a", "b"]


def test_record_says_how_the_job_ended(systemd: Systemd) -> None:
    job = made()
    start(job, systemd)
    with job.execution() as began:
        assert began.what == "share a"
    job_record = job.last(systemd)
    assert job_record is not None and (job_record.id, job_record.state, job_record.reason) == (began.id, "done", None)
    start(job, systemd)
    with pytest.raises(Failed), job.execution():
        raise Failed("no space is left")
    job_record = job.last(systemd)
    assert job_record is not None and (job_record.state, job_record.reason) == ("failed", "no space is left")


def test_job_may_record_its_end_itself(systemd: Systemd) -> None:
    job = made()
    for error in (None, Failed("no space is left")):
        start(job, systemd)
        with suppress(Failed), job.execution() as began:
            record.end(began, "cancelled", "by admin")
            if error:
                raise error
        job_record = job.last(systemd)
        assert job_record is not None and (job_record.id, job_record.state, job_record.reason) == (
            began.id,
            "cancelled",
            "by admin",
        )
    # that of the job before says nothing about this one
    start(job, systemd)
    with job.execution():
        pass
    job_record = job.last(systemd)
    assert job_record is not None and job_record.state == "done"


def test_job_that_nobody_ordered_is_the_servers(systemd: Systemd) -> None:
    with made().execution("share b") as began:
        assert (began.what, began.by, systemd.calls) == ("share b", "the server", [])


def test_killed_job_is_interrupted_and_cleaned_up(systemd: Systemd) -> None:
    job = made()
    start(job, systemd)
    job_record = job.last(systemd)
    assert job_record is not None and (job_record.state, job_record.reason) == ("interrupted", KILLED)
    with job.alone(), pytest.raises(Refused, match="a clone runs"):
        job.clean_up()
    assert ORDER.get() is not None
    kept = job.clean_up()
    assert kept == record.load("clone") and job.clean_up() is None
    assert kept is not None and (kept.state, ORDER.get()) == ("interrupted", None)


def test_job_with_an_open_journal_waits(systemd: Systemd) -> None:
    job = made(kinds.PROVISION)
    record.begin("provision", "the pool", "root")
    paths.transaction_file().parent.mkdir(parents=True, exist_ok=True)
    paths.transaction_file().write_text("{}")
    found = job.last(systemd)
    assert found is not None and (found.state, found.reason) == ("waiting", None)
    job.clean_up()
    assert (record.load("provision") or found).state == "running"


def test_job_that_pauses_is_one_until_its_journal_is_closed(systemd: Systemd) -> None:
    job = made(kinds.RESCUE)
    paths.rescue_file().parent.mkdir(parents=True, exist_ok=True)
    paths.rescue_file().write_text("{}")
    with job.execution("step 1") as first:
        pass
    job_record = job.last(systemd)
    assert job_record is not None and job_record.state == "waiting"
    with job.execution("step 2") as second:
        paths.rescue_file().unlink()
    ended = job.last(systemd)
    assert ended is not None and (first.id, ended.id, ended.state) == (second.id, first.id, "done")


def test_cancelled_by_stopping_its_unit(systemd: Systemd) -> None:
    job = made(stop=by_stopping(kinds.CLONE))
    with pytest.raises(Refused, match="no share clone is under way: millrace job list"):
        job.cancel(systemd)
    start(job, systemd)
    systemd.states = ["active", "inactive"]
    found = job.cancel(systemd)
    assert found is not None and (found.state, found.reason) == ("cancelled", "by root")
    assert systemd.called("systemctl stop") == [STOP]


def test_cancelled_by_a_file_and_waited_for(systemd: Systemd) -> None:
    asked = paths.run_dir() / "clone/cancel"
    job = made(stop=by_asking(kinds.CLONE, lambda: asked, lambda _: None))
    start(job, systemd)
    systemd.states = ["active", "active", "active", "inactive"]
    # it says itself that it was cancelled, and not by whom
    systemd.before["systemctl show"] = lambda: carry_out(job) if asked.exists() else None
    found = job.cancel(systemd)
    assert found is not None and (found.state, found.reason) == ("cancelled", "by root")
    assert asked.exists() and systemd.called("systemctl stop") == []


def test_job_that_nobody_can_cancel_says_why(systemd: Systemd) -> None:
    with pytest.raises(Refused, match="nobody can"):
        made().cancel(systemd)


def test_record_is_read_by_everybody_whatever_the_umask_of_the_unit(systemd: Systemd) -> None:
    before = os.umask(0o077)
    try:
        start(made(), systemd)
    finally:
        os.umask(before)
    assert record.file("clone").parent.stat().st_mode & 0o777 == 0o755
    assert record.file("clone").stat().st_mode & 0o777 == 0o644


def test_full_boot_drive_keeps_no_job_from_running(systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("millrace.system.jobs.record.write_model", full)
    start(made(), systemd)
    with made().execution():
        pass
    assert record.load("clone") is None


def test_start_waits_for_another_and_then_says_whose_it_is(systemd: Systemd) -> None:
    waits: list[float] = []
    held = locks.held(paths.run_dir() / "jobs/start.lock", note="trim")
    said = "the start of the trim has not ended for 60 seconds: millrace job list"
    start_later = made().starting(systemd, "share a", pause=waits.append)
    with held, pytest.raises(Refused, match=said), start_later:
        pytest.fail("it has entered the block")
    assert sum(waits) == 60.0 and systemd.calls == []
    start(made(), systemd)


def test_systemd_that_says_nothing_ends_no_job_and_starts_none(systemd: Systemd) -> None:
    job = made(stop=by_stopping(kinds.CLONE))
    start(job, systemd)
    systemd.broken["systemctl show"] = Result(1, "", "Connection timed out\n")
    job_record = job.last(systemd)
    assert job_record is not None and job_record.state == "running"
    for act in (lambda: job.cancel(systemd), lambda: start(job, systemd)):
        with pytest.raises(Failed, match="does not report the state of"):
            act()
    assert ORDER.read().text == "order"
    seen = iter("abcde")

    def answers(_: float) -> None:
        systemd.broken.clear()

    assert list(job.follow(lambda: next(seen), systemd, answers)) == ["a", "b"]


def test_job_is_not_interrupted_while_it_is_being_started(systemd: Systemd) -> None:
    job = made()
    states: list[str | None] = []

    def look() -> None:
        found = job.last(systemd)
        states.append(found.state if found else None)

    systemd.run = look
    start(job, systemd)
    assert states == ["running"]


def test_end_that_has_no_room_leaves_no_job_that_runs_for_ever(
    systemd: Systemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = made()
    start(job, systemd)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("millrace.system.jobs.record.write_model", full)
    with job.execution():
        pass
    assert record.load("clone") is None


def test_nobody_follows_a_job_for_ever_of_which_systemd_says_nothing(systemd: Systemd) -> None:
    job = made()
    start(job, systemd)
    systemd.broken["systemctl show"] = Result(1, "", "Connection timed out\n")
    waits: list[float] = []
    with pytest.raises(Failed, match="does not report the state of"):
        list(job.follow(lambda: None, systemd, waits.append))
    assert len(waits) == 59


def test_unit_that_only_looks_does_not_run_a_job(systemd: Systemd) -> None:
    job = made(kinds.TRIM)
    systemd.others = {kinds.TRIM.unit: "active"}
    # its timer looks whether anything is due
    assert not job.runs(systemd)
    write_text(paths.trim_file(), '{"round": {}, "stopped": null}')
    assert job.runs(systemd)


def test_unit_that_the_boot_has_queued_runs_no_job_without_its_journal(systemd: Systemd) -> None:
    job = made(kinds.DRIVE_CHANGE)
    systemd.others = {kinds.DRIVE_CHANGE.unit: "queued"}
    assert not job.runs(systemd)
    write_text(paths.drive_change_file(), "{}")
    assert job.runs(systemd)
    systemd.broken["systemctl show"] = Result(1, "", "Failed to connect to bus")
    assert not job.runs(systemd)
