# SPDX-License-Identifier: Apache-2.0
"""Test one blank drive: write contents that name their place, read them back, trim, and leave it blank again.

All is written before anything is read back, so that a drive that has less capacity than it reports returns what belongs
to another place. That a drive keeps in a power cut what it has acknowledged is not tested.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from millrace.inventory import nvme
from millrace.inventory.drive_tests import Trim
from millrace.inventory.drives import block_dir, identify
from millrace.inventory.model import Drive
from millrace.inventory.surface import MARK_SIZE, TEST_MARK, WINDOW
from millrace.plan.discard import reads_zeroes
from millrace.storage.array.machine import System
from millrace.storage.drive_test.pattern import BLOCK, Pattern, PatternBlock, everything, sample
from millrace.storage.erase.overwrite import RawDrive
from millrace.storage.record.test_order import DriveTestPass, DriveTestProgress
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.text import GIB

EVERY = 1.0
"""Seconds between two lines of progress."""
WARMTH = 15.0
"""Seconds between two readings of the temperature."""
TRIM = 16 * GIB
"""Bytes of one trim."""


class Cancelled(Failed):
    """An administrator ended the test; `blank` is whether the drive is blank again."""

    def __init__(self, blank: bool) -> None:
        super().__init__("an administrator ended it")
        self.blank = blank


@dataclass
class TestMeasurements:
    """What was measured so far: bytes and seconds of requests of more than a block, the longest request in seconds,
    degrees Celsius.
    """

    written: int = 0
    bytes_of: dict[str, int] = field(default_factory=lambda: {"write": 0, "read": 0})
    seconds_of: dict[str, float] = field(default_factory=lambda: {"write": 0.0, "read": 0.0})
    longest: dict[str, float] = field(default_factory=lambda: {"write": 0.0, "read": 0.0})
    hottest: int | None = None

    def rate(self, what: str) -> int | None:
        """Return bytes/s of one request after the other, each of 1 MiB where the drive is large enough."""
        return round(self.bytes_of[what] / self.seconds_of[what]) if self.seconds_of[what] else None

    def milliseconds(self, what: str) -> int | None:
        """Return the longest request in milliseconds; None where there was none."""
        return round(self.longest[what] * 1000) if self.longest[what] else None


class DriveTester:
    """Tests one drive that nobody else can open; `report` receives the progress, `cancelled` ends it."""

    def __init__(
        self,
        system: System,
        drive: Drive,
        raw: RawDrive,
        quick: bool,
        report: Callable[[DriveTestProgress], None],
        cancelled: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._system, self._drive, self._raw, self._quick = system, drive, raw, quick
        self._report, self._cancelled, self._clock = report, cancelled, clock
        self._pattern, self.measured = Pattern(), TestMeasurements()
        self._began, self._shown, self._warm = clock(), 0.0, 0.0
        self._done, self._passes = 0, 3
        self._sample = sample(drive.size, self._pattern.run) if quick else []

    def mark(self) -> None:
        """Write the marks of a test that was interrupted. Failed: the drive cannot be written."""
        self._raw.mark(TEST_MARK)

    def test(self) -> Trim:
        """Test a marked drive and leave it blank; return what became of the trim.

        Cancelled: it was to end; what was written is removed where that takes no hours. Failed: the drive does not do
        what it is to do, and keeps its marks.
        """
        try:
            self._over("writing", self._write)
            self._raw.flush()
            self._over("reading back", self._read_back)
            self._verify_marks()
            return self._clear(self._read_zeros)
        except Cancelled:
            if not self._quick and not reads_zeroes(self._drive):
                raise
            self._cancelled = lambda: False
            self._clear(None)
        raise Cancelled(blank=True)

    def _over(self, what: DriveTestPass, step: Callable[[PatternBlock], None]) -> None:
        total = sum(one.length for one in self._sample) if self._quick else self._drive.size
        for place in self._sample if self._quick else everything(self._drive.size):
            step(place)
            self._done += place.length
            self._tell(what, total * self._passes)

    def _timed(self, what: str, place: PatternBlock, request: Callable[[], object]) -> None:
        began = self._clock()
        request()
        took = self._clock() - began
        self.measured.longest[what] = max(self.measured.longest[what], took)
        # single blocks measure the latency, not the rate
        if place.length > BLOCK:
            self.measured.bytes_of[what] += place.length
            self.measured.seconds_of[what] += took

    def _write(self, place: PatternBlock) -> None:
        data = self._pattern.fill(place)
        self._timed("write", place, lambda: self._raw.write(data, place.offset, place.length))
        self.measured.written += place.length

    def _read_back(self, place: PatternBlock) -> None:
        read: list[bytes] = []
        self._timed("read", place, lambda: read.append(self._raw.read(place.offset, place.length)))
        if wrong := self._pattern.difference(place, read[0]):
            raise Failed(f"the drive {wrong}")

    def _verify_marks(self) -> None:
        for offset in (0, self._drive.size - MARK_SIZE):
            if not self._raw.read(offset, MARK_SIZE).startswith(TEST_MARK):
                raise Failed(f"the drive returns something else than was written at byte {offset}")

    def _clear(self, read: Callable[[PatternBlock], None] | None) -> Trim:
        """Trim, then make sure of zeros: they are read where the drive guarantees them, else written."""
        trim = self._trim()
        if read is None and not self._quick and trim != "reads zeroes":
            # all of it would be written now, which takes as long as the test
            raise Cancelled(blank=False)
        if trim != "reads zeroes":
            self._over("writing zeros", lambda place: self._raw.zero(place.offset, place.length))
            self._raw.flush()
        elif read is not None:
            self._over("reading zeros", read)
        # the marks go last
        for place in self._sample or sample(self._drive.size, self._pattern.run):
            self._raw.verify(place.offset, place.length)
        self._raw.clear_ends()
        return trim

    def _read_zeros(self, place: PatternBlock) -> None:
        if any(self._raw.read(place.offset, place.length)):
            raise Failed(f"the drive guarantees zeros after a trim (DLFEAT) and returns data at byte {place.offset}")

    def _trim(self) -> Trim:
        if not self._drive.max_discard:
            return "none"
        size = self._drive.size
        for begin in range(0, size, TRIM):
            # the marks are there at every moment until the drive is known to be blank
            offset, end = max(begin, MARK_SIZE), min(begin + TRIM, size - MARK_SIZE)
            if offset >= end:
                continue
            self._stop()
            if not self._raw.discard(offset, end - offset):
                return "refused"
        # a drive need not trim a part of its granule, and the marks are parts of theirs
        for offset in (MARK_SIZE, size - WINDOW):
            self._raw.zero(offset, WINDOW - MARK_SIZE)
        self._raw.flush()
        return "reads zeroes" if reads_zeroes(self._drive) else "accepted"

    def _stop(self) -> None:
        if self._cancelled():
            raise Cancelled(blank=False)

    def _tell(self, what: DriveTestPass, total: int) -> None:
        self._stop()
        now = self._clock()
        if now - self._warm >= WARMTH:
            self._warm = now
            self._temperature()
        if now - self._shown < EVERY and self._done < total:
            return
        self._shown = now
        rate = round(self._done / (now - self._began)) if now > self._began else None
        self._report(
            DriveTestProgress(
                serial=self._drive.serial,
                what=what,
                done=self._done,
                total=total,
                bytes_per_second=rate,
                seconds_left=round((total - self._done) / rate) if rate else None,
            )
        )

    def _temperature(self) -> None:
        if self._drive.transport != "nvme":
            return
        device = identify(block_dir(paths.ROOT, self._drive.name)).device
        read = nvme.smart(device, paths.ROOT / "dev" / self._drive.name, self._system.attempt)
        found = read["temperature"] if read else None
        if found is not None:
            self.measured.hottest = max(found, self.measured.hottest or found)
