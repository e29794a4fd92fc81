# SPDX-License-Identifier: Apache-2.0
"""A run of MLPerf Storage on clients becomes a run of this server, beside the ladder's."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.bench.plan.site import Site
from millrace.bench.plan.workloads import digest
from millrace.bench.result import figures, store
from millrace.bench.result.ceilings import with_ceilings
from millrace.bench.result.choices import Layer, Profile
from millrace.bench.result.model import (
    IMPORTED,
    Accelerators,
    Checkpoint,
    Direction,
    Operation,
    Provenance,
    Run,
    Rung,
    RunRequest,
    State,
    Workload,
)
from millrace.bench.run import guard
from millrace.bench.run.environment import environment
from millrace.errors import BadInput
from millrace.system.run import Runner
from millrace.system.text import GIB, MIB, one_line
from millrace.system.users import invoking_user, only_root

TARGET = "mlpstorage"
LARGEST = 4 << 20
"""Bytes of a file that are read; a summary has a few kilobytes."""
FLOORS = {"unet3d": 90.0, "retinanet": 85.0}
MOST = 1e12
"""No figure of a server is larger."""
_HALVES: tuple[tuple[Operation, Direction], ...] = (("save", "write"), ("load", "read"))


@dataclass(frozen=True)
class _Summary:
    """What a summary.json has; every figure is verified when it is taken."""

    file: Path
    content: dict[str, Any]

    def refuse(self, what: str) -> BadInput:
        return BadInput(f"{self.file} is no summary.json of mlpstorage 3.0: {what}")

    def metric(self, name: str) -> float:
        """Return a figure of the part `metric`. BadInput: it has none, or one that cannot be."""
        metrics = self.content.get("metric")
        value = metrics.get(name) if isinstance(metrics, dict) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
            raise self.refuse(f"it has no metric.{name}")
        return float(value)

    def has(self, name: str) -> bool:
        metrics = self.content.get("metric")
        return isinstance(metrics, dict) and name in metrics

    def count(self, name: str) -> int:
        value = self.content.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1 << 20:
            raise self.refuse(f"it has no {name}")
        return value

    def time(self, name: str) -> str:
        """Return a time as it stands there; the clients' clocks and zones are their own."""
        value = self.content.get(name)
        if not isinstance(value, str) or not value or len(value) > 64:
            raise self.refuse(f"it has no {name}")
        return one_line(value)


def take(file: Path, model: str, accelerator: str | None, site: Site, run: Runner) -> Run:
    """Read a summary.json and store it as a run. BadInput: it is none of this version; nothing is stored."""
    only_root()
    summary = _Summary(file, _read(file))
    training = model in FLOORS
    if training and accelerator is None:
        raise BadInput(f"--accelerator is missing: summary.json does not name that of a run of {model}")
    if training and (summary.has("save_checkpoint_io_mean_GB_per_second") or accelerator not in ("b200", "mi355")):
        raise summary.refuse(f"it is of a checkpoint, not of {model}")
    rungs = [_training(summary, model, str(accelerator))] if training else _checkpoint(summary, model)
    began = summary.time("start")
    record = Run(
        id=store.new_id(),
        started=began,
        ended=summary.time("end"),
        state=State.DONE,
        reason=f"{model} of mlpstorage with {summary.count('num_accelerators')} processes on clients",
        request=RunRequest(layers=[Layer.L3], profiles=list(dict.fromkeys(one.workload.profile for one in rungs))),
        labels=["imported", *(["emulated"] if guard.hypervisor(run) else [])],
        provenance=Provenance(
            tool="mlpstorage",
            version="3.0",
            edition="mlperf-storage-3.0",
            workload_hash=digest(sorted({one.workload.sha256 for one in rungs})),
            fio="none",
            started_by=invoking_user(),
            statement=IMPORTED,
        ),
        environment=environment(site, run),
        rungs=with_ceilings(rungs, site.inventory, site.arrays, degraded=False),
    )
    store.save(record)
    return record


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            text = opened.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise BadInput(f"{file} is too large for a summary.json")
        found = json.loads(text)
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from error
    # RecursionError: brackets without end
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file} is no summary.json of mlpstorage 3.0: it is not JSON") from error
    if not isinstance(found, dict):
        raise BadInput(f"{file} is no summary.json of mlpstorage 3.0: it is no object")
    return found


def _rung(
    profile: Profile, operation: Operation, model: str, processes: int, direction: Direction, value: float
) -> Rung:
    content = {
        "profile": profile.value,
        "operation": operation,
        "pattern": f"{model} of MLPerf Storage 3.0, by mlpstorage",
        "block": None,
        "depth": 1,
        "engine": "mlpstorage",
        "durable": operation == "save",
        "equivalent": None,
    }
    return Rung(
        id=f"{Layer.L3}/{TARGET}/{profile}/{operation}",
        layer=Layer.L3,
        target=TARGET,
        workload=Workload.model_validate({**content, "sha256": digest(content)}),
        state=State.DONE,
        jobs=processes,
        series=[figures.series("bandwidth", direction, [value])],
    )


def _training(summary: _Summary, model: str, accelerator: str) -> Rung:
    """The utilisation is in percent, the bandwidth in MiB/s, whatever its name says."""
    utilisation = summary.metric("train_au_mean_percentage")
    if utilisation > 100:
        raise summary.refuse("its utilisation is above 100 %")
    bandwidth = summary.metric("train_io_mean_MB_per_second") * MIB
    count = summary.count("num_accelerators")
    fed = Accelerators(
        accelerator=accelerator.upper(), count=count, floor=FLOORS[model], au=utilisation, bandwidth=bandwidth
    )
    rung = _rung(Profile(model), "train", model, count, "read", bandwidth)
    return rung.model_copy(update={"accelerators": [fed]})


def _checkpoint(summary: _Summary, model: str) -> list[Rung]:
    """Two invocations have a half each; the bandwidth is in GiB/s, whatever its name says."""
    if summary.has("train_au_mean_percentage"):
        raise summary.refuse(f"it is of a training, not of {model}")
    size = math.floor(summary.metric("checkpoint_size_GB") * GIB) if summary.has("checkpoint_size_GB") else 0
    found = []
    for operation, direction in _HALVES:
        if not summary.has(f"{operation}_checkpoint_io_mean_GB_per_second"):
            continue
        bandwidth = summary.metric(f"{operation}_checkpoint_io_mean_GB_per_second") * GIB
        seconds = summary.metric(f"{operation}_checkpoint_duration_mean_seconds")
        rung = _rung(
            Profile.CHECKPOINT,
            operation,
            model,
            summary.count("num_accelerators"),
            direction,
            bandwidth,
        )
        took = Checkpoint(
            model=model.removeprefix("llama3-"),
            size=size or round(bandwidth * seconds),
            measured=size or round(bandwidth * seconds),
            save_seconds=seconds if operation == "save" else None,
            load_seconds=seconds if operation == "load" else None,
        )
        found.append(rung.model_copy(update={"checkpoint": took, "size": took.size}))
    if not found:
        raise summary.refuse("it has neither metric.save_checkpoint_io_mean_GB_per_second nor that of load")
    return found
