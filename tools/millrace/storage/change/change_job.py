# SPDX-License-Identifier: Apache-2.0
"""From the verb to millrace-drive.service: closing the terminal or the page does not stop it."""

from collections.abc import Callable, Collection, Iterator

from millrace.storage.array.devices import array_device
from millrace.storage.array.live_arrays import sync
from millrace.storage.array.live_model import Action, Sync
from millrace.storage.array.machine import Report, System
from millrace.storage.change import change_proposal
from millrace.storage.change.change_model import ChangeProgress
from millrace.storage.record import change_journal
from millrace.storage.record.change_journal import ChangeJournal, in_words
from millrace.storage.record.drive_change import DriveChange, DriveProposal
from millrace.system.errors import BadInput, Failed
from millrace.system.jobs import kinds
from millrace.system.jobs.job import Glance, Job

REBUILD = "rebuild "
FILLING: Collection[Action] = ("first synchronisation", "rebuild", "reshape")
"""What md does with an array while it fills a member."""


def now(change: DriveChange, rebuild: Callable[[str], Sync | None] | None = None) -> ChangeProgress:
    """Return how far a change is; `rebuild` returns what md does with an array."""
    states = [step.state for step in change.steps]
    open_steps = [step.name for step in change.steps if step.state != "done"]
    step = open_steps[0] if open_steps and not change.ended else None
    running = (rebuild or _sync)(step.removeprefix(REBUILD)) if step and step.startswith(REBUILD) else None
    if running and running.action not in FILLING:
        # a check has a progress of its own
        running = None
    return ChangeProgress(
        change=change,
        done=states.count("done"),
        total=len(states),
        step=step,
        progress=running.progress if running else None,
        bytes_per_second=running.bytes_per_second if running else None,
        seconds_left=running.seconds_left if running else None,
    )


def _glance() -> Glance | None:
    try:
        journal = ChangeJournal.load()
    except BadInput:
        return None
    if journal is None:
        return None
    found = now(journal.change)
    what = f"{in_words(found.change.plan)}: {found.step or 'finishing'}"
    return Glance(what, found.progress, found.seconds_left, found.bytes_per_second)


JOB = Job(
    kind=kinds.DRIVE_CHANGE,
    busy="another change of drives is not finished; see `millrace drive progress`; wait until that has ended",
    stop="a change of drives is not cancelled: its array would be left with less redundancy; wait for its end",
    glance=_glance,
)


def start(system: System, proposal: DriveProposal, digest: str, by: str) -> DriveChange:
    """Confirm a proposal by its hash and start the unit; `by` is a user name.

    BadInput: it is no hash. Refused: it is that of another plan, or another job keeps it from that. Failed: the unit
    does not start; the next boot carries the change out.
    """
    with JOB.starting(system.attempt, in_words(proposal.plan), by):
        return change_proposal.confirm(system, proposal, digest, by)


def resume(system: System) -> DriveChange:
    """Let a change go on that an error stopped; one that runs is left to itself.

    Refused: none is open, or another job keeps it from that. Failed: the unit does not start.
    """
    change = change_proposal.stopped()
    if not JOB.runs(system.attempt):
        with JOB.starting(system.attempt, in_words(change.plan)):
            pass
    return change


def follow(system: System, change: DriveChange) -> Iterator[ChangeProgress]:
    """Yield progress until the change has ended, the end included. Failed: it stopped, and why."""

    def look() -> ChangeProgress:
        found = change_journal.last()
        if found is None or found.id != change.id:
            raise Failed("another change has taken the place of this one; see `millrace drive progress`")
        return now(found)

    def over() -> bool:
        return last is not None and last.change.ended is not None

    last: ChangeProgress | None = None
    for last in JOB.follow(look, system.attempt, system.wait, over):
        yield last
    ended = look().change
    if ended.error or not ended.ended:
        raise Failed(ended.error or f"{JOB.unit} ended before the change was done; see `journalctl -u {JOB.unit}`")


def execute(system: System, report: Report) -> DriveChange | None:
    """Carry out the confirmed change, or go on with an interrupted one; what the unit runs. None: there is none.

    `report` receives one line for each step. BadInput: the journal cannot be read. Refused, Failed: as `changes.apply`.
    """
    journal = ChangeJournal.load()
    if journal is None:
        return None
    with JOB.execution(in_words(journal.change.plan)):
        return change_proposal.apply(system, report)


def _sync(name: str) -> Sync | None:
    device = array_device(name)
    return sync(device) if device else None
