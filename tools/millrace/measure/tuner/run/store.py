# SPDX-License-Identifier: Apache-2.0
"""Runs of the tuner on disk: a directory for each, with `run.json`."""

from datetime import UTC, datetime
from pathlib import Path

from millrace.measure.bench.result.directories import FILE, Directories
from millrace.measure.tuner.model import TunerRun, TunerState
from millrace.measure.tuner.run.outputs import TunerRunList, TunerRunSummary
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import MillraceError
from millrace.system.jobs.job import KILLED

WHY = f"{KILLED}; the plan's settings are in force"


def home() -> Path:
    """The directory of all runs and of the journal."""
    return paths.state_dir() / "tuner"


def _directories() -> Directories:
    none = "the tuner did not run yet: start it with `millrace tuner run`"
    return Directories(home(), "millrace tuner list", none)


def new_id(now: datetime | None = None) -> str:
    """Return a name that is free: date and time in UTC."""
    return _directories().new_id(now)


def save(run: TunerRun) -> None:
    """Write a run, all of it or nothing. BadInput: its name is not that of a run."""
    write_model(_directories().of(run.id) / FILE, run)


def load(name: str) -> TunerRun:
    """Return a run by its name, or the newest one for `latest`. BadInput: there is none."""
    return read_model(_directories().existing(name), TunerRun)


def ids() -> list[str]:
    """Return the names of all runs, newest first."""
    return _directories().ids()


def listing(applied: str | None) -> TunerRunList:
    """Return all runs, newest first; `applied` is the run whose settings are applied."""
    runs, broken = [], []
    for name in ids():
        try:
            runs.append(_summary(load(name), applied))
        except MillraceError:
            broken.append(name)
    return TunerRunList(runs=runs, broken=broken)


def mark_interrupted() -> list[str]:
    """Mark runs without an end as interrupted, with the readings that they had; return their names."""
    marked = []
    for name in ids():
        try:
            run = load(name)
        except MillraceError:
            continue
        if run.state in (TunerState.PENDING, TunerState.RUNNING):
            now = datetime.now(UTC).isoformat(timespec="seconds")
            save(run.model_copy(update={"state": TunerState.INTERRUPTED, "reason": WHY, "ended": now}))
            marked.append(name)
    return marked


def _summary(run: TunerRun, applied: str | None) -> TunerRunSummary:
    outcome = run.outcome
    return TunerRunSummary(
        id=run.id,
        started=run.started,
        ended=run.ended,
        state=run.state,
        reason=run.reason,
        profile=run.profile,
        readings=len(run.readings),
        verdict=outcome.verdict if outcome else None,
        gain=outcome.gain if outcome else None,
        applied=run.id == applied,
    )
