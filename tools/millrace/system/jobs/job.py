# SPDX-License-Identifier: Apache-2.0
"""A job: from its order to its record. Each kind of long work has one in its room."""

import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel

from millrace.system import locks, paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Failed, MillraceError, Refused
from millrace.system.files import describe, write_text
from millrace.system.jobs import pairs, record
from millrace.system.jobs.kinds import JobKind, JobName
from millrace.system.jobs.record import JobRecord
from millrace.system.run import Runner, last_words, must
from millrace.system.units import UnitState, state
from millrace.system.users import invoking_user
from millrace.system.wait import wait_until

Model = TypeVar("Model", bound=BaseModel)
Seen = TypeVar("Seen")
Pause = Callable[[float], None]

POLL = 1.0
"""Seconds between two looks."""
RESTARTING = 3
"""Looks in a row at which a unit does not run before it has ended: systemd starts some again after a kill."""
SILENT = 60
"""Looks in a row at which systemd does not report a unit before nobody can follow it."""
START_LIMIT = 60.0
"""Seconds that a start waits for another one, which may hang at a drive."""
SERVER = "the server"
"""Who orders what nobody ordered: a policy, a timer, or the boot."""
KILLED = "it was ended from outside, or the server was restarted"


class JobFile(Protocol):
    """A file that a job has in /run while it is ordered or runs."""

    def remove(self) -> None:
        """Remove it, where there is one."""
        ...


@dataclass(frozen=True)
class Flag:
    """A file of a job without contents: it is there, or not."""

    path: Callable[[], Path]

    def remove(self) -> None:
        """Remove it, where there is one."""
        self.path().unlink(missing_ok=True)


@dataclass(frozen=True)
class Document(Generic[Model]):
    """A file of a job, and the model of what is in it."""

    path: Callable[[], Path]
    kind: type[Model]

    def read(self) -> Model:
        """Return it. BadInput: there is none, or it cannot be read."""
        return read_model(self.path(), self.kind)

    def get(self) -> Model | None:
        """Return it; None where there is none, or it is being written this moment."""
        try:
            return self.read() if self.path().exists() else None
        except (BadInput, OSError):
            return None

    def write(self, found: Model, mode: int = 0o644) -> None:
        """Write it."""
        write_model(self.path(), found, mode)

    def remove(self) -> None:
        """Remove it, where there is one."""
        self.path().unlink(missing_ok=True)


class Glance(NamedTuple):
    """How far a job is: its object, from 0 to 1, seconds and bytes per second; None is not known."""

    what: str
    progress: float | None = None
    seconds_left: float | None = None
    bytes_per_second: int | None = None


