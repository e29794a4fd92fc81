# SPDX-License-Identifier: Apache-2.0
"""The adoption as a job of the server: it goes on when the page or the terminal that began it is closed."""

import time
from collections.abc import Callable, Iterator

from millrace.lifecycle.adopt import journal, progress
from millrace.lifecycle.adopt.model import Adopted, Adoption, AdoptionProgress, FoundHere
from millrace.lifecycle.adopt.search_result import recorded
from millrace.lifecycle.keep import home
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Failed
from millrace.system.run import Runner, must
from millrace.system.units import is_working

UNIT = "millrace-adopt.service"
POLL = 0.5
"""Seconds between two looks."""


def state(run: Runner) -> FoundHere:
    """Return what the search of this boot found, and how far its adoption is. Needs no privileges; no drive is read.

    BadInput: one of the records cannot be read.
    """
    adoption = journal.under_way()
    done = paths.adopted_file()
    running = adoption is not None and is_working(UNIT, run)
    return FoundHere(
        # what was found before there was a pool is out of date
        found=None if paths.pool_file().exists() else recorded(),
        adoption=adoption,
        running=running,
        progress=progress.recorded() if running else None,
        adopted=read_model(done, Adopted) if done.exists() else None,
        elsewhere=home.recorded() if paths.pool_file().exists() else None,
    )


def start(adoption: Adoption, run: Runner) -> None:
    """Let millrace-adopt.service finish an adoption that was begun, and do not wait. Failed: it cannot be started."""
    if adoption.problem is not None:
        write_model(paths.adoption_file(), adoption.model_copy(update={"problem": None}))
    progress.forget()
    must(run, ["systemctl", "start", "--no-block", UNIT])


def follow(run: Runner, pause: Callable[[float], None] = time.sleep) -> Iterator[AdoptionProgress]:
    """Yield each step of the adoption that was started until it is over. Failed: it stopped, and why."""
    shown = None
    # the unit is asked before the journal, which it removes at its end
    works, adoption = is_working(UNIT, run), journal.under_way()
    while adoption is not None:
        now = progress.recorded()
        if now is not None and now != shown:
            yield now
            shown = now
        if not works:
            raise Failed(adoption.problem or f"the adoption was interrupted; journalctl -u {UNIT} says why")
        pause(POLL)
        works, adoption = is_working(UNIT, run), journal.under_way()


def adopted() -> Adopted:
    """Return what the adoption of this boot restored. BadInput: its record cannot be read."""
    return read_model(paths.adopted_file(), Adopted)
