# SPDX-License-Identifier: Apache-2.0
"""Results on disk: a directory for each run with `run.json` and fio's own output."""

import gzip
import json
from datetime import datetime
from pathlib import Path
from typing import Any

from millrace.measure.bench.result.directories import FILE, Directories
from millrace.measure.bench.result.model import BenchRun, BenchState
from millrace.measure.bench.result.outputs import BenchRunList, BenchRunSummary, Headline
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import MillraceError


def home() -> Path:
    """The directory of all results."""
    return paths.state_dir() / "bench"


def _directories() -> Directories:
    none = "no benchmark runs yet: start one with `millrace bench run --quick`"
    return Directories(home(), "millrace bench list", none)


def directory(run: str) -> Path:
    """Return the directory of a run. BadInput: `run` is no name of a run."""
    return _directories().of(run)


def new_id(now: datetime | None = None) -> str:
    """Return a name that is free: date and time in UTC."""
    return _directories().new_id(now)


def save(run: BenchRun) -> None:
    """Write a run, all of it or nothing."""
    write_model(directory(run.id) / FILE, run)


def keep(run: Path, rung: str, number: int, raw: dict[str, Any]) -> str:
    """Write fio's own output of one repeat (`raw`) into the directory of a run; return the path below it."""
    name = f"raw/{rung.replace('/', '-')}-{number}.json.gz"
    (run / name).parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(run / name, "wt") as file:
        json.dump(raw, file)
    return name


def load(name: str) -> BenchRun:
    """Return a run by its name, or the newest one for `latest`. BadInput: there is none."""
    return read_model(_directories().existing(name), BenchRun)


def ids() -> list[str]:
    """Return the names of all runs, newest first."""
    return _directories().ids()


def listing() -> BenchRunList:
    """Return all runs, newest first; one that cannot be read does not hide the others."""
    runs, broken = [], []
    for name in ids():
        try:
            runs.append(summary(load(name)))
        except MillraceError:
            broken.append(name)
    return BenchRunList(runs=runs, broken=broken)


def summary(run: BenchRun) -> BenchRunSummary:
    """Return one line of the list."""
    return BenchRunSummary(
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
        done=sum(rung.state is BenchState.DONE for rung in run.rungs),
        rungs=sum(rung.state is not BenchState.SKIPPED for rung in run.rungs),
        headlines=headlines(run),
    )


def headlines(run: BenchRun) -> list[Headline]:
    """Return the numbers for tiles, each from the highest layer that has it; none of an emulated server."""
    if "emulated" in run.labels:
        return []
    best: dict[str, Headline] = {}
    for rung in run.rungs:
        if rung.state is not BenchState.DONE or rung.layer == "L0":
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
