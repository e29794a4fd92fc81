# SPDX-License-Identifier: Apache-2.0
"""Are backups sent in time, do their repositories hold, and can they be restored? Read from records."""

from datetime import UTC, datetime

from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.protect.backup import backup_light, backup_store
from millrace.protect.backup.backup_model import Backup, BackupOutcome, BackupState
from millrace.system import ages
from millrace.system.command import command
from millrace.system.errors import BadInput
from millrace.system.text import duration, moment

NAME = "backups"
TRIES = 3
"""A run that failed so often in a row is reported before it is late: the far side may be off for an hour."""


def check(host: Host) -> list[HealthFinding]:
    """Return what is wrong with backups, else one finding; nothing where there is none."""
    if host.pool is None:
        return []
    try:
        backups = backup_store.load()
    except BadInput as error:
        return [
            _finding(
                "record", "", Level.WARN, f"The backups of this server are not known: {error}.", "millrace keep list"
            )
        ]
    now = datetime.now(UTC)
    findings = [each for backup in backups for each in _of(backup, backup_store.state(backup), now)]
    if findings or not backups:
        return findings
    what = "1 backup is" if len(backups) == 1 else f"{len(backups)} backups are"
    sentence = f"{what} in time, and the last checks and drills found no damage."
    return [HealthFinding(check=NAME, level=Level.OK, sentence=sentence)]


def _of(backup: Backup, state: BackupState, now: datetime) -> list[HealthFinding]:
    name = backup.name
    findings = [
        _failed(name, task, last)
        for task, last in (("check", state.check), ("drill", state.drill))
        if last is not None and last.problem is not None and (last.red or last.failures >= TRIES)
    ]
    if state.moved is not None and state.moved.unread:
        sentence = (
            f"The last version of backup {name} is not complete. Files that could not be read: {state.moved.unread}; "
            "their names are in the journal."
        )
        findings.append(_finding("unread", name, Level.WARN, sentence, _todo(name, "run")))
    if backup.paused:
        sentence = f"Backup {name} is paused: nothing is sent, checked or restored by drill."
        return [*findings, _finding("paused", name, Level.WARN, sentence, command("millrace backup resume", name))]
    since = (state.run.succeeded if state.run is not None else None) or backup.at
    age, run = ages.age(since, now) if since else None, state.run
    if age is not None and backup_light.is_late(backup, state, now):
        why = f": {run.problem.rstrip('.')}" if run is not None and run.problem else ""
        old = duration(age.total_seconds())
        sentence = f"The last version of backup {name} is {old} old{why}."
        if run is None or run.succeeded is None:
            sentence = f"Backup {name} was added {old} ago, and nothing of share {backup.share} was sent{why}."
        findings.append(_finding("late", name, Level.WARN, sentence, _todo(name, "run")))
    elif run is not None and run.problem is not None and run.failures >= TRIES:
        findings.append(_failed(name, "run", run))
    return findings


def _failed(name: str, task: str, last: BackupOutcome) -> HealthFinding:
    level = Level.FAIL if last.red else Level.WARN
    problem = (last.problem or "").rstrip(".")
    sentence = f"The last {task} of backup {name} failed at {moment(last.at)}: {problem}."
    return _finding(f"{task}-failed", name, level, sentence, _todo(name, task))


def _todo(name: str, task: str) -> str:
    return f"It is tried again by itself; now: {command('millrace backup', task, name)}"


def _finding(kind: str, subject: str, level: Level, sentence: str, todo: str) -> HealthFinding:
    return HealthFinding(check=NAME, kind=kind, subject=subject, level=level, sentence=sentence, todo=todo)
