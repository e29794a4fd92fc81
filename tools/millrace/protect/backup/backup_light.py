# SPDX-License-Identifier: Apache-2.0
"""The light of each share off site: whether its backup is in time, from records."""

from datetime import datetime, timedelta

from millrace.protect.backup import backup_job, backup_store
from millrace.protect.backup.backup_model import Backup, BackupState
from millrace.protect.light import Light, LightState
from millrace.serve.config.model import Config
from millrace.system import ages
from millrace.system.command import command
from millrace.system.errors import BadInput
from millrace.system.run import Runner
from millrace.system.text import duration, moment

LATE = 2
"""A backup without success for so many of its periods is late."""
# Of several backups of a share the best one is shown: its data is off site if one of them has it.
_BEST: tuple[LightState, ...] = ("running", "ok", "late", "failed", "none")


def lights(config: Config, now: datetime, run: Runner | None = None) -> list[Light]:
    """Return the light of each share that has a backup. A record that cannot be read is for health to report."""
    try:
        backups = backup_store.load()
    except BadInput:
        return []
    order = backup_job.ORDER.get() if run is not None else None
    running = order.backup if order is not None and run is not None and backup_job.JOB.runs(run) else None
    best: dict[str, Light] = {}
    for backup in backups:
        light = _light(backup, backup_store.state(backup), now, running == backup.name)
        before = best.get(light.share)
        if before is None or _BEST.index(light.state) < _BEST.index(before.state):
            best[light.share] = light
    return list(best.values())


def is_late(backup: Backup, state: BackupState, now: datetime) -> bool:
    """Whether nothing was sent for `LATE` periods, counted from when it was added where nothing ever was."""
    since = (state.run.succeeded if state.run is not None else None) or backup.at
    age = ages.age(since, now) if since else None
    return age is not None and age > timedelta(hours=LATE * backup.every)


def _light(backup: Backup, state: BackupState, now: datetime, running: bool) -> Light:
    last = state.run.succeeded if state.run is not None else None
    light, sentence, todo = _state(backup, state, last, now)
    if running:
        light, sentence = "running", f"A task of backup {backup.name} is under way."
        todo = "millrace job show backup"
    period = timedelta(hours=backup.every)
    due = now if last is None else max(ages.when(last) + period, now)
    return Light(
        share=backup.share,
        place="off-site",
        state=light,
        schedule=None if backup.paused else f"every {duration(period.total_seconds())}",
        last=last,
        period=round(period.total_seconds()),
        next=None if backup.paused else due.isoformat(timespec="seconds"),
        drill=state.drill.succeeded if state.drill is not None else None,
        sentence=sentence,
        todo=todo,
    )


def _state(backup: Backup, state: BackupState, last: str | None, now: datetime) -> tuple[LightState, str, str | None]:
    name = backup.name
    if backup.paused:
        return "none", f"Backup {name} is paused.", command("millrace backup resume", name)
    for task, outcome in (("drill", state.drill), ("check", state.check)):
        if outcome is not None and outcome.red:
            problem = (outcome.problem or "").rstrip(".")
            again = command("millrace backup", task, name)
            return "failed", f"The last {task} of backup {name} found damage: {problem}.", again
    if state.run is not None and state.run.problem is not None:
        problem = state.run.problem.rstrip(".")
        return "failed", f"The last run of backup {name} failed: {problem}.", command("millrace backup run", name)
    if is_late(backup, state, now):
        words = (
            f"The last version of backup {name} is of {moment(last)}." if last else f"Backup {name} sent nothing yet."
        )
        return "late", words, command("millrace backup run", name)
    if last is None:
        return "none", f"Backup {name} has sent nothing yet.", command("millrace backup run", name)
    return "ok", f"Backup {name} has a version of {moment(last)}.", None
