# SPDX-License-Identifier: Apache-2.0
"""What the rules of MLPerf Storage 3.0 fix: data sets, checkpoints, accelerators. Sizes in bytes; pure.

github.com/mlcommons/storage, Rules.md 3.1.2, 4.3.4 (tables 2 and 3), 4.6.1, 6.3.1, and configs/dlio/workload.
"""

import math
from dataclasses import dataclass

from millrace.system.text import GIB, TIB

EDITION = "3.0"
STEPS = 500
MEMORY_MULTIPLE = 5
"""A data set is so many times the memory of all clients, or they would read it from there."""
CHECKPOINTS = 10
CACHED = 3
"""A client that writes less than so many times its memory reads back from its cache."""
RUNS = 6
"""The first is a warm-up."""


@dataclass(frozen=True)
class Training:
    """`record` is the mean size of a sample, `batch` in samples, `floor` the lowest utilisation (0..1)."""

    model: str
    accelerator: str
    record: int
    batch: int
    compute: float
    floor: float

    @property
    def need(self) -> float:
        """Bytes/s that keep one accelerator at the floor."""
        return self.floor * self.batch * self.record / self.compute

    def samples(self, accelerators: int, memory: int) -> int:
        """Return how many samples, one a file, a data set has at least; `memory` is that of all clients."""
        return max(STEPS * self.batch * accelerators, math.ceil(MEMORY_MULTIPLE * memory / self.record))


TRAININGS = [
    Training("unet3d", "b200", 146_600_628, 7, 0.162, 0.90),
    Training("retinanet", "b200", 322_957, 24, 0.04755, 0.85),
    Training("retinanet", "mi355", 322_957, 32, 0.0634, 0.85),
]


@dataclass(frozen=True)
class CheckpointRules:
    """`size` is of one checkpoint; binary, whatever the table of the rules says."""

    model: str
    size: int
    processes: int


CHECKPOINTED = [
    CheckpointRules("llama3-8b", 105 * GIB, 8),
    CheckpointRules("llama3-70b", 912 * GIB, 64),
    CheckpointRules("llama3-405b", int(5.29 * TIB), 512),
    CheckpointRules("llama3-1t", 18 * TIB, 1024),
]

ACCELERATOR_MEMORY = {"b200": 180 * 10**9, "mi355": 288 * 10**9}
