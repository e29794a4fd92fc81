# SPDX-License-Identifier: Apache-2.0
"""Tasks whose end is not recorded: noted in /run before the work, since a full boot drive may take no record of it.

Without it a task that is killed, or whose end cannot be written, would be due again at once, without end.
"""

from datetime import datetime
from pathlib import Path

from millrace.protect.backup import backup_store
from millrace.protect.backup.backup_model import Backup, BackupAttempt, BackupAttempts, BackupTask
from millrace.protect.snapshot.snapshot_schedule import stamp
from millrace.system import paths
from millrace.system.jobs.job import Document


def _file() -> Path:
    return paths.run_dir() / "backup/attempts.json"


ATTEMPTS = Document(_file, BackupAttempts)


def of(backup: Backup, task: BackupTask) -> BackupAttempt | None:
    """Return the attempt of a task whose end is not recorded; None without one."""
    return next((each for each in _all() if (each.backup, each.task) == (backup.id, task)), None)


def begin(backup: Backup, task: BackupTask, at: datetime) -> None:
    """Note that a task is about to start. OSError: /run takes nothing, so no job starts either."""
    with backup_store.lock():
        before = of(backup, task)
        count = 1 if before is None else before.count + 1
        _put(backup, task, BackupAttempt(backup=backup.id, task=task, at=stamp(at), count=count))


def end(backup: Backup, task: BackupTask) -> None:
    """Forget an attempt, whose end is in the record. OSError: /run takes nothing."""
    with backup_store.lock():
        _put(backup, task, None)


def _all() -> list[BackupAttempt]:
    known = ATTEMPTS.get()
    return known.attempts if known is not None else []


def _put(backup: Backup, task: BackupTask, attempt: BackupAttempt | None) -> None:
    others = [each for each in _all() if (each.backup, each.task) != (backup.id, task)]
    ATTEMPTS.write(BackupAttempts(attempts=[*others, attempt] if attempt is not None else others), 0o600)
