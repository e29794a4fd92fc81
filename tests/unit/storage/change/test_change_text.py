# SPDX-License-Identifier: Apache-2.0
"""A change in words: what is asked, how far it is, how it ended."""

from millrace.plan.model import Role
from millrace.storage.array.live_model import Sync
from millrace.storage.change.change_job import now
from millrace.storage.change.change_text import progress_line, progress_lines, proposal_lines, result, steps_in_words
from millrace.storage.record.change_journal import ChangeJournal
from millrace.storage.record.drive_change import ChangedDrive, DrivePlan, DriveProposal, NewPartition
from millrace.system.text import GIB
from tests.unit.storage.conftest import root

__all__ = ["root"]

AT = "2026-11-22T12:00:00+00:00"


def drive(serial: str, bay: str | None, size: int | None = 7_680_000_000_000) -> ChangedDrive:
    return ChangedDrive(serial=serial, wwid=f"eui.{serial}", bay=bay, model="ACME 7" if size else "", size=size)


def plan(copies: bool = False, leaves: tuple[str, ...] = ()) -> DrivePlan:
    partitions = [
        NewPartition(role=Role.DATA, size=99 * GIB, label="millrace-data-03", array="data", copies=copies),
        NewPartition(role=Role.LOG, size=4 * GIB, label="millrace-log-03", array="log", copies=False),
    ]
    old = drive("OLD", "7", None)
    return DrivePlan(verb="replace", old=old, new=drive("NEW", "7"), partitions=partitions, leaves=list(leaves))


def test_what_is_written_is_shown_with_serial_and_bay() -> None:
    proposal = DriveProposal(sha256="ab12", plan=plan(), steps=steps_in_words(plan()))
    assert list(proposal_lines(proposal)) == [
        "Replace:",
        "  Old drive:  drive OLD (bay 7)",
        "  New drive:  drive NEW (bay 7), ACME 7, 7.68 TB; it is blank, and is written",
        "  Step 1:     Write a partition table to drive NEW: millrace-data-03 99 GiB, millrace-log-03 4 GiB.",
        "  Step 2:     Array log: add millrace-log-03; md rebuilds onto it where a member is missing.",
        "  Step 3:     Array data: add millrace-data-03; md rebuilds onto it where a member is missing.",
        "  Hash:       ab12",
    ]


def test_drive_that_is_still_there_may_be_pulled_at_the_end() -> None:
    steps = steps_in_words(plan(copies=True, leaves=("data",)))
    assert steps[-2:] == ["Array data: remove OLD.", "Then drive OLD (bay 7) may be pulled."]
    change = ChangeJournal.open(plan(leaves=("data",)), "admin", AT).change
    assert result(change) == "drive NEW (bay 7) has replaced OLD; drive OLD (bay 7) may be pulled"
    assert result(change.model_copy(update={"plan": plan()})) == "drive NEW (bay 7) has replaced OLD"


def test_progress_has_step_rate_and_remaining_time() -> None:
    journal = ChangeJournal.open(plan(), "admin", AT)
    assert progress_line(now(journal.change)) == "0/6 partition NEW"
    for step in journal.steps[:4]:
        journal.done(step.name)
    running = Sync(action="rebuild", progress=0.427, bytes_per_second=1_200_000_000, seconds_left=7380.0)
    assert progress_line(now(journal.change, lambda _: running)) == "4/6 rebuild data, 43%, 1.2 GB/s, 2 h 3 min left"
    waiting = Sync(action="rebuild", progress=None, bytes_per_second=None, seconds_left=None)
    assert progress_line(now(journal.change, lambda _: waiting)) == "4/6 rebuild data"
    short = running.model_copy(update={"seconds_left": 61.0, "bytes_per_second": None})
    assert progress_line(now(journal.change, lambda _: short)) == "4/6 rebuild data, 43%, 2 min left"


def test_progress_of_a_check_is_not_that_of_the_rebuild() -> None:
    journal = ChangeJournal.open(plan(), "admin", AT)
    for step in journal.steps[:4]:
        journal.done(step.name)
    check = Sync(action="check", progress=0.9, bytes_per_second=1, seconds_left=1.0)
    assert progress_line(now(journal.change, lambda _: check)) == "4/6 rebuild data"
    repair = check.model_copy(update={"action": "repair"})
    assert progress_line(now(journal.change, lambda _: repair)) == "4/6 rebuild data"


def test_last_change_is_shown_with_its_end() -> None:
    assert list(progress_lines([])) == ["no drive was changed yet"]
    journal = ChangeJournal.open(plan(), "admin", AT)
    assert list(progress_lines([now(journal.change)])) == ["0/6 partition NEW"]
    journal.stopped("sfdisk failed")
    assert list(progress_lines([now(journal.change)])) == [
        "stopped: sfdisk failed",
        "to go on when the cause is corrected: millrace drive resume",
    ]
    failed = journal.change.model_copy(update={"ended": AT})
    assert list(progress_lines([now(failed)])) == ["failed: sfdisk failed"]
    journal.end(AT)
    assert list(progress_lines([now(journal.change)])) == [f"drive NEW (bay 7) has replaced OLD ({AT})"]
