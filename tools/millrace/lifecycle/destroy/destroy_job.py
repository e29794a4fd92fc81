# SPDX-License-Identifier: Apache-2.0
"""The destruction of the pool as a job: its journal is its order, and a power cut does not end it."""

from collections.abc import Callable, Iterator

from millrace.lifecycle.destroy.model import DestroyProgress
from millrace.storage.record.destruction import Destruction, DestructionJournal, last_destruction
from millrace.system.errors import BadInput, Failed
from millrace.system.jobs import kinds
from millrace.system.jobs.job import Glance, Job
from millrace.system.run import Runner


def progress() -> DestroyProgress | None:
    """Return how far the destruction under way is; None without one. BadInput: its journal cannot be read."""
    journal = DestructionJournal.load()
    if journal is None:
        return None
    states = [step.state for step in journal.steps]
    step = next((step.name for step in journal.steps if step.state != "done"), None)
    return DestroyProgress(done=states.count("done"), total=len(states), step=step)


def _glance() -> Glance | None:
    try:
        now = progress()
    except BadInput:
        return None
    return Glance(now.step or "finishing", now.done / now.total) if now else None


JOB = Job(
    kind=kinds.DESTROY,
    busy="the pool is being destroyed; `millrace pool destroy --status` shows its progress; wait until that is done",
    stop="the destruction of a pool is not cancelled: a part of a pool is of no use to anyone; wait for its end",
    glance=_glance,
)


def follow(run: Runner, pause: Callable[[float], None]) -> Iterator[DestroyProgress | Destruction]:
    """Yield progress until the unit has ended, then how the destruction ended. Failed: it stopped, and why."""
    yield from JOB.follow(progress, run, pause)
    found = last_destruction()
    if found is None or found.error or not found.ended:
        raise Failed((found and found.error) or f"the pool is not destroyed: {JOB.last_line(run)}")
    yield found
