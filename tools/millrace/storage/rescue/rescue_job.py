# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit that carries out a confirmed step, which does not end with the terminal that started it.

What was confirmed is in /run: after a reboot each step is confirmed again, by a user who sees the drives of then.
"""

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from millrace.storage.array.machine import Report, System
from millrace.storage.record.writer import RESCUING, writing
from millrace.storage.rescue import rescue
from millrace.storage.rescue.rescue_journal import RescueJournal
from millrace.storage.rescue.rescue_model import RescueState, RescueStatus, RescueWork
from millrace.storage.rescue.rescue_steps import Choices
from millrace.storage.rescue.step_names import StepName
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, MillraceError, Refused
from millrace.system.files import describe
from millrace.system.jobs import kinds, record
from millrace.system.jobs.job import Document, Glance, Job
from millrace.system.run import Runner

STEP = Document(paths.rescue_step_file, RescueWork)


def _glance() -> Glance | None:
    work = STEP.get()
    if work is not None and work.state == "running":
        return Glance(f"{_in_words(work.step)}{f': {work.line}' if work.line else ''}", work.progress)
    try:
        journal = RescueJournal.load()
    except (BadInput, OSError):
        # root alone reads it
        return None
    if journal is None or journal.next is None:
        return None
    return Glance(f"{_in_words(journal.next)} is to be confirmed: millrace pool rescue")


JOB = Job(
    kind=kinds.RESCUE,
    busy="a step of the rescue is running; wait for its end: millrace pool rescue --status",
    stop="a step of a rescue is not cancelled: the pool would be left halfway; the next one waits to be confirmed",
    glance=_glance,
    files=(STEP,),
)
AGAIN = f"it was ended from outside; see `journalctl -u {JOB.unit}`, then confirm it again: millrace pool rescue"
PHASES = 7
PHASE = re.compile(r"Phase (\d+) - ")
"""How xfs_repair names what it does; its other lines are in the journal of the unit."""


def last(run: Runner) -> RescueWork | None:
    """Return the step that was confirmed last in this boot. None: there is none, or its record cannot be read."""
    work = STEP.get()
    if work is not None and work.state == "running" and JOB.has_ended(run):
        # read again: the unit writes how a step ended before it ends
        work = STEP.get()
        if work is not None and work.state == "running":
            return work.model_copy(update={"state": "interrupted", "error": AGAIN})
    return work


def running(run: Runner) -> RescueWork | None:
    """Return the step that is being carried out now."""
    work = last(run)
    return work if work is not None and work.state == "running" else None


def state(system: System, choices: Choices, by: str) -> RescueState:
    """Return what `rescue.state` does, with the step of this boot; while one runs, no drive is examined.

    Refused: as `rescue.state`.
    """
    work = last(system.attempt)
    known = rescue.recorded(choices) if work is not None and work.state == "running" else None
    with _closing(system.attempt):
        return (known or rescue.state(system, choices, by)).model_copy(update={"work": work})


def status(system: System) -> RescueStatus:
    """Return the open rescue, else the last one that ended; no drive is examined. BadInput: it cannot be read."""
    known = rescue.recorded(Choices())
    work = last(system.attempt)
    return RescueStatus(rescue=known.model_copy(update={"work": work}) if known else None, work=work)


def start(system: System, name: StepName, choices: Choices, by: str) -> RescueWork | None:
    """Let the unit carry out the confirmed step `name`, or return it where that runs; None where it is done.

    Refused: another step comes first or runs, another job runs, or a rescue is the wrong thing. BadInput: a choice is
    not valid. Failed: the unit does not start.
    """
    now = running(system.attempt)
    if now is not None:
        if now.step == name and choices in (Choices(), _choices(now)):
            return now
        raise Refused(
            f"the step '{now.step}' is running, confirmed by {now.by}; wait for its end: millrace pool rescue --status"
        )
    with _closing(system.attempt), writing(RESCUING):
        if rescue.check(system, name, choices, by):
            return None
    work = RescueWork(
        id=uuid.uuid4().hex,
        step=name,
        by=by,
        at=system.now(),
        drives=list(choices.drives),
        image=choices.image,
        without_image=choices.without_image,
    )
    with JOB.starting(system.attempt, _in_words(name), by):
        STEP.write(work)
    return work


@contextmanager
def _closing(run: Runner) -> Iterator[None]:
    """Record the end of a rescue that is found to be the wrong thing between two steps."""
    try:
        yield
    except Refused as better:
        found = record.load(JOB.kind.name)
        if found is not None and found.state == "running" and not JOB.is_open() and JOB.has_ended(run):
            record.end(found, "cancelled", str(better))
        raise


def follow(system: System, work: RescueWork) -> Iterator[RescueWork]:
    """Yield the step as it goes on, its end included. Failed: it did not end well, and why."""

    def look() -> RescueWork | None:
        now = STEP.get()
        if now is None or now.id != work.id:
            raise Failed("another step was confirmed meanwhile: millrace pool rescue --status")
        return now

    def over() -> bool:
        return shown is not None and shown.state != "running"

    shown: RescueWork | None = None
    for shown in JOB.follow(look, system.attempt, system.wait, over):
        yield shown
    if shown is None or shown.state == "running":
        shown = last(system.attempt) or work
        yield shown
    if shown.error is not None:
        raise Failed(f"step '{shown.step}': {shown.error}")


def execute(system: System, report: Report) -> RescueState | None:
    """Carry out the step that was confirmed; what the unit runs. None: there is none that is open.

    `report` receives lines of progress. Refused, Failed: it did not end well, which is recorded.
    """
    work = STEP.get()
    if work is None or work.state != "running":
        return None
    written = _Record(work, report)
    with JOB.execution(_in_words(work.step)):
        try:
            after = rescue.carry_out(system, work.step, _choices(work), work.by, written.line)
        except (MillraceError, OSError) as error:
            sentence = describe(error)
            written.keep(state="failed", error=sentence, ended=system.now())
            raise
        written.keep(state="done", line=None, progress=None, ended=system.now())
    return after.model_copy(update={"work": written.work})


class _Record:
    """The step in /run, as it goes on."""

    def __init__(self, work: RescueWork, report: Report) -> None:
        self.work = work
        self._report = report

    def keep(self, **changes: object) -> None:
        """Write what has changed."""
        self.work = self.work.model_copy(update=changes)
        STEP.write(self.work)

    def line(self, line: str) -> None:
        """Report a line; of xfs_repair, which prints one for each thing that it corrects, only its phases are kept."""
        self._report(line)
        phase = PHASE.match(line)
        if phase:
            self.keep(line=line, progress=min(1.0, (int(phase[1]) - 1) / PHASES))
        elif self.work.step != "repair":
            self.keep(line=line)


def _choices(work: RescueWork) -> Choices:
    return Choices(tuple(work.drives), work.image, work.without_image)


def _in_words(name: StepName) -> str:
    return f"step '{name}'"
