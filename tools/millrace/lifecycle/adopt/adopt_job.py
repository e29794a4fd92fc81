# SPDX-License-Identifier: Apache-2.0
"""The adoption as a job of the server: it goes on when the page or the terminal that began it is closed."""

import time
from collections.abc import Callable, Iterator

from millrace.lifecycle.adopt import adopt_paths, adoption_journal
from millrace.lifecycle.adopt.model import Adopted, Adoption, AdoptionProgress, FoundHere
from millrace.lifecycle.adopt.progress import PROGRESS
from millrace.lifecycle.adopt.search_result import recorded
from millrace.lifecycle.adopt.text import STEPS
from millrace.lifecycle.keep import home
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Failed
from millrace.system.jobs import kinds
from millrace.system.jobs.job import Glance, Job
from millrace.system.run import Runner


def _glance() -> Glance | None:
    now = PROGRESS.get()
    return Glance(STEPS[now.step], now.done / now.total) if now else None


JOB = Job(
    kind=kinds.ADOPT,
    busy="a pool is being adopted: `millrace pool found` shows how it goes on; wait until that is done",
    stop="an adoption is not cancelled: this server would have a part of the state of the pool; it takes minutes",
    glance=_glance,
    files=(PROGRESS,),
)


def state(run: Runner) -> FoundHere:
    """Return what the search of this boot found, and how far its adoption is. Needs no privileges; no drive is read.

    BadInput: one of the records cannot be read.
    """
    adoption = adoption_journal.under_way()
    done = adopt_paths.adopted_file()
    running = adoption is not None and JOB.runs(run)
    return FoundHere(
        # what was found before there was a pool is out of date
        found=None if paths.pool_file().exists() else recorded(),
        adoption=adoption,
        running=running,
        progress=PROGRESS.get() if running else None,
        adopted=read_model(done, Adopted) if done.exists() else None,
        elsewhere=home.recorded() if paths.pool_file().exists() else None,
    )


def start(adoption: Adoption, run: Runner) -> None:
    """Let millrace-adopt.service finish an adoption that was begun, and do not wait; one that runs goes on.

    Refused: another job keeps it from that. Failed: it cannot be started.
    """
    if JOB.runs(run):
        return
    with JOB.starting(run, f"pool {adoption.pool}", adoption.by):
        if adoption.problem is not None:
            write_model(paths.adoption_file(), adoption.model_copy(update={"problem": None}))


def follow(run: Runner, pause: Callable[[float], None] = time.sleep) -> Iterator[AdoptionProgress]:
    """Yield each step of the adoption that was started until it is over. Failed: it stopped, and why."""
    yield from JOB.follow(PROGRESS.get, run, pause)
    # the unit removes it at its end
    adoption = adoption_journal.under_way()
    if adoption is not None:
        raise Failed(adoption.problem or f"the adoption was interrupted; journalctl -u {JOB.unit} shows the reason")


def adopted() -> Adopted:
    """Return what the adoption of this boot restored. BadInput: its record cannot be read."""
    return read_model(adopt_paths.adopted_file(), Adopted)
