# SPDX-License-Identifier: Apache-2.0
"""A run of MLPerf Storage on clients becomes a run of this server, beside the ladder's."""

import json
import math
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from millrace.measure.bench.plan.site import Site
from millrace.measure.bench.plan.workloads import digest
from millrace.measure.bench.result import capacity, figures, store
from millrace.measure.bench.result.ceilings import with_ceilings
from millrace.measure.bench.result.choices import BenchLayer, BenchProfile, CheckpointModel
from millrace.measure.bench.result.model import (
    IMPORTED,
    Accelerators,
    BenchRun,
    BenchState,
    CheckpointTimes,
    Direction,
    Operation,
    Provenance,
    Rung,
    RunRequest,
    Workload,
)
from millrace.measure.bench.run import guard
from millrace.measure.bench.run.environment import environment
from millrace.system.errors import BadInput
from millrace.system.run import Runner
from millrace.system.text import GIB, MIB, one_line, size
from millrace.system.users import invoking_user, only_root
from millrace_client.au import TRAININGS

TARGET = "mlpstorage"
LARGEST = 4 << 20
"""Bytes of a file that are read; a summary has a few kilobytes."""
MOST = 1e12
"""No figure of a server is larger."""
SAME_SAMPLE = 0.001
"""DLIO computes the bandwidth from samples of one size: more than this part apart, it is another model."""
SAME_PACE = 0.1
"""The first steps count for the samples and not for the utilisation, so both agree to this part only."""
SAME_SIZE = 0.25
"""Sizes of checkpoints are rounded in the rules; the next model has several times as much."""
_LOADS = {one.profile: one for one in TRAININGS if one.accelerator == "B200"}
"""What the rules emulate; an MI355 takes as many samples of RetinaNet in a second as a B200."""
_ACCELERATORS = {"unet3d": ("b200",), "retinanet": ("b200", "mi355")}
_OPTIONS: dict[str, Operation] = {"1": "stress", "2": "throughput", "3": "large"}
"""The three fixed options of the KV cache, as the ladder names them."""
_SIZES: dict[str, CheckpointModel] = {
    "llama3-8b": "8b",
    "llama3-70b": "70b",
    "llama3-405b": "405b",
    "llama3-1t": "1t",
}
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

    def option(self, number: str, direction: Direction) -> float:
        """Return the bandwidth of an option of the KV cache in bytes/s. BadInput: it has none."""
        options = self.content.get("options")
        option = options.get(number) if isinstance(options, dict) else None
        name = f"aggregated_{direction}_bandwidth_gbps"
        value = option.get(name) if isinstance(option, dict) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
            raise self.refuse(f"it has no options.{number}.{name}")
        # GiB/s, whatever its name says
        return float(value) * GIB

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

    def moment(self, name: str) -> str:
        """Return a time of the form 20261120_100000, as ISO 8601 has it. BadInput: it is none."""
        value = self.content.get(name)
        try:
            return datetime.strptime(str(value), "%Y%m%d_%H%M%S").isoformat()
        except ValueError:
            raise self.refuse(f"it has no {name}") from None


def take(file: Path, model: str, accelerator: str | None, site: Site, run: Runner) -> BenchRun:
    """Read a summary.json and store it as a run.

    BadInput: it is none of this version, of this model or of this accelerator; nothing is stored.
    """
    only_root()
    summary = _Summary(file, _read(file))
    began, ended, processes, rungs = _kv_cache(summary) if model == "kvcache" else _dlio(summary, model, accelerator)
    record = BenchRun(
        id=store.new_id(),
        started=began,
        ended=ended,
        state=BenchState.DONE,
        reason=f"{model} of mlpstorage with {processes} processes on clients",
        request=RunRequest(
            layers=[BenchLayer.L3], profiles=list(dict.fromkeys(rung.workload.profile for rung in rungs))
        ),
        labels=["imported", *(["emulated"] if guard.hypervisor(run) else [])],
        provenance=Provenance(
            tool="mlpstorage",
            version="3.0",
            edition="mlperf-storage-3.0",
            workload_hash=digest(sorted({rung.workload.sha256 for rung in rungs})),
            fio="none",
            started_by=invoking_user(),
            statement=IMPORTED,
        ),
        environment=environment(site, run),
        rungs=with_ceilings(rungs, site.inventory, site.arrays, degraded=False),
    )
    store.save(record)
    return record