@dataclass(frozen=True)
class Job:
    """One kind of long work, as its room does it.

    `files` are its order and its progress in /run: an order that was carried out, and progress of one that ended, are
    removed. `glance` says how far it is, None where that is not known. `stop` cancels it, or is the sentence why nobody
    can. `busy` is the sentence of a start while another job of this kind runs.
    """

    kind: JobKind
    busy: str
    stop: Callable[[Runner], object] | str
    glance: Callable[[], Glance | None]
    files: tuple[JobFile, ...] = ()

    @property
    def unit(self) -> str:
        """The unit that does it."""
        return self.kind.unit

    def state(self, run: Runner) -> UnitState:
        """Return the state of its unit. Failed: systemd does not report it."""
        return state(self.unit, run)

    def runs(self, run: Runner) -> bool:
        """Whether it works by `JobKind.works`, asked of systemd; not where systemd reports nothing."""
        try:
            return self.kind.works(self.state(run))
        except Failed:
            return False

    def obstacle(self, run: Runner, allowed: Collection[JobName] = ()) -> str | None:
        """Return why it cannot start now, in a sentence; None where it can. Failed: systemd reports no states."""
        if self.kind.works(self.state(run)):
            return self.busy
        found = pairs.obstacle(self.kind.name, run, allowed)
        return found.sentence if found else None

    @contextmanager
    def starting(
        self, run: Runner, what: str, by: str = "", allowed: Collection[JobName] = (), pause: Pause = time.sleep
    ) -> Iterator[None]:
        """Start the unit at the end of the block, which writes the order; one process at a time does so.

        `what` and `by` are for the record: the object, and who orders it (default: the invoking user). Refused: it
        runs, or another job that it does not start beside, or another start takes longer than START_LIMIT seconds;
        nothing was written. Failed: the unit does not start; the order is removed.
        """
        with no_start(self.kind.title, pause):
            if sentence := self.obstacle(run, allowed):
                raise Refused(sentence)
            self.clear()
            try:
                yield
                began = record.begin(self.kind.name, what, by or invoking_user())
                self._start(run, began)
            except BaseException:
                self.clear()
                raise

    def _start(self, run: Runner, began: JobRecord) -> None:
        # starts that systemd refuses as too many were those of other jobs
        run(["systemctl", "reset-failed", self.unit])
        done = run(["systemctl", "start", "--no-block", self.unit])
        if done.status != 0:
            sentence = f"{self.unit} does not start: {last_words(done)}"
            record.end(began, "failed", sentence)
            raise Failed(sentence)

    def start_again(self, run: Runner) -> None:
        """Let systemd start the unit after its end where it ends now; nothing changes where it waits for its start."""
        run(["systemctl", "start", "--no-block", self.unit])

    def follow(
        self,
        look: Callable[[], Seen | None],
        run: Runner,
        pause: Pause = time.sleep,
        over: Callable[[], bool] = lambda: False,
    ) -> Iterator[Seen]:
        """Yield what `look` returns, each time it has changed, until the unit has ended, or it is known to be over.

        Failed: systemd does not report the unit for SILENT looks; the job goes on.
        """
        shown: Seen | None = None
        idle, silent = 0, 0
        while idle < RESTARTING:
            try:
                idle, silent = (0, 0) if self.state(run).works else (idle + 1, 0)
            except Failed:
                # it has ended no job by that
                idle, silent = 0, silent + 1
                if silent >= SILENT:
                    raise
            now = look()
            if now is not None and now != shown:
                yield now
                shown = now
            if over() or (idle and not self.kind.restarts):
                return
            pause(POLL)

    def has_ended(self, run: Runner) -> bool:
        """Whether systemd says that the unit does not work: one that says nothing has ended no job."""
        try:
            return not self.state(run).works
        except Failed:
            return False

    def _is_starting(self) -> bool:
        # its record is there before its unit works
        return locks.doing(_start_lock()) == self.kind.title

    @contextmanager
    def execution(self, what: str = "") -> Iterator[JobRecord]:
        """Carry the job out in the block, which its unit does, and record how it ends; `what` where nobody ordered it.


        A block that ends neither well nor with an error records that itself (`record.end`). One that pauses
        and whose journal is open has not ended. Refused: another process carries one out.
        """
        with self.alone():
            began = self._begun(what)
            try:
                yield began
            except (MillraceError, OSError) as error:
                self._end(began, "failed", describe(error))
                raise
            if not (self.kind.pauses and self.is_open()):
                self._end(began, "done")

    def _end(self, began: JobRecord, state: record.JobState, reason: str | None = None) -> None:
        found = record.load(self.kind.name)
        if found is None or found.id != began.id or found.state == "running":
            record.end(began, state, reason)

    def alone(self) -> AbstractContextManager[None]:
        """Hold the lock of who carries out a job of this kind. Refused: another process has it."""
        return locks.held(paths.run_dir() / f"jobs/{self.kind.name}.lock", self.busy)

    def _begun(self, what: str) -> JobRecord:
        found = record.load(self.kind.name)
        if found is not None and found.state == "running":
            return found
        return record.begin(self.kind.name, what or self.kind.title, SERVER)

    def last(self, run: Runner) -> JobRecord | None:
        """Return the last job of this kind: "waiting" where its journal is open and nobody works on it, "interrupted"
        where its process was killed. None: there was none.
        """
        job_record = record.load(self.kind.name)
        if job_record is None or job_record.state != "running" or self._is_starting() or not self.has_ended(run):
            return job_record
        # between the look at the record and that at the unit it may have ended well
        job_record = record.load(self.kind.name)
        if job_record is None or job_record.state != "running":
            return job_record
        state: record.JobState = "waiting" if self.is_open() else "interrupted"
        return job_record.model_copy(update={"state": state, "reason": None if state == "waiting" else KILLED})

    def is_open(self) -> bool:
        """Whether its journal is not at its end, or cannot be read."""
        try:
            return self.kind.is_open()
        except BadInput:
            return True

    def cancel(self, run: Runner) -> JobRecord | None:
        """End the job; return how it ended.

        Refused: none is under way, or nobody can end one, and why. Failed: systemd does not report its unit.
        """
        if isinstance(self.stop, str):
            raise Refused(self.stop)
        if not (self.kind.works(self.state(run))):
            raise Refused(f"no {self.kind.title} is under way: millrace job list")
        self.stop(run)
        job_record = self.last(run)
        if job_record is not None and job_record.state in ("running", "interrupted", "cancelled"):
            job_record = record.end(job_record, "cancelled", f"by {invoking_user()}")
        return job_record

    def clean_up(self) -> JobRecord | None:
        """Record a job that was killed as interrupted, and remove its order and progress; its unit does so at its end.

        Return the record, where it was changed. Refused: a process carries one out.
        """
        # its end has freed the lock of the process that was killed
        with self.alone():
            job_record, ended = record.load(self.kind.name), None
            if job_record is not None and job_record.state == "running" and not self.is_open():
                ended = record.end(job_record, "interrupted", KILLED)
            self.clear()
        return ended

    def clear(self) -> None:
        """Remove order and progress."""
        for one in self.files:
            one.remove()

    def last_line(self, run: Runner) -> str:
        """Return the last line that the unit printed: why it did not begin."""
        told = run(["journalctl", "--unit", self.unit, "--identifier=millrace", "--lines=1", "--output=cat"]).out
        return told.strip().removeprefix("millrace: ") or f"see `journalctl -u {self.unit}`"


