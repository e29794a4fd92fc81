# SPDX-License-Identifier: Apache-2.0
"""A server that is measured without noise, and its knobs."""

import math
from collections.abc import Callable

from millrace.measure.tuner.model import (
    Combination,
    Cost,
    Effect,
    Level,
    MeasuredCombination,
    Phase,
    ScoredReading,
    TunerKnob,
)

EACH = 60.0
"""Seconds of a reading."""


def knob(
    name: str, levels: list[Level], planned: Level, default: Level, ordered: bool = True, cost: Cost = "none"
) -> TunerKnob:
    return TunerKnob(
        name=name,
        title=f"the {name}",
        setting=f"/sys/{name}",
        levels=levels,
        ordered=ordered,
        default=default,
        planned=planned,
        cost=cost,
    )


class Server:
    """Counts its readings; `speed` is a factor of 1 GB/s, 0 for what cannot be measured."""

    def __init__(self, speed: Callable[[Combination], float], readings: int = 50) -> None:
        self.speed = speed
        self.left = readings * EACH
        self.begun: list[tuple[Combination, Phase]] = []
        self.readings: list[ScoredReading] = []
        self.table: list[Effect] = []

    def measure(self, combination: Combination) -> MeasuredCombination:
        self.left -= EACH
        value = self.speed(combination)
        if not value:
            return MeasuredCombination(
                started="2026-01-01T00:00:00Z", seconds=EACH, validity="failed", reason="fio ended."
            )
        # never exactly the same twice
        value *= math.exp(0.001 * math.sin(self.left))
        return MeasuredCombination(started="2026-01-01T00:00:00Z", seconds=EACH, figures={"seq-read": 1e9 * value})

    def time_left(self) -> float:
        return self.left

    def begins(self, combination: Combination, phase: Phase) -> None:
        self.begun.append((combination, phase))

    def reading(self, one: ScoredReading) -> None:
        self.readings.append(one)

    def effects(self, found: list[Effect]) -> None:
        self.table = found
