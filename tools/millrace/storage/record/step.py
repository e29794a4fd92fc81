# SPDX-License-Identifier: Apache-2.0
"""How one step is carried out, first time or after a power cut: inspect what exists, then decide."""

from enum import Enum, auto
from typing import Protocol

from millrace.storage.record.step_journal import StepLog
from millrace.system.errors import Failed, Refused


class FoundContent(Enum):
    """What a step finds where it is to write. Content of another owner raises Refused instead."""

    ABSENT = auto()
    INCOMPLETE = auto()
    STOPPED = auto()
    COMPLETE = auto()


class Step(Protocol):
    """One thing to create: a partition table, an array, the file system."""

    name: str
    title: str

    def inspect(self) -> FoundContent:
        """Return what is there now; write nothing.

        Refused: the content is not of this transaction. Failed: it cannot be read.
        """
        ...

    def activate(self) -> None:
        """Bring what is complete but not running into use; return also where that did not succeed."""
        ...

    def undo(self) -> None:
        """Undo what this step of this transaction left incomplete, and nothing else."""
        ...

    def create(self) -> str:
        """Create it; return in a few words what was created.

        Failed: a tool fails, or the result differs from the plan.
        """
        ...


def checked_state(step: Step, journal: StepLog) -> FoundContent:
    """Return what is there, compared with what the journal allows; write nothing.

    Refused: data is there that the step has not created, or data that it created is missing.
    """
    state, condition = journal.state(step.name), step.inspect()
    if state == "pending" and condition is not FoundContent.ABSENT:
        raise Refused(f"{step.title}: existing data was not created by provisioning; nothing was written")
    if state == "done" and condition in (FoundContent.ABSENT, FoundContent.INCOMPLETE):
        raise Refused(f"{step.title}: data created by provisioning is missing; nothing was written")
    return condition


def carry_out(step: Step, journal: StepLog) -> str:
    """Complete and verify a step; return in a few words what was done.

    Refused: see `checked_state`. Failed: the result does not start, or differs from the plan.
    """
    condition = checked_state(step, journal)
    if condition is FoundContent.STOPPED:
        step.activate()
        condition = step.inspect()
    if condition is FoundContent.COMPLETE:
        if journal.state(step.name) != "done":
            journal.done(step.name)
        return "already done"
    if journal.state(step.name) == "done":
        raise Failed(f"{step.title}: created, but does not start; see `journalctl -k` for the reason")
    journal.start(step.name)
    if condition is not FoundContent.ABSENT:
        step.undo()
    summary = step.create()
    if step.inspect() is not FoundContent.COMPLETE:
        raise Failed(f"{step.title}: created, but the result differs from the plan")
    journal.done(step.name)
    return summary
