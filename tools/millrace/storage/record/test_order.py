# SPDX-License-Identifier: Apache-2.0
"""What the unit is to test, and how far it is."""

from typing import Literal

from millrace.inventory import drive_tests
from millrace.inventory.drive_tests import DriveTest
from millrace.system.boot import boot_id
from millrace.system.documents import Contract, read_model
from millrace.system.errors import MillraceError
from millrace.system.jobs import job_paths


class DriveTestTarget(Contract):
    """A drive that was confirmed, by serial, wwid and attachment (diskseq)."""

    serial: str
    wwid: str
    attached: str


class DriveTestOrder(Contract):
    """What the unit is to test, all drives at the same time; `quick`: a sample of each."""

    id: str
    quick: bool
    drives: list[DriveTestTarget]


DriveTestPass = Literal["writing", "reading back", "writing zeros", "reading zeros"]


class DriveTestProgress(Contract):
    """How far the test of one drive is: bytes done of all passes, what it does now. Null is what is not known yet.

    `total` is 0 before the test reports its progress.
    """

    schema_version: Literal[1] = 1
    serial: str
    what: DriveTestPass
    done: int
    total: int
    bytes_per_second: int | None
    seconds_left: int | None


class DriveTestsProgress(Contract):
    """All tests under way."""

    schema_version: Literal[1] = 1
    drives: list[DriveTestProgress]


# What `millrace drive test --json` prints: progress many times, each test as it ended.
DriveTestLine = DriveTestProgress | DriveTest


def progress() -> list[DriveTestProgress]:
    """Return how far the tests under way are; none before they say so."""
    try:
        return read_model(job_paths.drive_test_progress_file(), DriveTestsProgress).drives
    except MillraceError:
        return []


def under_way() -> dict[str, DriveTestProgress]:
    """Return how far each test is that goes on, by serial."""
    boot = boot_id()
    running = [one.serial for one in drive_tests.load() if drive_tests.is_running(one, boot)]
    told = {one.serial: one for one in progress()} if running else {}
    return {one: told.get(one) or _beginning(one) for one in running}


def _beginning(serial: str) -> DriveTestProgress:
    return DriveTestProgress(serial=serial, what="writing", done=0, total=0, bytes_per_second=None, seconds_left=None)
