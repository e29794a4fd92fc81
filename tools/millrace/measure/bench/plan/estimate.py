# SPDX-License-Identifier: Apache-2.0
"""The expected duration and size of a run. Pure."""

from collections.abc import Sequence

from millrace.measure.bench.plan.sizes import Sizes
from millrace.measure.bench.plan.steps import RungStep
from millrace.measure.bench.result.choices import BenchLayer, BenchProfile
from millrace.measure.bench.result.model import RunRequest
from millrace.measure.bench.result.outputs import BenchEstimate, PlannedRung
from millrace_client import au

PROBES = 6
"""Numbers of accelerators that a search tries."""
START = 2.0
"""Seconds that it takes to start fio and to read what it says."""
SPEED = {BenchLayer.L0: 2e9, BenchLayer.L1: 2e9, BenchLayer.L2: 5e8, BenchLayer.L3: 5e8}
"""Bytes/s assumed for work of a given amount: a guess for the clock on the wall only, never a result."""


def estimate(request: RunRequest, steps: Sequence[RungStep], sizes: Sizes) -> BenchEstimate:
    """Return seconds, space and bytes written of a run of these steps."""
    rungs = [
        PlannedRung(
            id=step.id,
            layer=step.layer,
            target=step.target,
            profile=step.work.profile,
            seconds=0 if step.skipped else seconds_of(step, sizes),
            skipped=step.skipped,
        )
        for step in steps
    ]
    on_files = [step for step in steps if not step.devices and not step.skipped]
    layouts: dict[str, int] = {}
    for step in on_files:
        layouts[step.work.layout] = max(amount(step, sizes), layouts.get(step.work.layout, 0))
    written = sum(layouts.values()) + sum(amount(step, sizes) * sizes.repeats for step in on_files if step.work.writes)
    return BenchEstimate(
        mode=request.mode,
        seconds=sum(rung.seconds for rung in rungs) + sum(layouts.values()) / SPEED[BenchLayer.L1],
        space=sum(layouts.values()),
        written=written,
        repeats=sizes.repeats,
        repeat_seconds=sizes.seconds,
        rungs=rungs,
    )


def amount(step: RungStep, sizes: Sizes) -> int:
    """Return the bytes of the files of a step."""
    files = sizes.files(step.work)
    return step.copies * sizes.jobs_of(step.work) * files.per_job * files.mean


def seconds_of(step: RungStep, sizes: Sizes) -> float:
    """Return the seconds that one rung takes: the warm-up and the repeats."""
    if step.work.operation == "train":
        return sizes.repeats * _training(step.work.profile, sizes.seconds)
    if step.work.timed:
        return START + sizes.warm + sizes.repeats * (START + sizes.seconds)
    return (1 + sizes.repeats) * (START + amount(step, sizes) / SPEED[step.layer])


def _training(profile: BenchProfile, seconds: float) -> float:
    """Seconds of a search for each accelerator, and of confirming what it found."""
    trainings = [one for one in au.TRAININGS if one.profile == profile]
    lengths = [((au.EXCLUDED + au.STEPS) * one.compute, au.SHORT * seconds) for one in trainings]
    return START + sum(PROBES * max(least, short) + max(least, seconds) for least, short in lengths)
