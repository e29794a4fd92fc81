# SPDX-License-Identifier: Apache-2.0
"""Watching millrace-provision.service build the pool."""

from collections.abc import Iterator
from typing import Literal

from millrace.storage.array.machine import System
from millrace.storage.record.journal import Journal
from millrace.storage.record.model import Approval, Pool
from millrace.system import paths, units
from millrace.system.documents import Contract
from millrace.system.errors import Failed
from millrace.system.run import must

UNIT = "millrace-provision.service"
POLL = 0.5
"""Seconds between two looks."""


class Progress(Contract):
    """Progress of a build: steps done, steps in all, the active step."""

    schema_version: Literal[1] = 1
    done: int
    total: int
    step: str | None


# What `millrace approve --json` prints, in this order: the approval once, progress many times, the pool at the end.
ApproveLine = Approval | Progress | Pool


def start_and_follow(system: System) -> Iterator[Progress]:
    """Start the unit and yield its progress until the pool exists. Failed: it ends without one; its last lines."""
    # A oneshot that stays active after a run without approval would not start again.
    verb = "restart" if units.state(UNIT, system.attempt).active == "active" else "start"
    must(system.attempt, ["systemctl", verb, "--no-block", UNIT])
    shown = None
    while not paths.pool_file().exists():
        state = units.state(UNIT, system.attempt)
        progress = _progress()
        if progress is not None and progress != shown:
            yield progress
            shown = progress
        working = state.is_working or state.active == "deactivating"
        if not working and not paths.pool_file().exists():
            raise Failed(f"{UNIT} ended without a pool: {_last_line(system)}")
        system.wait(POLL)


def _progress() -> Progress | None:
    journal = Journal.load()
    if journal is None:
        return None
    states = [step.state for step in journal.transaction.steps]
    current = next((step.name for step in journal.transaction.steps if step.state != "done"), None)
    return Progress(done=states.count("done"), total=len(states), step=current)


def _last_line(system: System) -> str:
    line = system.attempt(["journalctl", "--unit", UNIT, "--identifier=millrace", "--lines=1", "--output=cat"]).out
    return line.strip() or f"see `journalctl -u {UNIT}`"
