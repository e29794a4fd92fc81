# SPDX-License-Identifier: Apache-2.0
"""Watching millrace-drive.service: closing the terminal or the page does not stop it."""

from collections.abc import Callable, Collection, Iterator

from millrace.storage.array.devices import array_device
from millrace.storage.array.live_arrays import sync
from millrace.storage.array.live_model import Action, Sync
from millrace.storage.array.machine import System
from millrace.storage.change.change_model import ChangeProgress
from millrace.storage.record import change_journal
from millrace.storage.record.drive_change import DriveChange
from millrace.system import units
from millrace.system.errors import Failed
from millrace.system.run import must

UNIT = "millrace-drive.service"
POLL = 1.0
"""Seconds between two looks."""

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


def start(system: System) -> None:
    """Start the unit that carries out the confirmed change. Failed: it does not start."""
    must(system.attempt, ["systemctl", "reset-failed", UNIT])
    must(system.attempt, ["systemctl", "start", "--no-block", UNIT])


def start_and_follow(system: System, change: DriveChange) -> Iterator[ChangeProgress]:
    """Start the unit and yield progress until the change has ended, the end included. Failed: it stopped, and why."""
    start(system)
    shown, over = None, False
    while not over:
        active = _active(system)
        found = change_journal.last()
        if found is None or found.id != change.id:
            raise Failed("another change has taken the place of this one; see `millrace drive progress`")
        progress = now(found)
        if progress != shown:
            yield progress
            shown = progress
        over = bool(found.ended) or not active
        if not over:
            system.wait(POLL)
        elif found.error or not found.ended:
            raise Failed(found.error or f"{UNIT} ended before the change was done; see `journalctl -u {UNIT}`")


def _active(system: System) -> bool:
    """Whether the unit runs, or is about to."""
    found = units.state(UNIT, system.attempt)
    return found.queued or found.is_under_way


def _sync(name: str) -> Sync | None:
    device = array_device(name)
    return sync(device) if device else None
