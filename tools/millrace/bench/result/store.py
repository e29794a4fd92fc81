# SPDX-License-Identifier: Apache-2.0
"""Results on disk: a directory a run, `run.json` in it, fio's own words beside it."""

import gzip
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millrace import paths
from millrace.bench.result.model import Run, State
from millrace.bench.result.outputs import Headline, RunList, RunSummary
from millrace.errors import BadInput, MillraceError
from millrace.system.documents import read_model, write_model

FILE = "run.json"
_NAME = re.compile(r"\d{8}-\d{6}(-\d+)?")


def home() -> Path:
    """Where results are kept."""
    return paths.state_dir() / "bench"


def directory(run: str) -> Path:
    """The directory of a run; BadInput where the name is not one that a run can have."""
    if not _NAME.fullmatch(run):
        raise BadInput(f"{run} is not the name of a run: `millrace bench list`")
    return home() / run


def new_id(now: datetime | None = None) -> str:
    """A name that is not taken: date and time in UTC."""
    stem = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")
    taken = {one.name for one in home().glob(f"{stem}*")}
    return next(name for name in (stem, *(f"{stem}-{n}" for n in range(2, 1000))) if name not in taken)


def save(run: Run) -> None:
    """Write a run, whole."""
    write_model(directory(run.id) / FILE, run)


def keep(run: Path, rung: str, number: int, raw: dict[str, Any]) -> str:
    """fio's own words of one repeat, in the directory of a run; the path below it."""
    name = f"raw/{rung.replace('/', '-')}-{number}.json.gz"
    (run / name).parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(run / name, "wt") as file:
        json.dump(raw, file)
    return name


def load(name: str) -> Run:
    """A run by its name, or the newest one that `latest` stands for; BadInput where there is none."""
    if name == "latest":
        names = ids()
        if not names:
            raise BadInput("no benchmark runs yet: start one with `millrace bench run --quick`")
        name = names[0]
    path = directory(name) / FILE
    if not path.exists():
        raise BadInput(f"there is no run {name}: `millrace bench list`")
    return read_model(path, Run)


def ids() -> list[str]:
    """Names of all runs, newest first."""
    found = [one.name for one in home().glob("*") if _NAME.fullmatch(one.name) and (one / FILE).exists()]
    return sorted(found, reverse=True)


def listing() -> RunList:
    """All runs, newest first; one that cannot be read does not hide the others."""
    runs, broken = [], []
    for name in ids():
        try:
            runs.append(summary(load(name)))
        except MillraceError:
            broken.append(name)
    return RunList(runs=runs, broken=broken)


def summary(run: Run) -> RunSummary:
    """One line of the list."""
    return RunSummary(
        id=run.id,
        started=run.started,
        ended=run.ended,
        state=run.state,
        reason=run.reason,
        mode=run.request.mode,
        layers=sorted({rung.layer for rung in run.rungs}),
        profiles=list(dict.fromkeys(rung.workload.profile for rung in run.rungs)),
        labels=run.labels,
        workload_hash=run.provenance.workload_hash,
        done=sum(rung.state is State.DONE for rung in run.rungs),
        rungs=sum(rung.state is not State.SKIPPED for rung in run.rungs),
        headlines=headlines(run),
    )


def headlines(run: Run) -> list[Headline]:
    """The numbers for tiles, each from the highest layer that has it. None of an emulated server: they mean nothing."""
    if "emulated" in run.labels:
        return []
    best: dict[str, Headline] = {}
    for rung in run.rungs:
        if rung.state is not State.DONE or rung.layer == "L0":
            continue
        name = f"{rung.workload.profile} {rung.workload.operation}"
        quantity = rung.find("operations" if rung.workload.profile in ("rand", "meta", "fsync") else "bandwidth")
        if quantity is None:
            continue
        unit = "bytes/s" if quantity.quantity == "bandwidth" else "operations/s"
        old = best.get(name)
        if old is None or (rung.layer, quantity.median) > (old.rung[:2], old.value):
            best[name] = Headline.model_validate(
                {"rung": rung.id, "name": name, "value": quantity.median, "unit": unit}
            )
    return list(best.values())
