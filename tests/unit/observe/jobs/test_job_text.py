# SPDX-License-Identifier: Apache-2.0
"""Jobs as lines of a terminal."""

from millrace.observe.jobs.job_list import JobList, JobStatus
from millrace.observe.jobs.job_text import fields, line, table

RUNS = JobStatus(
    name="erase",
    title="drive erasure",
    unit="millrace-erase.service",
    what="drive S1: overwriting",
    state="running",
    progress=0.25,
    seconds_left=600,
    bytes_per_second=205_000_000,
    by="admin",
    began="2026-11-20T12:00:00+00:00",
    ended=None,
    reason=None,
    after_boot="ends",
    cancellable=False,
    why="an erasure is not cancelled",
)
FAILED = RUNS.model_copy(
    update={
        "name": "update",
        "state": "failed",
        "what": "version 0.2",
        "progress": None,
        "seconds_left": None,
        "bytes_per_second": None,
        "ended": "2026-11-20T12:05:00+00:00",
        "reason": "the boot drive is full",
        "why": None,
    }
)


def test_table_has_headers_and_a_line_for_each_job() -> None:
    assert list(table(JobList(jobs=[RUNS, FAILED]))) == [
        "Job     State    Progress  Left    Ended                 What",
        "erase   running    25.0 %  10 min  -                     drive S1: overwriting",
        "update  failed          -  -       2026-11-20 12:05 UTC  version 0.2: the boot drive is full",
    ]


def test_server_on_which_no_job_ran_says_so() -> None:
    assert list(table(JobList(jobs=[]))) == ["No job has run yet."]


def test_running_job_shows_all_that_is_known() -> None:
    assert list(fields(RUNS)) == [
        "Job:         erase (drive erasure)",
        "What:        drive S1: overwriting",
        "State:       running",
        "Progress:    25.0 %, 205 MB/s, 10 min left",
        "Ordered by:  admin",
        "Began:       2026-11-20 12:00 UTC",
        "Unit:        millrace-erase.service",
        "Restart:     when the server restarts, it ends",
        "Cancel:      an erasure is not cancelled",
    ]


def test_job_that_can_be_cancelled_shows_how() -> None:
    shown = list(fields(RUNS.model_copy(update={"cancellable": True, "why": None})))
    assert shown[-1] == "Cancel:      millrace job cancel erase"


def test_ended_job_shows_when_and_why_and_nothing_of_a_restart() -> None:
    shown = list(fields(FAILED))
    assert "Reason:      the boot drive is full" in shown
    assert "Ended:       2026-11-20 12:05 UTC" in shown
    assert [one for one in shown if one.startswith(("Progress", "Cancel", "Restart"))] == []


def test_line_of_a_job_that_is_followed() -> None:
    assert line(RUNS) == "running 25.0 %, drive S1: overwriting, 205 MB/s, 10 min left"
    assert line(FAILED) == "failed, version 0.2: the boot drive is full"
    assert line(RUNS.model_copy(update={"state": "waiting"})) == "waiting, drive S1: overwriting"


def test_name_with_control_characters_is_printed_on_one_line() -> None:
    hostile = RUNS.model_copy(update={"what": "a\nb\x1b[2J", "by": "x\ny"})
    assert all("\n" not in one and "\x1b" not in one for one in [line(hostile), *fields(hostile)])
    assert len(list(table(JobList(jobs=[hostile])))) == 2
