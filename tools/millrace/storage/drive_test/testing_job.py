# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit that tests, which does not end with the terminal that started it."""

import threading
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from millrace.inventory import drive_tests, nvme
from millrace.inventory.collect import examine
from millrace.inventory.drive_tests import DriveTest, State, Trim
from millrace.inventory.drives import block_dir, identify
from millrace.inventory.model import Drive
from millrace.inventory.present import present
from millrace.inventory.surface import TEST_MARK
from millrace.plan.failing import why_failing
from millrace.storage.array.machine import System
from millrace.storage.drive.drive_model import DriveRow
from millrace.storage.drive.drive_rows import row
from millrace.storage.drive.drive_text import named
from millrace.storage.drive.facts import facts
from millrace.storage.drive_test import may_test
from millrace.storage.drive_test.tester import Cancelled, DriveTester
from millrace.storage.erase import may_erase
from millrace.storage.erase.erase_job import examined, log
from millrace.storage.erase.eraser import proved_blank, reread
from millrace.storage.erase.overwrite import exclusively
from millrace.storage.record import test_order as orders
from millrace.storage.record.test_order import (
    DriveTestLine,
    DriveTestOrder,
    DriveTestProgress,
    DriveTestsProgress,
    DriveTestTarget,
)
from millrace.storage.record.writer import deciding, writing
from millrace.storage.record.writer import testing as about_to_test
from millrace.system import paths
from millrace.system.boot import boot_id
from millrace.system.documents import write_model
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.jobs import kinds
from millrace.system.jobs import record as job_record
from millrace.system.jobs.job import KILLED, Document, Flag, Glance, Job, by_asking
from millrace.system.jobs.record import JobRecord
from millrace.system.users import only_root

ORDER = Document(paths.drive_test_order_file, DriveTestOrder)


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
    stop=by_asking(kinds.DRIVE_TEST, paths.drive_test_cancel_file),
    glance=_glance,
    files=(ORDER, Document(paths.drive_test_progress_file, DriveTestsProgress), Flag(paths.drive_test_cancel_file)),
)
HEALTH = ("critical_warning", "available_spare", "spare_threshold")
"""What of a SMART log `why_failing` judges."""
SLOW_MS = 1000
"""Milliseconds of one request from which on it is a remark."""


@dataclass(frozen=True)
class TestableDrive:
    """A drive that may be tested now."""

    row: DriveRow
    drive: Drive
    attached: str


def ready(system: System, serials: Sequence[str], quick: bool) -> list[TestableDrive]:
    """Examine drives and decide. Refused: one is not tested, or another change runs; nothing was written."""
    only_root()
    with writing(about_to_test(serials)):
        return [_ready(system, one, quick) for one in serials]


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
        candidates = [_same(_ready(system, target.serial, order.quick), target) for target in order.drives]
        board = _Board()
        jobs = [_Job(system, candidate, order, board) for candidate in candidates]
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


