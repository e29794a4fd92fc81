# SPDX-License-Identifier: Apache-2.0
"""Which task of a backup is due, and its start: one after the other, by the timer that makes snapshots.

A task that failed is tried again after a quarter of an hour, then after twice the time, at most after its period; so is
one that was killed, or whose end could not be recorded.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from millrace.protect.backup import backup_attempts, backup_job, backup_store
from millrace.protect.backup.backup_model import (
    Backup,
    BackupAttempt,
    BackupOutcome,
    BackupRow,
    BackupState,
    BackupTask,
)
from millrace.protect.backup.backup_run import HOLDER, bases
from millrace.protect.snapshot import snapshot_holds
from millrace.system import ages
from millrace.system.errors import MillraceError, Refused
from millrace.system.jobs.job import SERVER
from millrace.system.run import Runner
from millrace.system.users import only_root

AGAIN = timedelta(minutes=15)


def row(backup: Backup, now: datetime) -> BackupRow:
    """Return a backup with what is known of it."""
    state = backup_store.state(backup)
    done = state.run.succeeded if state.run is not None else None
    age = ages.age(done, now) if done is not None else None
    task = next(iter(due(backup, state, now)), None)
    return BackupRow(backup=backup, state=state, age=None if age is None else int(age.total_seconds()), due=task)


def due(backup: Backup, state: BackupState, now: datetime) -> Iterator[BackupTask]:
    """Yield the tasks that are due, a run first; nothing of a paused backup is."""
    if backup.paused:
        return
    if _is_due(state.run, backup_attempts.of(backup, "run"), backup.every, now):
        yield "run"
    if state.version is None:
        # there is nothing yet to check or to restore
        return
    if _is_due(state.check, backup_attempts.of(backup, "check"), backup.check_every, now):
        yield "check"
    if _is_due(state.drill, backup_attempts.of(backup, "drill"), backup.drill_every, now):
        yield "drill"


def upkeep(run: Runner, now: datetime) -> list[str]:
    """Hold what the next runs are compared with, and start the first task that is due; return that in words."""
    only_root()
    snapshot_holds.hold(HOLDER, False, bases())
    waiting = [
        (backup.name, task) for backup in backup_store.load() for task in due(backup, backup_store.state(backup), now)
    ]
    # runs of all backups before checks and drills of any
    for name, task in sorted(waiting, key=lambda each: each[1] != "run"):
        try:
            backup_job.start(name, task, run, SERVER)
        except Refused as refused:
            # another job keeps it from that; it stays due
            return [f"{backup_job.WORDS[task]} {name} waits: {refused}"]
        except MillraceError as error:
            return [f"{backup_job.WORDS[task]} {name} does not start: {error}"]
        return [f"{backup_job.WORDS[task]} {name} is started"]
    return []


def _is_due(last: BackupOutcome | None, attempt: BackupAttempt | None, hours: int, now: datetime) -> bool:
    period = timedelta(hours=hours)
    since = ages.age(attempt.at, now) if attempt is not None else None
    if attempt is not None and since is not None and since < _wait(attempt.count, period):
        return False
    if last is None:
        return True
    passed = ages.age(last.at, now)
    if passed is None:
        # the clock was ahead then, or is behind now
        return True
    if last.problem is None:
        return passed >= period
    return passed >= _wait(last.failures, period)


def _wait(failures: int, period: timedelta) -> timedelta:
    times: int = 1 << min(max(failures - 1, 0), 16)
    return min(AGAIN * times, period)