def _start_lock() -> Path:
    return paths.run_dir() / "jobs/start.lock"


@contextmanager
def no_start(title: str, pause: Pause = time.sleep) -> Iterator[None]:
    """Let no job start in the block: a start waits for its end. `title` says to others who holds the lock of starts.

    Busy: another start has had it for START_LIMIT seconds, and whose.
    """
    with ExitStack() as stack:

        def entered() -> locks.Busy | None:
            try:
                stack.enter_context(locks.held(_start_lock(), _starts_already, title))
            except locks.Busy as busy:
                return busy
            return None

        if busy := wait_until(entered, lambda holder: holder is None, repeat(POLL, round(START_LIMIT / POLL)), pause):
            raise busy
        yield


def _starts_already() -> str:
    other = locks.doing(_start_lock()) or "another job"
    return f"the start of the {other} has not ended for {START_LIMIT:.0f} seconds: millrace job list"


def at_end() -> bool:
    """Whether systemd runs this process at the end of a unit, and not an administrator or a boot (systemd.exec(5))."""
    return "SERVICE_RESULT" in os.environ


def by_stopping(kind: JobKind) -> Callable[[Runner], object]:
    """Return how a job is cancelled whose unit puts back what it changed when it is stopped."""
    return lambda run: stop_unit(kind, run)


def stop_unit(kind: JobKind, run: Runner) -> None:
    """Stop the unit of a kind and wait for its end. Failed: systemd does not."""
    must(run, ["systemctl", "stop", kind.unit])


def by_asking(kind: JobKind, path: Callable[[], Path], pause: Pause = time.sleep) -> Callable[[Runner], None]:
    """Return how a job is cancelled that ends by itself once the file `path` is there; its end is waited for."""

    def ask(run: Runner) -> None:
        write_text(path(), "")
        while state(kind.unit, run).works:
            pause(POLL)

    return ask
