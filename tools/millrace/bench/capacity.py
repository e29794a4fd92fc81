# SPDX-License-Identifier: Apache-2.0
"""Bandwidth as accelerators that it keeps busy, and as minutes of a checkpoint. Pure.

Workload parameters: mlcommons/storage v2.0 (H100, A100) and v3.0 (B200). A model's layout: facts of DLIO's checkpoints,
all sizes in bytes, binary whatever the label says.
"""

import math
from dataclasses import dataclass

from millrace.bench.model import Accelerators, Checkpoint, Profile

GIB = 1 << 30


@dataclass(frozen=True)
class Training:
    """One accelerator on one workload: bytes a sample, samples a batch, seconds a batch, the lowest utilisation."""

    profile: Profile
    accelerator: str
    sample: float
    batch: int
    compute: float
    floor: float

    @property
    def need(self) -> float:
        """Bytes/s that keep one accelerator at the floor."""
        return self.floor * self.batch * self.sample / self.compute


TRAININGS = [
    Training(Profile.UNET3D, "H100", 146_600_628, 7, 0.323, 0.90),
    Training(Profile.UNET3D, "B200", 146_600_628, 7, 0.162, 0.90),
    Training(Profile.RETINANET, "B200", 322_957, 24, 0.04755, 0.85),
]

CHECKPOINTS = {"8b": 105 * GIB, "70b": 911 * GIB, "405b": 5292 * GIB, "1t": 15_427 * GIB}


def accelerators(profile: Profile, bandwidth: float) -> list[Accelerators]:
    """How many accelerators a bandwidth in bytes/s keeps at or above their floor, from the closed form."""
    return [
        Accelerators(
            accelerator=one.accelerator,
            count=math.floor(bandwidth / one.need),
            floor=one.floor,
            bandwidth=bandwidth,
        )
        for one in TRAININGS
        if one.profile is profile
    ]


def checkpoint(model: str, measured: int, save: float | None, load: float | None) -> Checkpoint:
    """What a whole checkpoint takes at these speeds in bytes/s; `measured` bytes were moved."""
    size = CHECKPOINTS[model]
    return Checkpoint(
        model=model,
        size=size,
        measured=measured,
        save_seconds=size / save if save else None,
        load_seconds=size / load if load else None,
    )
