# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit that tests, which does not end with the terminal that started it."""

import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from millrace.inventory import drive_tests
from millrace.inventory.drive_tests import DriveTest
from millrace.inventory.present import present
from millrace.storage.array.machine import System
from millrace.storage.drive_test import testable
from millrace.storage.drive_test.drive_test_run import DriveTestBoard, DriveTestRun
from millrace.storage.drive_test.testable import TestableDrive
from millrace.storage.erase.erase_job import examined, log
from millrace.storage.erase.eraser import reread
from millrace.storage.record import test_order as orders
from millrace.storage.record.test_order import (
    DriveTestLine,
    DriveTestOrder,
    DriveTestProgress,
    DriveTestsProgress,
    DriveTestTarget,
)
from millrace.storage.record.writer import testing as about_to_test
from millrace.storage.record.writer import writing
from millrace.system.boot import boot_id
from millrace.system.errors import Failed, Refused
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs import record as job_record
from millrace.system.jobs.job import KILLED, Document, Flag, Glance, Job, by_asking
from millrace.system.jobs.record import JobRecord
from millrace.system.users import only_root

ORDER = Document(job_paths.drive_test_order_file, DriveTestOrder)


def _glance() -> Glance | None:
    """All drives of an order are tested at the same time: the last one to end is the end."""
    found = [one for one in orders.progress() if one.total]
    if not found:
        return None
    behind = min(found, key=lambda one: one.done / one.total)
    what = f"drive {behind.serial}: {behind.what}" if len(found) == 1 else f"{len(found)} drives: {behind.what}"
    return Glance(what, behind.done / behind.total, behind.seconds_left, behind.bytes_per_second)


JOB = Job(
    kind=kinds.DRIVE_TEST,
    busy="drives are being tested: `millrace drive list` shows which; wait, or end it: millrace drive test --cancel",
    stop=by_asking(kinds.DRIVE_TEST, job_paths.drive_test_cancel_file),
    glance=_glance,
    files=(
        ORDER,
        Document(job_paths.drive_test_progress_file, DriveTestsProgress),
        Flag(job_paths.drive_test_cancel_file),
    ),
)


def start(system: System, found: Sequence[TestableDrive], quick: bool) -> DriveTestOrder:
    """Start the unit. Refused: other drives are being tested, or another job runs. Failed: it does not start."""
    drives = [one.drive for one in found]
    targets = [DriveTestTarget(serial=one.drive.serial, wwid=one.drive.wwid, attached=one.attached) for one in found]
    order = DriveTestOrder(id=uuid.uuid4().hex, quick=quick, drives=targets)
    with JOB.starting(system.attempt, f"drive{'s' * (len(drives) > 1)} {', '.join(one.serial for one in drives)}"):
        ORDER.write(order)
    return order


def follow(system: System, order: DriveTestOrder) -> Iterator[DriveTestLine]:
    """Yield the progress until the unit has ended, then each test. Failed: they did not begin; its last line."""
    shown: dict[str, DriveTestProgress] = {}
    for seen in JOB.follow(orders.progress, system.attempt, system.wait):
        for now in seen:
            if shown.get(now.serial) != now:
                yield now
                shown[now.serial] = now
    ended = [test for test in drive_tests.load() if test.id == order.id]
    if not ended:
        raise Failed(f"no drive is tested: {JOB.last_line(system.attempt)}")
    yield from sorted(ended, key=lambda test: test.serial)


def cancel(system: System) -> list[DriveTest]:
    """End the tests under way; return how each ended. Refused: none is under way."""
    only_root()
    boot = boot_id()
    running = [one.serial for one in drive_tests.load() if drive_tests.is_running(one, boot)]
    if not JOB.runs(system.attempt):
        raise Refused("no drive is being tested; how the last tests ended: millrace drive show SERIAL")
    JOB.cancel(system.attempt)
    ended = drive_tests.by_serial()
    return [ended[one] for one in running if one in ended]


def execute(system: System) -> list[DriveTest]:
    """Carry out the order, record how each test ends and examine the drives; what the unit runs.

    Refused: nothing was written. Failed: a drive could not be opened.
    """
    with JOB.execution() as began, ExitStack() as beginning:
        order = ORDER.read()
        # the decision was made for the drives that were there then; it is made again for those that are here now
        beginning.enter_context(writing(about_to_test([target.serial for target in order.drives])))
        candidates = [
            testable.same(testable.candidate(system, target.serial, order.quick), target) for target in order.drives
        ]
        board = DriveTestBoard()
        jobs = [DriveTestRun(system, candidate, order, board) for candidate in candidates]
        with ExitStack() as opened:
            for job in jobs:
                opened.callback(job.close)
                job.open()
            for job in jobs:
                board.save(job.record)
            # nobody else can open the drives now, and other drives need not wait for hours
            beginning.close()
            with ThreadPoolExecutor(len(jobs)) as together:
                ended = list(together.map(lambda job: job.run(), jobs))
        _end(began, ended)
        return ended


def _end(began: JobRecord, ended: Sequence[DriveTest]) -> None:
    """Record that tests were cancelled, or which drives did not pass."""
    states = {one.serial: one.state for one in ended}
    if "cancelled" in states.values():
        job_record.end(began, "cancelled")
    elif bad := [serial for serial, state in states.items() if state != "passed"]:
        job_record.end(began, "failed", f"not passed: {', '.join(bad)}; see `millrace drive show`")


def clean_up(system: System) -> None:
    """Record tests that were killed as interrupted and examine their drives; what the unit runs at its end.

    Refused: the caller is not root, or drives are being tested.
    """
    only_root()
    JOB.clean_up()
    here = {drive.serial: drive.name for drive in present()}
    for test in drive_tests.load():
        if test.state == "running":
            changes = {"state": "interrupted", "reason": KILLED, "ended": system.now()}
            drive_tests.save(test.model_copy(update=changes))
            if test.serial in here:
                # what udev knew of the drive before is no longer there
                reread(system, here[test.serial], log)
                examined(here[test.serial])
