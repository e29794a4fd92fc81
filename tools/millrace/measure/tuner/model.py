# SPDX-License-Identifier: Apache-2.0
"""The contract of a run of the tuner (`millrace tuner show --json`).

Seconds, bytes and operations/s throughout, gains and noise as parts of 1, times of day in ISO 8601 UTC. What is not
known is null, never 0.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from millrace.measure.bench.result.environment import Environment
from millrace.system.documents import Contract, Count, Rate

Level = int | str
"""One value of a knob, as it is written."""
Combination = dict[str, Level]
"""A level for each knob, by the knob's name."""
Figures = dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]]
"""What was measured, by the goal's name, in the goal's unit."""

Cost = Literal["none", "pause", "link", "restart"]
"""What a change of a knob interrupts: nothing, requests while an array is quiesced, the link of a port, a service."""
Unit = Literal["bytes/s", "1/s", "s"]
Better = Literal["higher", "lower"]
Phase = Literal["baseline", "screen", "refine", "confirm", "guard"]
Validity = Literal["valid", "censored", "failed"]
"""`censored` was ended early, far below the others: its figures are an upper bound. `failed` has no figures."""
Verdict = Literal["plan", "candidate"]
Side = Literal["candidate", "plan", "default"]


class TunerState(StrEnum):
    """How far a run is."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"  # by an administrator, or by the guards of the hardware
    INTERRUPTED = "interrupted"  # the program was killed or the power was cut


class TunerKnob(Contract):
    """One setting of the whitelist with the levels that may be tried; `default` and `planned` are among them.

    `ordered`: the levels ascend, and neighbours are alike; otherwise they are categories. `setting` is what an
    administrator finds it by.
    """

    name: str
    title: str
    setting: str
    levels: list[Level] = Field(min_length=2)
    ordered: bool
    default: Level
    planned: Level
    cost: Cost = "none"


class LeftOut(Contract):
    """One setting that is not tried, and why."""

    name: str
    reason: str


class Goal(Contract):
    """One measurement of the ladder and its weight among all goals; weights add up to 1."""

    name: str
    title: str
    weight: Rate
    unit: Unit
    better: Better = "higher"


class MeasuredCombination(Contract):
    """The result of measuring one combination: what the server's side hands to the search.

    `seconds` is all the time it took, the change of settings included. `reason` explains what is not valid.
    """

    started: str
    seconds: float = Field(ge=0)
    figures: Figures = Field(default_factory=dict)
    validity: Validity = "valid"
    reason: str | None = None


class ScoredReading(MeasuredCombination):
    """One measured combination. `score` is relative to the plan's settings (1 is equal), null where it failed."""

    number: Count
    phase: Phase
    combination: Combination
    score: float | None


class Effect(Contract):
    """What one knob does: `effect` is the gain of the plan's level over `other`, `noise` what it may be by chance.

    `matters`: the effect is beyond noise. `tried` is the level that was better than the plan's at first, `confirmed`
    its gain over the plan's when it was measured again; null where no level was. `moved`: the candidate has it.
    """

    knob: str
    planned: Level
    other: Level
    effect: float
    noise: float
    matters: bool
    moved: bool = False
    tried: Level | None = None
    confirmed: float | None = None
    confirmed_noise: float | None = None


class Standing(Contract):
    """One of the compared sets: the medians of its readings in the guard; `score` is relative to the plan's."""

    side: Side
    combination: Combination
    figures: Figures
    score: float | None
    readings: Count


class TunerOutcome(Contract):
    """What was found. `winner` equals the plan's settings for the verdict `plan`.

    `gain` is the candidate's over the plan's from `rounds` interleaved pairs, `noise` what it may be by chance; both
    null where there was nothing to compare. `reason` is one sentence.
    """

    verdict: Verdict
    winner: Combination
    plan: Combination
    default: Combination
    candidate: Combination | None = None
    gain: float | None = None
    noise: float | None = None
    rounds: Count = 0
    reason: str
    standings: list[Standing] = Field(default_factory=list)


class Versions(Contract):
    """The software that measured."""

    millrace: str
    kernel: str
    fio: str


class TunerRun(Contract):
    """One run of the tuner. `budget` in seconds; `goals` as weighted by the profile or the administrator.

    `refused` are settings that a driver did not take when the run began.
    """

    schema_version: Literal[1] = 1
    id: str
    started: str
    ended: str | None = None
    state: TunerState
    reason: str | None = None
    host: str
    versions: Versions
    environment: Environment | None = None
    profile: str | None = None
    budget: float
    knobs: list[TunerKnob]
    goals: list[Goal]
    clients: list[str] = Field(default_factory=list)
    refused: list[LeftOut] = Field(default_factory=list)
    readings: list[ScoredReading] = Field(default_factory=list)
    effects: list[Effect] = Field(default_factory=list)
    outcome: TunerOutcome | None = None
