# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit that carries out a confirmed step, which does not end with the terminal that started it.

What was confirmed is in /run: after a reboot each step is confirmed again, by a user who sees the drives of then.
"""

import re
import uuid
from collections.abc import Iterator

from millrace.storage.array.machine import Report, System
from millrace.storage.record.writer import RESCUING, writing
from millrace.storage.rescue import rescue
from millrace.storage.rescue.rescue_model import RescueState, RescueStatus, RescueWork
from millrace.storage.rescue.rescue_steps import Choices
from millrace.storage.rescue.step_names import StepName
from millrace.system import locks, paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Failed, MillraceError, Refused
from millrace.system.files import describe
from millrace.system.run import Runner, last_words
from millrace.system.units import is_working

UNIT = "millrace-rescue.service"
POLL = 1.0
"""Seconds between two looks."""
PATIENCE = 3
"""Looks in a row at which the unit does not run before its end is one: systemd starts it again after a kill."""
KILLED = f"it was ended from outside; see `journalctl -u {UNIT}`, then confirm it again: millrace pool rescue"
PHASES = 7
PHASE = re.compile(r"Phase (\d+) - ")
"""How xfs_repair names what it does; its other lines are in the journal of the unit."""


def last(run: Runner) -> RescueWork | None:
    """Return the step that was confirmed last in this boot. None: there is none, or its record cannot be read."""
    work = _read()
    if work is not None and work.state == "running" and not is_working(UNIT, run):
        # read again: the unit writes how a step ended before it ends
        work = _read()
        if work is not None and work.state == "running":
            return work.model_copy(update={"state": "interrupted", "error": KILLED})
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
    return (known or rescue.state(system, choices, by)).model_copy(update={"work": work})


def status(system: System) -> RescueStatus:
    """Return the open rescue, else the last one that ended; no drive is examined. BadInput: it cannot be read."""
    known = rescue.recorded(Choices())
    work = last(system.attempt)
    return RescueStatus(rescue=known.model_copy(update={"work": work}) if known else None, work=work)


def start(system: System, name: StepName, choices: Choices, by: str) -> RescueWork | None:
    """Let the unit carry out the confirmed step `name`, or return it where that runs; None where it is done.

    Refused: another step comes first or runs, or a rescue is the wrong thing. BadInput: a choice is not valid. Failed:
    the unit does not start.
    """
    with locks.held(paths.run_dir() / "rescue.lock"):
        now = running(system.attempt)
        if now is not None:
            if now.step == name and choices in (Choices(), _choices(now)):
                return now
            raise Refused(
                f"the step '{now.step}' is running, confirmed by {now.by}; wait for its end: "
                "millrace pool rescue --status"
            )
        with writing(RESCUING):
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
        write_model(paths.rescue_step_file(), work)
        # more restarts than systemd allows were those of another step
        system.attempt(["systemctl", "reset-failed", UNIT])
        began = system.attempt(["systemctl", "start", "--no-block", UNIT])
        if began.status != 0:
            paths.rescue_step_file().unlink(missing_ok=True)
            raise Failed(f"{UNIT} does not start: {last_words(began)}; nothing was changed by this step")
        return work


def follow(system: System, work: RescueWork) -> Iterator[RescueWork]:
    """Yield the step as it goes on, its end included. Failed: it did not end well, and why."""
    shown, ended, idle = None, False, 0
    while not ended:
        now = last(system.attempt)
        if now is None or now.id != work.id:
            raise Failed("another step was confirmed meanwhile: millrace pool rescue --status")
        idle = idle + 1 if now.state == "interrupted" else 0
        ended = now.state in ("done", "failed") or idle >= PATIENCE
        if now != shown and (ended or not idle):
            yield now
            shown = now
        if not ended:
            system.wait(POLL)
        elif now.error is not None:
            raise Failed(f"step '{now.step}': {now.error}")


def execute(system: System, report: Report) -> RescueState | None:
    """Carry out the step that was confirmed; what the unit runs. None: there is none that is open.

    `report` receives lines of progress. Refused, Failed: it did not end well, which is recorded.
    """
    work = _read()
    if work is None or work.state != "running":
        return None
    record = _Record(work, report)
    try:
        after = rescue.carry_out(system, work.step, _choices(work), work.by, record.line)
    except (MillraceError, OSError) as error:
        sentence = describe(error) if isinstance(error, OSError) else str(error)
        record.keep(state="failed", error=sentence, ended=system.now())
        raise
    record.keep(state="done", line=None, progress=None, ended=system.now())
    return after.model_copy(update={"work": record.work})


def _read() -> RescueWork | None:
    if not paths.rescue_step_file().exists():
        return None
    try:
        return read_model(paths.rescue_step_file(), RescueWork)
    except BadInput:
        return None


class _Record:
    """The step in /run, as it goes on."""

    def __init__(self, work: RescueWork, report: Report) -> None:
        self.work = work
        self._report = report

    def keep(self, **changes: object) -> None:
        """Write what has changed."""
        self.work = self.work.model_copy(update=changes)
        write_model(paths.rescue_step_file(), self.work)

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
