# SPDX-License-Identifier: Apache-2.0
"""The one lock of everything that writes to block devices, with what its holder does."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

from millrace import paths
from millrace.provision.change_journal import ChangeJournal, in_words
from millrace.provision.change_model import DrivePlan
from millrace.system import locks

PROVISIONING = "provisioning is running; `millrace status` shows its progress"
EXAMINING = "a drive that was put in is being examined; `millrace drive list` shows the drives"
RESCUING = "a rescue of the pool is running; `millrace pool rescue --status` shows its steps"
REVIVING = "the arrays of the pool are being started again; `millrace pool show` shows them"
READDING = "returned members are being re-added; `millrace pool show` shows their progress"


def writing(doing: str, wait: bool = False) -> AbstractContextManager[None]:
    """Hold the lock of the writer of block devices; it dies with its holder. `doing` is what a refused user reads.

    With `wait` wait for it; that a drive was put in and is examined takes seconds, and is always waited for.
    Refused: another process holds it; what that does, and the verb that shows its progress.
    """
    wait = wait or locks.doing(paths.provision_lock_file()) == EXAMINING
    return locks.held(paths.provision_lock_file(), None if wait else _held_by, doing)


def changing(plan: DrivePlan | None = None) -> str:
    """Return what `writing` is for: this change of drives, else the open one. BadInput: that cannot be read."""
    journal = None if plan else ChangeJournal.load()
    plan = plan or (journal.change.plan if journal else None)
    what = in_words(plan) if plan else "a change of drives"
    return f"{what} is running; `millrace drive progress` shows its progress"


def erasing(serial: str) -> str:
    """Return what `writing` is for: the decision on the erase of a drive, and its beginning."""
    return f"drive {serial} is about to be erased; `millrace drive list` shows its progress"


def testing(serials: Sequence[str]) -> str:
    """Return what `writing` is for: the decision on the test of drives, and its beginning."""
    return f"drive {', '.join(serials)} is about to be tested; `millrace drive list` shows its progress"


def deciding(serial: str) -> str:
    """Return what `writing` is for: the end of the test of a drive, until it is known who may use it."""
    return f"the test of drive {serial} ends; `millrace drive list` shows its result"


def _held_by() -> str:
    unknown = "another process writes to the drives; `millrace status` shows it"
    return locks.doing(paths.provision_lock_file()) or unknown
