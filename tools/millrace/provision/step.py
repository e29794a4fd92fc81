# SPDX-License-Identifier: Apache-2.0
"""How one step is carried out, first time or after a power cut: look at what is really there, then decide."""

from enum import Enum, auto
from typing import Protocol

from millrace.errors import Failed, Refused
from millrace.provision.journal import Journal


class Found(Enum):
    """What a step finds where it is to write. Anything that is not ours is raised as Refused instead."""

    NOTHING = auto()
    TORN = auto()
    DORMANT = auto()
    COMPLETE = auto()


class Step(Protocol):
    """One thing to make."""

    name: str
    title: str

    def look(self) -> Found:
        """What is there now; writes nothing. Refused if it is not ours."""
        ...

    def wake(self) -> None:
        """Bring what is complete but not running into use; may find that it cannot."""
        ...

    def clear(self) -> None:
        """Take back what this step of this transaction left half done, and nothing else."""
        ...

    def make(self) -> str:
        """Make it and say in a few words what was made."""
        ...


def inspect(step: Step, journal: Journal) -> Found:
    """What is there, held against what the journal says can be there. Writes nothing."""
    state, found = journal.state(step.name), step.look()
    if state == "pending" and found is not Found.NOTHING:
        raise Refused(f"{step.title}: existing data was not created by provisioning; nothing was written")
    if state == "done" and found in (Found.NOTHING, Found.TORN):
        raise Refused(f"{step.title}: data created by provisioning is missing; nothing was written")
    return found


def carry_out(step: Step, journal: Journal) -> str:
    """Make sure that a step is done and verified; say what was done."""
    found = inspect(step, journal)
    if found is Found.DORMANT:
        step.wake()
        found = step.look()
    if found is Found.COMPLETE:
        if journal.state(step.name) != "done":
            journal.done(step.name)
        return "already there"
    if journal.state(step.name) == "done":
        raise Failed(f"{step.title}: created, but does not start; see `journalctl -k` for the reason")
    journal.start(step.name)
    if found is not Found.NOTHING:
        step.clear()
    words = step.make()
    if step.look() is not Found.COMPLETE:
        raise Failed(f"{step.title}: created, but the result differs from the plan")
    journal.done(step.name)
    return words
