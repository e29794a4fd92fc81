# SPDX-License-Identifier: Apache-2.0
"""From the verb, or the timer, to the unit that carries out a task of a backup."""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime

from millrace.protect.backup import backup_attempts, backup_store
from millrace.protect.backup.backup_model import (
    Backup,
    BackupEnd,
    BackupLine,
    BackupOrder,
    BackupOutcome,
    BackupProgress,
    BackupState,
    BackupTask,
)
from millrace.protect.snapshot.snapshot_schedule import stamp
from millrace.system.errors import Failed, MillraceError
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs.job import KILLED, POLL, Document, Glance, Job, by_stopping
from millrace.system.run import Runner
from millrace.system.users import invoking_user, only_root

ORDER = Document(job_paths.backup_order_file, BackupOrder)
PROGRESS = Document(job_paths.backup_progress_file, BackupProgress)
END = Document(job_paths.backup_end_file, BackupEnd)

WORDS: dict[BackupTask, str] = {"run": "backup", "check": "check of", "drill": "drill of", "restore": "restore from"}


def _glance() -> Glance | None:
    now = PROGRESS.get()
    if now is None:
        return None
    return Glance(f"{WORDS[now.task]} {now.backup}", now.done / now.total if now.total else None, now.seconds_left)


JOB = Job(
    kind=kinds.BACKUP,
    busy="a task of a backup is under way: millrace job show backup",
    stop=by_stopping(kinds.BACKUP),
    glance=_glance,
    files=(ORDER, PROGRESS),
)


def start(name: str, task: BackupTask, run: Runner, by: str = "", version: str | None = None) -> BackupOrder:
    """Start a task; `by` is who orders it (default: the invoking user).

    BadInput, Refused: there is no such backup, or another job keeps it from that. Failed: the unit does not start.
    """
    only_root()
    backup = backup_store.known(name)
    order = BackupOrder(id=uuid.uuid4().hex, backup=backup.name, task=task, by=by or invoking_user(), version=version)
    with JOB.starting(run, f"{WORDS[task]} {name}", order.by):
        END.remove()
        if task != "restore":
            backup_attempts.begin(backup, task, datetime.now(UTC))
        ORDER.write(order, 0o600)
    return order


def follow(order: BackupOrder, run: Runner, pause: Callable[[float], None] = time.sleep) -> Iterator[BackupLine]:
    """Yield the progress until the unit has ended, then how it ended. Failed: it did not end well, and why."""
    yield from JOB.follow(PROGRESS.get, run, pause)
    ended = END.get()
    if ended is None or ended.id != order.id:
        last = JOB.last(run)
        reason = last.reason if last is not None and last.reason else JOB.last_line(run)
        raise Failed(f"{WORDS[order.task]} {order.backup}: {reason}")
    yield ended


def clean_up() -> None:
    """Record a task that was killed; what the unit runs at its end.

    Where the record cannot be written the attempt stays noted, and the task waits as after a failure.
    """
    only_root()
    order = ORDER.get()
    with suppress(MillraceError, OSError):
        if order is not None and backup_attempts.of(backup := backup_store.known(order.backup), order.task) is not None:
            note(backup, order.task, stamp(datetime.now(UTC)), KILLED)
    JOB.clean_up()


def note(backup: Backup, task: BackupTask, at: str, problem: str | None, red: bool = False) -> None:
    """Record how a task ended; a restore has no record. OSError: the boot drive fails."""
    if task == "restore":
        return

    def ended(state: BackupState) -> BackupState:
        before: BackupOutcome | None = getattr(state, task)
        return state.model_copy(update={task: backup_store.outcome(before, at, problem, red)})

    backup_store.note(backup, ended)
    backup_attempts.end(backup, task)


class BackupWriter:
    """Writes the progress of a task once a second."""

    def __init__(self, order: BackupOrder) -> None:
        self._order, self._next = order, 0.0
        self._step = ""

    def begin(self, step: str) -> None:
        """Begin the next part of the task."""
        self._step, self._next = step, 0.0
        self(0, None, None)

    def __call__(self, done: int, total: int | None, seconds_left: int | None) -> None:
        """Write that so many bytes are done, where a second has passed."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + POLL
        total = None if total is None else max(total, done)
        PROGRESS.write(
            BackupProgress(
                backup=self._order.backup,
                task=self._order.task,
                step=self._step,
                done=done,
                total=total,
                seconds_left=seconds_left,
            )
        )
