# SPDX-License-Identifier: Apache-2.0
"""The record of the tests that drives went through before they became members: the last one of each drive."""

from typing import Literal

from pydantic import Field

from millrace.system import paths
from millrace.system.boot import boot_id
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import MillraceError

KEPT = 256
"""Tests that are kept, one for each drive."""
AGAIN = "test it again or erase it"
INTERRUPTED = f"test was interrupted; {AGAIN}"
CANCELLED = f"test was cancelled; {AGAIN}"
RUNNING = "is being tested"

Scope = Literal["full", "quick"]
State = Literal["running", "passed", "failed", "cancelled", "interrupted"]
Trim = Literal["reads zeroes", "accepted", "refused", "none"]


class DriveTest(Contract):
    """One test of a drive, by the `id` of its order; `boot` is the kernel's id of its boot.

    `reason` is why it did not pass, `remarks` what is worth knowing of one that did; `blank` whether the drive was left
    blank. Null until it is known: bytes written, bytes/s of requests of 1 MiB one after the other, the longest request
    in milliseconds, degrees Celsius at most, media errors that came with the test, and what became of a trim.
    """

    schema_version: Literal[1] = 1
    id: str
    serial: str
    wwid: str
    bay: str | None
    scope: Scope
    state: State
    boot: str
    began: str
    ended: str | None = None
    reason: str | None = None
    remarks: list[str] = Field(default=[])
    blank: bool = False
    written_bytes: int | None = None
    write_bytes_per_second: int | None = None
    read_bytes_per_second: int | None = None
    longest_write_ms: int | None = None
    longest_read_ms: int | None = None
    hottest_celsius: int | None = None
    media_errors: int | None = None
    trim: Trim | None = None


class DriveTests(Contract):
    """The last one of each drive, the latest first."""

    schema_version: Literal[1] = 1
    tests: list[DriveTest]


def load() -> list[DriveTest]:
    """Return the tests; none where the document is missing or cannot be parsed: the drives carry marks, too."""
    try:
        return read_model(paths.drive_tests_file(), DriveTests).tests
    except MillraceError:
        return []


def by_serial() -> dict[str, DriveTest]:
    """Return the last test of each drive by serial."""
    return {one.serial: one for one in load()}


def save(test: DriveTest) -> None:
    """Write a test in the place of the one before of its drive."""
    others = [one for one in load() if one.serial != test.serial]
    write_model(paths.drive_tests_file(), DriveTests(tests=[test, *others][:KEPT]))


def erased(serial: str, wwid: str) -> None:
    """Record that a drive was erased after its test, whatever the clock showed at either."""
    test = by_serial().get(serial)
    if test is not None and test.wwid == wwid and not test.blank:
        save(test.model_copy(update={"blank": True}))


def is_running(test: DriveTest, boot: str) -> bool:
    """Whether a test goes on: one that was recorded as running in another boot does not."""
    return test.state == "running" and test.boot == boot


def not_blank() -> dict[str, DriveTest]:
    """Return by serial the tests that go on, or that ended without leaving their drive blank."""
    return {one.serial: one for one in load() if not one.blank}


def why_not_blank(test: DriveTest) -> str:
    """Return why a drive whose test did not leave it blank cannot be used."""
    if is_running(test, boot_id()):
        return RUNNING
    if test.state == "failed":
        return f"test failed: {test.reason}; replace the drive, or erase it to test it again"
    return CANCELLED if test.state == "cancelled" else INTERRUPTED


def in_words(test: DriveTest) -> str:
    """Return how a test ended, in one line: `passed on 2026-11-28 (full)`."""
    if test.state == "running":
        return "running" if is_running(test, boot_id()) else "interrupted"
    return f"{test.state} on {(test.ended or test.began)[:10]} ({test.scope})"
