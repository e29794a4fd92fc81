# SPDX-License-Identifier: Apache-2.0
"""From repeats to the result of a rung. Pure."""

from collections.abc import Sequence
from statistics import median

from millrace.measure.bench.result import capacity
from millrace.measure.bench.result.choices import BenchProfile
from millrace.measure.bench.result.fio_output import Flow, RepeatOutcome, merged
from millrace.measure.bench.result.model import (
    REPEATABLE,
    Accelerators,
    BenchState,
    Direction,
    Flag,
    Latency,
    Moment,
    Quantity,
    Rung,
    RungShare,
    Series,
)

DIRECTIONS: tuple[Direction, ...] = ("read", "write", "commit", "create", "stat", "delete")
FROM_MEMORY = 0.5
"""Below this part of what was read coming from drives, it is the memory that was measured."""
WITHOUT_BYTES = (BenchProfile.META,)


def series(quantity: Quantity, direction: Direction, values: Sequence[float]) -> Series:
    """Return median, range and distance from the median of `values`, one for each repeat."""
    middle_value = median(values)
    spread = max(abs(value - middle_value) for value in values) / middle_value if middle_value else 0.0
    return Series(
        quantity=quantity,
        direction=direction,
        values=list(values),
        median=middle_value,
        low=min(values),
        high=max(values),
        spread=spread,
        repeatable=spread <= REPEATABLE,
    )


def completed(rung: Rung, repeats: Sequence[RepeatOutcome], timeline: Sequence[Moment], seconds: float) -> Rung:
    """Return the rung with its figures; ceilings and bottleneck follow when the other rungs are known."""
    all_series: list[Series] = []
    latencies: list[Latency] = []
    slowest = rung.workload.profile is BenchProfile.CHECKPOINT
    for direction in DIRECTIONS:
        flows = [repeat.flows[direction] for repeat in repeats if direction in repeat.flows]
        if not flows:
            continue
        if direction != "commit" and rung.workload.profile not in WITHOUT_BYTES:
            all_series.append(series("bandwidth", direction, [_bandwidth(flow, slowest) for flow in flows]))
        all_series.append(series("operations", direction, [flow.operations for flow in flows]))
        latency = merged(flow.histogram for flow in flows).latency(direction)
        latencies += [latency] if latency else []
    update = {
        "state": BenchState.DONE,
        "seconds": round(seconds, 3),
        "series": all_series,
        "latencies": latencies,
        "parts": _parts(repeats),
        "accelerators": _trained(repeats),
        "timeline": list(timeline),
        "median": median_moment(timeline),
    }
    done = rung.model_copy(update=update)
    return done.model_copy(update={"flags": flags(done, repeats)})


def median_moment(moments: Sequence[Moment]) -> Moment | None:
    """Return the median of each figure; None of none."""
    if not moments:
        return None
    found: dict[str, float | None] = {"at": moments[-1].at}
    for name in Moment.model_fields:
        if name != "at":
            values = [value for one in moments if (value := getattr(one, name)) is not None]
            found[name] = round(median(values), 9) if values else None
    return Moment.model_validate(found)


def flags(rung: Rung, repeats: Sequence[RepeatOutcome]) -> list[Flag]:
    """Return what limits the validity of the figures."""
    limits: list[Flag] = [flag for flag in rung.flags if flag == "scaled"]
    if any(not figure.repeatable for figure in rung.series):
        limits.append("not-repeatable")
    if any(flow.short for repeat in repeats for flow in repeat.flows.values()):
        limits.append("short-reads")
    read, now = rung.find("bandwidth", "read"), rung.median
    if rung.layer != "L0" and read and now and now.read is not None and now.read < FROM_MEMORY * read.median:
        limits.append("cached")
    return limits


def _bandwidth(flow: Flow, slowest: bool) -> float:
    """A checkpoint is there when its slowest rank is."""
    return flow.bytes / flow.slowest if slowest and flow.slowest else flow.bandwidth


def _parts(repeats: Sequence[RepeatOutcome]) -> list[RungShare]:
    names = sorted({name for repeat in repeats for name in repeat.parts})
    if len(names) < 2:
        return []
    flows = {name: [repeat.parts[name] for repeat in repeats if name in repeat.parts] for name in names}
    return [
        RungShare(
            name=name,
            bandwidth=median(flow.bandwidth for flow in flows[name]),
            operations=median(flow.operations for flow in flows[name]),
        )
        for name in names
    ]


def _trained(repeats: Sequence[RepeatOutcome]) -> list[Accelerators]:
    """Of each accelerator the repeat in the middle, by how many it kept busy."""
    names = dict.fromkeys(one.accelerator for repeat in repeats for one in repeat.accelerators)
    found = []
    for name in names:
        same = [one for repeat in repeats for one in repeat.accelerators if one.accelerator == name]
        same.sort(key=lambda one: (one.count, one.au))
        found.append(same[(len(same) - 1) // 2])
    return found


def with_training_figures(rung: Rung, model: str) -> Rung:
    """Return the figure for training: accelerators, or minutes of a checkpoint of `model`."""
    read, written = rung.find("bandwidth", "read"), rung.find("bandwidth", "write")
    if rung.workload.profile in (BenchProfile.UNET3D, BenchProfile.RETINANET) and read and not rung.accelerators:
        return rung.model_copy(update={"accelerators": capacity.accelerators(rung.workload.profile, read.median)})
    if rung.workload.profile is BenchProfile.CHECKPOINT:
        save, load = (one.median if one else None for one in (written, read))
        return rung.model_copy(update={"checkpoint": capacity.checkpoint(model, rung.size, save, load)})
    return rung
