# SPDX-License-Identifier: Apache-2.0
"""Runs of the tuner on disk: a directory for each, with `run.json`."""

import re
from datetime import UTC, datetime
from pathlib import Path

from millrace import paths
from millrace.errors import BadInput, MillraceError
from millrace.system.documents import read_model, write_model
from millrace.tuner.model import Run, State
from millrace.tuner.run.outputs import RunList, RunSummary

FILE = "run.json"
WHY = "the program was killed, or the power was cut; the plan's settings are in force"
_NAME = re.compile(r"\d{8}-\d{6}(-\d+)?")


def home() -> Path:
    """The directory of all runs and of the journal."""
    return paths.state_dir() / "tuner"


def new_id(now: datetime | None = None) -> str:
    """Return a name that is free: date and time in UTC."""
    stem = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")
    taken = {one.name for one in home().glob(f"{stem}*")}
    return next(name for name in (stem, *(f"{stem}-{n}" for n in range(2, 1000))) if name not in taken)


def save(run: Run) -> None:
    """Write a run, all of it or nothing. BadInput: its name is not that of a run."""
    write_model(_directory(run.id) / FILE, run)


def load(name: str) -> Run:
    """Return a run by its name, or the newest one for `latest`. BadInput: there is none."""
    if name == "latest":
        names = ids()
        if not names:
            raise BadInput("the tuner did not run yet: start it with `millrace tuner run`")
        name = names[0]
    path = _directory(name) / FILE
    if not path.exists():
        raise BadInput(f"there is no run {name}: `millrace tuner list`")
    return read_model(path, Run)


def ids() -> list[str]:
    """Return the names of all runs, newest first."""
    found = [one.name for one in home().glob("*") if _NAME.fullmatch(one.name) and (one / FILE).exists()]
    return sorted(found, reverse=True)


def listing(applied: str | None) -> RunList:
    """Return all runs, newest first; `applied` is the run whose settings are applied."""
    runs, broken = [], []
    for name in ids():
        try:
            runs.append(_summary(load(name), applied))
        except MillraceError:
            broken.append(name)
    return RunList(runs=runs, broken=broken)


def mark_interrupted() -> list[str]:
    """Mark runs without an end as interrupted, with the readings that they had; return their names."""
    marked = []
    for name in ids():
        try:
            run = load(name)
        except MillraceError:
            continue
        if run.state in (State.PENDING, State.RUNNING):
            now = datetime.now(UTC).isoformat(timespec="seconds")
            save(run.model_copy(update={"state": State.INTERRUPTED, "reason": WHY, "ended": now}))
            marked.append(name)
    return marked


def _directory(name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name} is not the name of a run: `millrace tuner list`")
    return home() / name


def _summary(run: Run, applied: str | None) -> RunSummary:
    outcome = run.outcome
    return RunSummary(
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