class _Board:
    """What all tests of an order write: one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._progress: dict[str, DriveTestProgress] = {}

    def save(self, test: DriveTest) -> None:
        with self._lock:
            drive_tests.save(test)

    def tell(self, progress: DriveTestProgress) -> None:
        with self._lock:
            self._progress[progress.serial] = progress
            write_model(paths.drive_test_progress_file(), DriveTestsProgress(drives=list(self._progress.values())))

    def examined(self, name: str) -> Drive:
        with self._lock:
            return examined(name)


class _Job:
    """The test of one drive, from its opening to its record."""

    def __init__(self, system: System, candidate: TestableDrive, order: DriveTestOrder, board: _Board) -> None:
        self._board = board
        self._system, self._found, self._quick = system, candidate, order.quick
        self._opened = ExitStack()
        self._tester: DriveTester | None = None
        self._before = _smart(system, candidate.drive)
        self.record = DriveTest(
            id=order.id,
            serial=candidate.drive.serial,
            wwid=candidate.drive.wwid,
            bay=candidate.row.bay,
            scope="quick" if order.quick else "full",
            state="running",
            boot=boot_id(),
            began=system.now(),
        )

    def open(self) -> None:
        drive = self._found.drive
        raw = self._opened.enter_context(exclusively(paths.ROOT / "dev" / drive.name, drive.size))
        if not self._is_here():
            raise Refused(f"{named(self._found.row)} was removed or replaced meanwhile; nothing was written")
        cancelled = paths.drive_test_cancel_file().exists
        self._tester = DriveTester(self._system, drive, raw, self._quick, self._board.tell, cancelled)

    def close(self) -> None:
        self._opened.close()

    def run(self) -> DriveTest:
        trim: Trim | None = None
        state: State = "passed"
        reason: str | None = None
        blank = True
        try:
            if self._tester is not None:
                self._tester.mark()
                trim = self._tester.test()
        except Cancelled as end:
            state, reason, blank = "cancelled", str(end), end.blank
        except MillraceError as error:
            state, reason, blank = "failed", str(error), False
        # nobody takes a drive that is blank and about to be found failing
        with writing(deciding(self.record.serial), wait=True):
            return self._decided(state, reason, blank, trim)

    def _decided(self, state: State, reason: str | None, blank: bool, trim: Trim | None) -> DriveTest:
        """Decide while the drive is open to nobody else, close it, examine it and record how the test ended."""
        drive = self._found.drive
        after = _smart(self._system, drive)
        errors = _more(self._before, after)
        if state == "passed":
            health = {key: value for key, value in after.items() if key in HEALTH} if after else {}
            reason = _unfit(drive.model_copy(update=health), errors)
            state = "failed" if reason else "passed"
            if reason:
                blank = False
                self._mark()
        self.close()
        if not self._is_here():
            # another drive may have its name by now
            gone = reason if state == "failed" and reason else "the drive was removed"
            record = self.record.model_copy(update={"state": "failed", "reason": gone, "ended": self._system.now()})
            self._board.save(record)
            return record
        reread(self._system, drive.name, log)
        now = self._board.examined(drive.name)
        if blank:
            try:
                proved_blank(now)
            except MillraceError as error:
                state, reason, blank = "failed", str(error).replace("was erased", "was tested"), False
        if state == "passed" and (unfit := _unfit(now, errors)):
            state, reason, blank = "failed", unfit, False
            self._mark_again()
            self._board.examined(drive.name)
        ended = self._ended(now, state, reason, blank, trim, errors)
        self._board.save(ended)
        return ended

    def _is_here(self) -> bool:
        """Whether the name is still that of the drive that was decided on."""
        return self._system.diskseq(self._found.drive.name) == self._found.attached

    def _mark(self) -> None:
        """Mark a drive that is blank and did not pass: nobody is to take it for one that may be used."""
        try:
            if self._tester is not None:
                self._tester.mark()
        except MillraceError as error:
            log(str(error))

    def _mark_again(self) -> None:
        """Mark a drive that was closed, unless it has other contents by now."""
        drive = self._found.drive
        try:
            with exclusively(paths.ROOT / "dev" / drive.name, drive.size) as raw:
                if self._is_here() and not self._system.gpt_ids(drive.name, drive.logical_block):
                    raw.mark(TEST_MARK)
        except MillraceError as error:
            log(str(error))

    def _ended(
        self, now: Drive, state: State, reason: str | None, blank: bool, trim: Trim | None, errors: int | None
    ) -> DriveTest:
        measured = self._tester.measured if self._tester else None
        record = self.record.model_copy(
            update={"state": state, "reason": reason, "blank": blank, "trim": trim, "media_errors": errors}
        )
        if measured is not None:
            update = {
                "written_bytes": measured.written,
                "write_bytes_per_second": measured.rate("write"),
                "read_bytes_per_second": measured.rate("read"),
                "longest_write_ms": measured.milliseconds("write"),
                "longest_read_ms": measured.milliseconds("read"),
                "hottest_celsius": measured.hottest,
            }
            record = record.model_copy(update=update)
        return record.model_copy(
            update={"ended": self._system.now(), "remarks": list(_remarks(record, now, self._found))}
        )


def _unfit(drive: Drive, errors: int | None) -> str | None:
    """Why a drive does not pass of which every block did; `errors` are new media errors."""
    if failing := why_failing(drive):
        return f"the drive {failing}"
    return f"the drive reports {errors} new media error{'s' * (errors > 1)}" if errors else None


def _remarks(test: DriveTest, now: Drive, candidate: TestableDrive) -> Iterator[str]:
    """What is worth knowing of a drive that passed."""
    longest = max(test.longest_write_ms or 0, test.longest_read_ms or 0)
    if longest >= SLOW_MS:
        yield f"one request took {longest / 1000:.1f} s"
    if (now.critical_warning or 0) & 1 << 1:
        yield "it was outside its temperature range"
    before, after = candidate.drive.link, now.link
    if before is not None and after is not None and (before.speed, before.width) != (after.speed, after.width):
        yield f"its PCIe link changed from {before.speed:g} GT/s ×{before.width} to {after.speed:g} GT/s ×{after.width}"
    if test.trim == "refused":
        yield "it refused a trim"


def _smart(system: System, drive: Drive) -> nvme.Smart | None:
    if drive.transport != "nvme":
        return None
    device = identify(block_dir(paths.ROOT, drive.name)).device
    return nvme.smart(device, paths.ROOT / "dev" / drive.name, system.attempt)


def _more(before: nvme.Smart | None, after: nvme.Smart | None) -> int | None:
    """How many media errors came; None where the drive does not count them."""
    old, new = (one["media_errors"] if one else None for one in (before, after))
    return None if old is None or new is None else max(new - old, 0)


def _same(found: TestableDrive, target: DriveTestTarget) -> TestableDrive:
    if (found.drive.wwid, found.attached) != (target.wwid, target.attached):
        raise Refused(f"{named(found.row)} was replaced meanwhile; nothing was written")
    return found


def _ready(system: System, serial: str, quick: bool) -> TestableDrive:
    known = facts()
    before = row(known, serial)
    if before.name is None:
        may_test.check(known, before, None, quick)
    drive = examine(before.name or "")
    attached = system.diskseq(drive.name)
    if drive.serial != serial or attached is None:
        raise Refused(f"{named(before)} was removed or replaced just now; nothing was written")
    now = may_erase.fresh(known, drive)
    drive_row = row(now, serial)
    may_test.check(now, drive_row, drive, quick)
    if reason := system.in_use(drive.name):
        raise Refused(f"{named(drive_row)} is in use ({reason}): end its use first; nothing was written")
    return TestableDrive(drive_row, drive, attached)
