# SPDX-License-Identifier: Apache-2.0
"""What the verbs print beside a run: the list, an estimate, live progress."""

from typing import Literal

from pydantic import Field

from millrace.measure.bench.result.choices import BenchLayer, BenchProfile
from millrace.measure.bench.result.model import BenchState, Label, Mode, Rung
from millrace.system.documents import Contract


class Headline(Contract):
    """One number for a tile: the best layer's median of one workload."""

    rung: str
    name: str
    value: float
    unit: Literal["bytes/s", "operations/s", "seconds"]


class BenchRunSummary(Contract):
    """One line of the list. `done` and `rungs` count workloads."""

    id: str
    started: str
    ended: str | None
    state: BenchState
    reason: str | None
    mode: Mode
    layers: list[BenchLayer]
    profiles: list[BenchProfile]
    labels: list[Label]
    workload_hash: str
    done: int
    rungs: int
    headlines: list[Headline] = Field(default_factory=list)


class BenchRunList(Contract):
    """`millrace bench list --json`, newest first. `broken` names directories that hold no run."""

    schema_version: Literal[1] = 1
    runs: list[BenchRunSummary]
    broken: list[str] = Field(default_factory=list)


class PlannedRung(Contract):
    """One rung of an estimate, or the reason why it is skipped."""

    id: str
    layer: BenchLayer
    target: str
    profile: BenchProfile
    seconds: float
    skipped: str | None = None


class BenchEstimate(Contract):
    """Expected duration and size of a run: seconds, bytes in the pool at most, bytes written in all."""

    schema_version: Literal[1] = 1
    mode: Mode
    seconds: float
    space: int
    written: int
    repeats: int
    repeat_seconds: float
    rungs: list[PlannedRung]
    obstacles: list[str] = Field(default_factory=list)


class BenchProgress(Contract):
    """One line of `millrace bench follow --json`.

    `progress` is 0..1. `bandwidth` (bytes/s) and `operations` (1/s) are of about the last second. `finished` is the
    rung that has just ended, with its result. The last line of a run has a state that is not `running`.
    """

    schema_version: Literal[1] = 1
    run: str
    time: float
    state: BenchState
    what: str
    rung: str | None = None
    step: int = 0
    steps: int = 0
    repeat: int | None = None
    repeats: int | None = None
    progress: float = 0
    seconds_left: float | None = None
    bandwidth: float | None = None
    operations: float | None = None
    finished: Rung | None = None


class BenchStarted(Contract):
    """`millrace bench start --json`."""

    schema_version: Literal[1] = 1
    run: str
    unit: str
    estimate: BenchEstimate


class BenchStopped(Contract):
    """`millrace bench stop --json`. `running` is whether a run was active, `removed` what was removed."""

    schema_version: Literal[1] = 1
    running: bool
    removed: list[str]
