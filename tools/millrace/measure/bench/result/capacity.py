# SPDX-License-Identifier: Apache-2.0
"""Bandwidth as accelerators that it keeps busy, and as minutes of a checkpoint. Pure.

A model's layout: facts of DLIO's checkpoints, all sizes in bytes, binary whatever the label says.
"""

import math

from millrace.measure.bench.result.choices import BenchProfile
from millrace.measure.bench.result.model import Accelerators, CheckpointTimes
from millrace.system.text import GIB
from millrace_client.au import RETIRED, TRAININGS

CHECKPOINTS = {"8b": 105 * GIB, "70b": 911 * GIB, "405b": 5292 * GIB, "1t": 15_427 * GIB}


def accelerators(profile: BenchProfile, bandwidth: float) -> list[Accelerators]:
    """Return how many accelerators a bandwidth in bytes/s keeps at or above their floor, from the closed form."""
    return [
        Accelerators(
            accelerator=training.accelerator,
            count=math.floor(bandwidth / training.need),
            floor=100 * training.floor,
            bandwidth=bandwidth,
            retired=training.accelerator in RETIRED,
        )
        for training in TRAININGS
        if training.profile == profile
    ]


def checkpoint(model: str, measured: int, save: float | None, load: float | None) -> CheckpointTimes:
    """Return what a whole checkpoint takes: `save` and `load` are speeds in bytes/s, `measured` bytes were moved."""
    size = CHECKPOINTS[model]
    return CheckpointTimes(
        model=model,
        size=size,
        measured=measured,
        save_seconds=size / save if save else None,
        load_seconds=size / load if load else None,
    )
