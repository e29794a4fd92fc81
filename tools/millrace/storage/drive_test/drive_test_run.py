# SPDX-License-Identifier: Apache-2.0
"""The test of one drive, from its opening to its record."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack

from millrace.inventory import drive_tests, nvme
from millrace.inventory.drive_tests import DriveTest, State, Trim
from millrace.inventory.drives import block_dir, identify
from millrace.inventory.model import Drive
from millrace.inventory.surface import TEST_MARK
from millrace.plan.failing import why_failing
from millrace.storage.array.machine import System
from millrace.storage.drive.drive_text import named
from millrace.storage.drive_test.testable import TestableDrive
from millrace.storage.drive_test.tester import Cancelled, DriveTester
from millrace.storage.erase.erase_job import examined, log
from millrace.storage.erase.eraser import proved_blank, reread
from millrace.storage.erase.overwrite import exclusively
from millrace.storage.record.test_order import DriveTestOrder, DriveTestProgress, DriveTestsProgress
from millrace.storage.record.writer import deciding, writing
from millrace.system import paths
from millrace.system.boot import boot_id
from millrace.system.documents import write_model
from millrace.system.errors import MillraceError, Refused
from millrace.system.jobs import job_paths

HEALTH = ("critical_warning", "available_spare", "spare_threshold")
"""What of a SMART log `why_failing` judges."""
SLOW_MS = 1000
"""Milliseconds of one request from which on it is a remark."""


class DriveTestBoard:
    """What all tests of an order write: one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._progress: dict[str, DriveTestProgress] = {}

    def save(self, test: DriveTest) -> None:
        """Write the record of one test."""
        with self._lock:
            drive_tests.save(test)

    def tell(self, progress: DriveTestProgress) -> None:
        """Write how far one test is, in bytes and seconds."""
        with self._lock:
            self._progress[progress.serial] = progress
            write_model(job_paths.drive_test_progress_file(), DriveTestsProgress(drives=list(self._progress.values())))

    def examined(self, name: str) -> Drive:
        """Examine a drive and return it as the inventory has it now."""
        with self._lock:
            return examined(name)


class DriveTestRun:
    """The test of one drive, from its opening to its record."""

    def __init__(self, system: System, candidate: TestableDrive, order: DriveTestOrder, board: DriveTestBoard) -> None:
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
        """Open the drive, which nobody else can open then. Refused: it was removed or replaced."""
        drive = self._found.drive
        raw = self._opened.enter_context(exclusively(paths.ROOT / "dev" / drive.name, drive.size))
        if not self._is_here():
            raise Refused(f"{named(self._found.row)} was removed or replaced meanwhile; nothing was written")
        cancelled = job_paths.drive_test_cancel_file().exists
        self._tester = DriveTester(self._system, drive, raw, self._quick, self._board.tell, cancelled)

    def close(self) -> None:
        """Close the drive, where it is open."""
        self._opened.close()

    def run(self) -> DriveTest:
        """Test the drive, close it and return the record, which is written too."""
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
