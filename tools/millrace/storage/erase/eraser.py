# SPDX-License-Identifier: Apache-2.0
"""Erase one drive: by a command of its own where it has one that works, else by writing and reading all of it."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from millrace.inventory.drives import block_dir, identify
from millrace.inventory.erase_support import EraseSupport, Method, erase_support
from millrace.inventory.model import Drive
from millrace.storage.array.machine import Report, System, settle
from millrace.storage.erase.overwrite import RawDrive, exclusively
from millrace.storage.record.erasure import EraseProgress
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import Failed, Refused
from millrace.system.jobs import job_paths
from millrace.system.run import last_words
from millrace.system.wait import wait_until

HOURS = 3
"""A drive of many terabytes may take as long to erase itself."""
POLL = 2.0
"""Seconds between two readings of the state of a sanitize."""
EVERY = 1.0
"""Seconds between two lines of progress."""
SANITIZE_ACTIONS = {"sanitize-block": "start-block-erase", "sanitize-crypto": "start-crypto-erase"}
SECURE_ERASE = {"format": 1, "format-crypto": 2}
SANITIZED, SANITIZING = {1, 4}, 2
SPROG_FULL = 1 << 16

UNPROVED_OWN = (
    "the drive reported that it erased all it stores; both ends and samples were read, what it keeps out of reach was "
    "not"
)
UNPROVED_OVERWRITE = (
    "every block was written and read back; areas that the drive keeps out of reach (overprovisioning, replaced "
    "blocks) may hold old data"
)


@dataclass(frozen=True)
class Erased:
    """How a drive was erased, and what that does not prove."""

    method: Method | Literal["overwrite"]
    unproved: str


class Eraser:
    """Erases one drive; `chosen` is called before the first write with what is tried."""

    def __init__(self, system: System, drive: Drive, report: Report, clock: Callable[[], float] = time.monotonic):
        self._system, self._drive, self._report, self._clock = system, drive, report, clock
        self._began = self._shown = clock()
        self._device = paths.ROOT / "dev" / drive.name

    def erase(self, attached: str | None, began: Callable[[], None]) -> Erased:
        """Erase it; `began` is called before the first write.

        Refused: it is in use, another drive than `attached`, or it still erases itself after an erase that was killed.
        Failed: it cannot be written or read.
        """
        support = EraseSupport()
        if self._drive.transport == "nvme":
            support = erase_support(self._device, self._system.attempt)
        if any(method in SANITIZE_ACTIONS for method in support.methods):
            self._refuse_sanitizing()
        with exclusively(self._device, self._drive.size) as raw:
            if attached is None or self._system.diskseq(self._drive.name) != attached:
                raise Refused(f"drive {self._drive.serial} was removed or replaced meanwhile; nothing was written")
            began()
            raw.mark()
            erased = self._by_itself(raw, support) or self._overwrite(raw)
        reread(self._system, self._drive.name, self._report)
        return erased

    def _by_itself(self, raw: RawDrive, support: EraseSupport) -> Erased | None:
        """Try what the drive offers; None where it offers nothing, or nothing that works."""
        for method in support.methods:
            before = raw.samples()
            self._tell(f"the drive erases itself ({method})", None, None)
            problem = self._command(method, support.lba_format)
            if problem is None and before.items() & raw.samples().items():
                problem = "the drive reported success and still returns old data"
            if problem is None:
                raw.clear_ends()
                return Erased(method, UNPROVED_OWN)
            self._report(f"{method}: {problem}")
        return None

    def _command(self, method: Method, lba_format: int) -> str | None:
        """Have the drive erase itself; return why it did not."""
        if method in SANITIZE_ACTIONS:
            return self._sanitize(SANITIZE_ACTIONS[method])
        # --force: without a pause of 10 seconds, and although this process has the drive open
        options = [f"--ses={SECURE_ERASE[method]}", f"--lbaf={lba_format}", f"--timeout={HOURS * 3_600_000}", "--force"]
        done = self._system.attempt(["nvme", "format", str(self._device), *options])
        return None if done.status == 0 else last_words(done)

    def _sanitize(self, action: str) -> str | None:
        controller = self._controller()
        done = self._system.attempt(["nvme", "sanitize", controller, f"--sanact={action}", "--force"])
        if done.status != 0:
            return last_words(done)
        pauses = (POLL for _ in range(round(HOURS * 3600 / POLL)))
        status = wait_until(
            lambda: self._sanitize_status(controller), lambda now: now != SANITIZING, pauses, self._system.wait
        )
        return None if status in SANITIZED else f"the drive reports the status {status} of its sanitize"

    def _sanitize_status(self, controller: str) -> int | None:
        status, progress = self._sanitize_log(controller)
        if status == SANITIZING:
            self._tell(
                "the drive erases itself (sanitize)", self._drive.size * progress // SPROG_FULL, self._drive.size
            )
        return status

    def _refuse_sanitizing(self) -> None:
        """A sanitize goes on without the program that began it, and nothing can be read or written before its end."""
        status, progress = self._sanitize_log(self._controller())
        if status == SANITIZING:
            raise Refused(
                f"drive {self._drive.serial} still erases itself ({100 * progress // SPROG_FULL} % done); "
                "when that has ended, run it again"
            )

    def _sanitize_log(self, controller: str) -> tuple[int | None, int]:
        """SSTAT bits 2:0 of the sanitize log, which nvme-cli prints as `(1) text`, and SPROG; None where it cannot be
        read.
        """
        said = self._system.attempt(["nvme", "sanitize-log", controller, "--output-format=json"])
        try:
            (log,) = json.loads(said.out).values()
            return int(log["sstat"]["status"][1]), int(log["sprog"])
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            return None, 0

    def _controller(self) -> str:
        return f"/dev/{identify(block_dir(paths.ROOT, self._drive.name)).device.name}"

    def _overwrite(self, raw: RawDrive) -> Erased:
        self._began = self._clock()
        raw.overwrite(self._written)
        return Erased("overwrite", UNPROVED_OVERWRITE)

    def _written(self, what: str, done: int, total: int) -> None:
        if done == total or self._clock() - self._shown >= EVERY:
            self._tell(what, done, total)

    def _tell(self, what: str, done: int | None, total: int | None) -> None:
        now = self._clock()
        self._shown = now
        rate = round(done / (now - self._began)) if done and now > self._began else None
        left = round((total - done) / rate) if rate and total and done else None
        progress = EraseProgress(
            serial=self._drive.serial, what=what, done=done, total=total, bytes_per_second=rate, seconds_left=left
        )
        write_model(job_paths.erase_progress_file(), progress)


def reread(system: System, name: str, report: Report) -> None:
    """Let kernel and udev forget what was on a drive; what they miss, the examination after this shows."""
    for argv in (
        ["blockdev", "--rereadpt", f"/dev/{name}"],
        ["udevadm", "trigger", "--action=change", f"/dev/{name}"],
    ):
        done = system.attempt(argv)
        if done.status != 0:
            report(f"{argv[0]}: {last_words(done)}")
    settle(system)


def proved_blank(drive: Drive) -> None:
    """Verify the verdict of the inventory on an erased drive. Failed: it is not blank; what was found."""
    if drive.state != "blank":
        found = "; ".join(f"{one.probe}: {one.finding}" for one in drive.evidence)
        raise Failed(f"the drive was erased and is not blank ({found}); replace it")
