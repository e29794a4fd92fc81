# SPDX-License-Identifier: Apache-2.0
"""The one lock of everything that writes to block devices, with what its holder does."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from millrace.storage.record.change_journal import ChangeJournal, in_words
from millrace.storage.record.drive_change import DrivePlan
from millrace.system import locks, paths
from millrace.system.errors import Refused

PROVISIONING = "provisioning is running; `millrace status` shows its progress"
EXAMINING = "a drive that was put in is being examined; `millrace drive list` shows the drives"
RESCUING = "a rescue of the pool is running; `millrace pool rescue --status` shows its steps"
RESUMING = "a rescue of the pool starts it again; `millrace pool rescue --status` shows its steps"
REVIVING = "the arrays of the pool are being started again; `millrace pool show` shows them"
DESTROYING = "the pool is being destroyed; `millrace pool destroy --status` shows its progress"
READDING = "returned members are being re-added; `millrace pool show` shows their progress"
ASSEMBLING = "the arrays of the pool are being started; `millrace pool show` shows them"

_SHORT = (EXAMINING, ASSEMBLING)
"""What takes seconds, and is always waited for."""
_STARTING = (PROVISIONING, RESCUING, REVIVING, ASSEMBLING, DESTROYING)
"""What starts or stops arrays for itself."""

LIMIT = 60.0
"""Seconds that a start of the arrays waits for who writes to drives."""
LIMIT_STARTING = 150.0
"""Seconds that it waits for another start, which itself waits for slow drives (gather.SLOWEST)."""
POLL = 0.5
"""Seconds between two attempts."""


def writing(doing: str, wait: bool = False) -> AbstractContextManager[None]:
    """Hold the lock of the writer of block devices; it dies with its holder. `doing` is what a refused user reads.

    With `wait` wait for it; an examination of drives and a start of the arrays take seconds and are always waited for.
    Refused: another process holds it; what that does, and the verb that shows its progress.
    """
    wait = wait or locks.doing(paths.provision_lock_file()) in _SHORT
    return locks.held(paths.provision_lock_file(), None if wait else _held_by, doing)


@contextmanager
def assembling(wait: Callable[[float], None]) -> Iterator[str | None]:
    """Hold the lock of the writer for a start of the arrays; `wait` sleeps for seconds.

    A server without its pool is worse than a start beside a change of drives, which may hold the lock for a day. So
    after LIMIT seconds the arrays are started without the lock; this yields what its holder does then, else None, and
    no member is to be added to an array. Refused: the holder starts or stops arrays itself, and goes on doing so.
    """
    with ExitStack() as stack:
        yield _entered(stack, wait)


def _entered(stack: ExitStack, wait: Callable[[float], None]) -> str | None:
    path, waited = paths.provision_lock_file(), 0.0
    while busy := _busy(stack, locks.held(path, _held_by, ASSEMBLING)):
        holder = locks.doing(path)
        if holder == RESUMING:
            # it lets systemd start the pool, which begins with this start, and waits for that
            return None
        if holder in _STARTING and waited >= LIMIT_STARTING:
            raise Refused(f"this command started no array: {busy}") from busy
        if holder not in _STARTING and waited >= LIMIT:
            return str(busy)
        wait(POLL)
        waited += POLL
    return None


@contextmanager
def starting(wait: Callable[[float], None]) -> Iterator[None]:
    """Hold the lock of starts, which may be without the lock of the writer; `wait` sleeps for seconds.

    Refused: another start goes on for more than LIMIT_STARTING seconds.
    """
    with ExitStack() as stack:
        waited = 0.0
        while busy := _busy(stack, locks.held(paths.run_dir() / "assemble.lock", ASSEMBLING)):
            if waited >= LIMIT_STARTING:
                raise busy
            wait(POLL)
            waited += POLL
        yield


def _busy(stack: ExitStack, lock: AbstractContextManager[None]) -> locks.Busy | None:
    """Take a lock; return why not, where another process has it."""
    try:
        stack.enter_context(lock)
    except locks.Busy as busy:
        return busy
    except OSError:
        # no room in /run: a boot without the lock is better than none
        return None
    return None


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
