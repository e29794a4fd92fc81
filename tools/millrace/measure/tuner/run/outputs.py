# SPDX-License-Identifier: Apache-2.0
"""What the verbs of the tuner print beside a run."""

from typing import Literal

from pydantic import Field

from millrace.measure.tuner.model import Combination, Goal, LeftOut, Level, Phase, TunerKnob, TunerState, Verdict
from millrace.plan.measured import MeasuredPolicy
from millrace.system.documents import Contract, Count


class TunerRequest(Contract):
    """A request for a run. `goals` as in `seq-read=3,fsync=1`, else a `profile`; `budget` in seconds.

    `knobs` are names of those that are tried, none for all; `clients` drive the load in place of this server.
    """

    schema_version: Literal[1] = 1
    goals: str | None = None
    profile: str | None = None
    budget: float = Field(default=3600, gt=0, le=86400)
    knobs: list[str] = Field(default_factory=list)
    clients: list[str] = Field(default_factory=list)


class TunerEstimate(Contract):
    """What a run would try and how long. `each` are the seconds of one reading, `least` those of the shortest run.

    `fewest` is the number of its readings, `layout` the seconds before the first. `obstacles` prevent a start now.
    """

    schema_version: Literal[1] = 1
    goals: list[Goal]
    knobs: list[TunerKnob]
    left_out: list[LeftOut]
    each: float
    fewest: Count
    layout: float
    least: float
    budget: float
    space: Count
    obstacles: list[str] = Field(default_factory=list)


class TunerProgress(Contract):
    """One line of `millrace tuner run --json`. `progress` is 0..1 of the budget; the last line is not `running`.

    `started` is the time of day, null where the run did not begin. `combination` is what is measured now, `goal` the
    test of it; null while nothing is measured.
    """

    schema_version: Literal[1] = 1
    run: str
    time: float
    started: str | None = None
    state: TunerState
    what: str
    phase: Phase | None = None
    combination: Combination | None = None
    goal: Goal | None = None
    readings: Count = 0
    progress: float = 0
    seconds_left: float | None = None
    best: float | None = None

    @property
    def doing(self) -> str:
        """What is done now, with the test of a reading."""
        return f"{self.what}: {self.goal.title}" if self.goal else self.what


class TunerStarted(Contract):
    """`millrace tuner start --json`."""

    schema_version: Literal[1] = 1
    run: str
    unit: str
    estimate: TunerEstimate


class TunerStatus(Contract):
    """`millrace tuner status --json`. `left` are settings of a run that could not be restored."""

    schema_version: Literal[1] = 1
    running: bool
    progress: TunerProgress | None = None
    applied: MeasuredPolicy | None = None
    left: list[str] = Field(default_factory=list)


class TunerStopped(Contract):
    """`millrace tuner stop --json`. `running` is whether a run was active, `restored` what was put back."""

    schema_version: Literal[1] = 1
    running: bool
    restored: list[str]


class TunerRunSummary(Contract):
    """One line of the list. `gain` of the candidate over the plan; `applied`: its settings are in the policy."""

    id: str
    started: str
    ended: str | None
    state: TunerState
    reason: str | None
    profile: str | None
    readings: Count
    verdict: Verdict | None
    gain: float | None
    applied: bool


class TunerRunList(Contract):
    """`millrace tuner list --json`, newest first. `broken` names directories that hold no run."""

    schema_version: Literal[1] = 1
    runs: list[TunerRunSummary]
    broken: list[str] = Field(default_factory=list)


class Applied(Contract):
    """`millrace tuner apply --json`: the settings that are in the policy now, by their keys."""

    schema_version: Literal[1] = 1
    run: str
    source: str
    values: dict[str, Level]


class Reverted(Contract):
    """`millrace tuner revert --json`: the settings that are not in the policy any more."""

    schema_version: Literal[1] = 1
    run: str
    values: dict[str, Level]