def _dlio(summary: _Summary, model: str, accelerator: str | None) -> tuple[str, str | None, int, list[Rung]]:
    """When it began and ended, its processes and its rungs, as DLIO writes them."""
    if "options" in summary.content:
        raise summary.refuse(f"it is of the KV cache, not of {model}: use --model kvcache")
    if model in _LOADS:
        if accelerator is None:
            raise BadInput(f"--accelerator is missing: summary.json does not name that of a run of {model}")
        if accelerator not in _ACCELERATORS[model]:
            raise BadInput(f"the rules have no {model} for {accelerator}: use --accelerator b200")
        if summary.has("save_checkpoint_io_mean_GB_per_second") or summary.has("load_checkpoint_io_mean_GB_per_second"):
            raise summary.refuse(f"it is of a checkpoint, not of {model}")
        rungs = [_training(summary, model, accelerator)]
    else:
        rungs = _checkpoint(summary, model)
    return summary.time("start"), summary.time("end"), summary.count("num_accelerators"), rungs


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            text = opened.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise BadInput(f"{file} is too large for a summary.json")
        document = json.loads(text)
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from error
    # RecursionError: brackets without end
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file} is no summary.json of mlpstorage 3.0: it is not JSON") from error
    if not isinstance(document, dict):
        raise BadInput(f"{file} is no summary.json of mlpstorage 3.0: it is no object")
    return document


def _rung(
    profile: BenchProfile, operation: Operation, model: str, processes: int, direction: Direction, value: float
) -> Rung:
    content = {
        "profile": profile.value,
        "operation": operation,
        "pattern": f"{model} of MLPerf Storage 3.0, by mlpstorage",
        "block": None,
        "depth": 1,
        "engine": "mlpstorage",
        "durable": operation == "save" or profile is BenchProfile.KVCACHE,
        "equivalent": None,
    }
    return Rung(
        id=f"{BenchLayer.L3}/{TARGET}/{profile}/{operation}",
        layer=BenchLayer.L3,
        target=TARGET,
        workload=Workload.model_validate({**content, "sha256": digest(content)}),
        state=BenchState.DONE,
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
    samples = summary.metric("train_throughput_mean_samples_per_second")
    load = _LOADS[model]
    if not samples or abs(bandwidth / samples / load.sample - 1) > SAME_SAMPLE:
        text = size(round(bandwidth / samples)) if samples else "no size"
        raise summary.refuse(f"its samples have {text}, those of {model} {size(round(load.sample))}")
    # older versions wrote the same keys, of slower accelerators
    pace = samples / count / (utilisation / 100) if utilisation else 0.0
    wanted = load.batch / load.compute
    if abs(pace / wanted - 1) > SAME_PACE:
        raise summary.refuse(
            f"each of its accelerators takes {pace:.1f} samples/s of {model}, one of the type {accelerator} takes "
            f"{wanted:.1f}: it is of another type or version, or its clients had too few CPUs"
        )
    fed = Accelerators(
        accelerator=accelerator.upper(), count=count, floor=100 * load.floor, au=utilisation, bandwidth=bandwidth
    )
    rung = _rung(BenchProfile(model), "train", model, count, "read", bandwidth)
    return rung.model_copy(update={"accelerators": [fed]})


def _kv_cache(summary: _Summary) -> tuple[str, str | None, int, list[Rung]]:
    """When it began, its processes and a rung for each option; it does not say when it ended."""
    if "options" not in summary.content:
        raise summary.refuse("it is not of the KV cache")
    if summary.content.get("partial_failure") is not False:
        raise summary.refuse("some of its processes failed")
    began, processes = summary.moment("run_datetime"), summary.count("total_ranks")
    rungs = []
    for number, operation in _OPTIONS.items():
        read, written = summary.option(number, "read"), summary.option(number, "write")
        rung = _rung(BenchProfile.KVCACHE, operation, f"option {number} of the KV cache", processes, "read", read)
        series = [*rung.series, figures.series("bandwidth", "write", [written])]
        rungs.append(rung.model_copy(update={"series": series}))
    return began, None, processes, rungs


def _checkpoint(summary: _Summary, model: str) -> list[Rung]:
    """Two invocations have a half each; the bandwidth is in GiB/s, whatever its name says."""
    if summary.has("train_au_mean_percentage"):
        raise summary.refuse(f"it is of a training, not of {model}")
    total = math.floor(summary.metric("checkpoint_size_GB") * GIB) if summary.has("checkpoint_size_GB") else 0
    wanted = capacity.CHECKPOINTS[_SIZES[model]]
    if total and abs(total / wanted - 1) > SAME_SIZE:
        raise summary.refuse(f"its checkpoint has {size(total)}, that of {model} {size(wanted)}")
    rungs = []
    for operation, direction in _HALVES:
        if not summary.has(f"{operation}_checkpoint_io_mean_GB_per_second"):
            continue
        bandwidth = summary.metric(f"{operation}_checkpoint_io_mean_GB_per_second") * GIB
        seconds = summary.metric(f"{operation}_checkpoint_duration_mean_seconds")
        rung = _rung(
            BenchProfile.CHECKPOINT,
            operation,
            model,
            summary.count("num_accelerators"),
            direction,
            bandwidth,
        )
        took = CheckpointTimes(
            model=_SIZES[model],
            size=total or round(bandwidth * seconds),
            measured=total or round(bandwidth * seconds),
            save_seconds=seconds if operation == "save" else None,
            load_seconds=seconds if operation == "load" else None,
        )
        rungs.append(rung.model_copy(update={"checkpoint": took, "size": took.size}))
    if not rungs:
        raise summary.refuse("it has neither metric.save_checkpoint_io_mean_GB_per_second nor that of load")
    return rungs
