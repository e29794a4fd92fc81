# SPDX-License-Identifier: Apache-2.0
"""The record of an erasure outlives a process that is killed and a power cut."""

from pathlib import Path

import pytest

from millrace.storage.record import erasure
from millrace.storage.record.erasure import INTERRUPTED, KEPT, EraseProgress, Erasure, State
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.files import write_text
from millrace.system.jobs import job_paths

BOOT = "5f0e"


@pytest.fixture(autouse=True)
def boot(root_user: Path) -> None:
    write_text(root_user / "proc/sys/kernel/random/boot_id", f"{BOOT}\n")


def record(state: State, serial: str = "S", boot: str = BOOT, reason: str | None = None) -> Erasure:
    return Erasure(
        id="1",
        serial=serial,
        wwid="eui.S",
        bay="7",
        state=state,
        method=None,
        boot=boot,
        began="2026-11-22T12:00:00+00:00",
        ended=None,
        reason=reason,
        unproved=None,
    )


def progress(done: int | None, serial: str = "S") -> None:
    line = EraseProgress(serial=serial, what="writing zeros", done=done, total=200, bytes_per_second=1, seconds_left=1)
    write_model(job_paths.erase_progress_file(), line)


@pytest.mark.parametrize(
    ("state", "began_in", "reason", "sentence"),
    [
        ("running", BOOT, None, "is being erased"),
        # the power was cut, and nobody was there to record it
        ("running", "before", None, INTERRUPTED),
        ("interrupted", BOOT, "killed", INTERRUPTED),
        ("failed", BOOT, "it ended at byte 7", "erase failed: it ended at byte 7; run it again"),
    ],
)
def test_what_did_not_end_has_its_reason(state: State, began_in: str, reason: str | None, sentence: str) -> None:
    erasure.save(record(state, boot=began_in, reason=reason))
    assert erasure.unfinished() == {"S": sentence}


def test_what_is_done_leaves_no_trace_on_its_drive() -> None:
    erasure.save(record("interrupted"))
    erasure.save(record("done"))
    assert erasure.unfinished() == {}
    assert [one.state for one in erasure.load()] == ["done"]


def test_progress_is_that_of_the_drive() -> None:
    erasure.save(record("running"))
    assert erasure.progress("S") is None
    progress(99)
    assert erasure.unfinished() == {"S": "is being erased, 49 %"}
    progress(None)
    assert erasure.unfinished() == {"S": "is being erased"}
    progress(99, serial="T")
    assert erasure.progress("S") is None


def test_records_are_bounded_and_one_that_cannot_be_parsed_begins_again() -> None:
    for number in range(KEPT + 3):
        erasure.save(record("done", serial=f"S{number}"))
    assert len(erasure.load()) == KEPT
    newest = erasure.last(f"S{KEPT + 2}")
    assert newest is not None and newest.state == "done"
    assert erasure.last("S0") is None
    write_text(paths.erase_file(), "{")
    assert (erasure.load(), erasure.unfinished()) == ([], {})
