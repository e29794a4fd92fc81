# SPDX-License-Identifier: Apache-2.0
"""From the approval of a plan to millrace-provision.service, which builds the pool."""

from collections.abc import Iterator
from typing import Literal

from millrace.storage.array.machine import System
from millrace.storage.provision import approval
from millrace.storage.record.model import Approval, Pool
from millrace.storage.record.step_journal import Journal
from millrace.system import paths
from millrace.system.documents import Contract
from millrace.system.errors import BadInput, Failed
from millrace.system.jobs import kinds
from millrace.system.jobs.job import Glance, Job

POOL = "the pool"


class ProvisionProgress(Contract):
    """Progress of a build: steps done, steps in all, the active step."""

    schema_version: Literal[1] = 1
    done: int
    total: int
    step: str | None


# What `millrace approve --json` prints, in this order: the approval once, progress many times, the pool at the end.
ApproveLine = Approval | ProvisionProgress | Pool


def _glance() -> Glance | None:
    try:
        found = _progress()
    except BadInput:
        return None
    return Glance(found.step or "finishing", found.done / found.total) if found else None


JOB = Job(
    kind=kinds.PROVISION,
    busy="the pool is being created; `millrace status` shows its progress; wait until that is done",
    stop="the creation of the pool is not cancelled: a part of a pool is of no use to anyone; wait for its end",
    glance=_glance,
)


def start(system: System, digest: str, by: str) -> Approval:
    """Approve the current plan by its hash and start the unit; `by` is a user name.

    BadInput: it is no hash. Refused: it is not that of the current plan, the server has a pool, or another job keeps it
    from that. Failed: the unit does not start; the next boot builds the pool.
    """
    if JOB.runs(system.attempt):
        # the boot is still looking for an approval; one that ends this moment is started once more
        approved = approval.approve(digest, by, system.now())
        JOB.start_again(system.attempt)
        return approved
    with JOB.starting(system.attempt, POOL, by):
        return approval.approve(digest, by, system.now())


def follow(system: System) -> Iterator[ProvisionProgress]:
    """Yield progress until the pool exists. Failed: the unit ends without one; its last line."""
    yield from JOB.follow(_progress, system.attempt, system.wait, lambda: paths.pool_file().exists())
    if not paths.pool_file().exists():
        raise Failed(f"{JOB.unit} ended without a pool: {JOB.last_line(system.attempt)}")


def _progress() -> ProvisionProgress | None:
    journal = Journal.load()
    if journal is None:
        return None
    states = [step.state for step in journal.transaction.steps]
    current = next((step.name for step in journal.transaction.steps if step.state != "done"), None)
    return ProvisionProgress(done=states.count("done"), total=len(states), step=current)
