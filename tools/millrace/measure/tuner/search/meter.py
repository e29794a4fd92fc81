# SPDX-License-Identifier: Apache-2.0
"""Measurements of one search: each is numbered, scored and noted, and the time of the next ones is estimated."""

import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Protocol

from millrace.measure.tuner.model import (
    Combination,
    Effect,
    Figures,
    Goal,
    Level,
    MeasuredCombination,
    Phase,
    ScoredReading,
)
from millrace.measure.tuner.search.goals import score
from millrace.system.errors import Failed

Measure = Callable[[Combination], MeasuredCombination]
"""Set a combination and measure every goal. What it raises ends the search and goes through."""
TimeLeft = Callable[[], float]
"""Seconds of the budget that are left."""
TRIES = 3
"""Attempts at the first reading, which the scores of all others are relative to."""


class Notes(Protocol):
    """Takes what is known so far, so that a run which is interrupted shows it."""

    def begins(self, combination: Combination, phase: Phase) -> None:
        """Take what is measured next, right before it is set."""

    def reading(self, one: ScoredReading) -> None:
        """Take a reading, right after it was measured."""

    def effects(self, found: list[Effect]) -> None:
        """Take the table of effects; it replaces the one before."""


class Meter:
    """Measures combinations. Scores are relative to the first reading, which `begin` takes of the plan's settings."""

    def __init__(self, goals: Sequence[Goal], measure: Measure, time_left: TimeLeft, notes: Notes) -> None:
        self.goals = list(goals)
        self.notes = notes
        self.readings: list[ScoredReading] = []
        self._measure = measure
        self._time_left = time_left
        self._reference: Figures = {}

    def begin(self, plan: Combination) -> None:
        """Measure the plan's settings once: the reference, and the warm-up. Failed: they cannot be measured."""
        for _ in range(TRIES):
            self._reference = {}
            reading = self.take(plan, "baseline")
            if reading.score is not None:
                return
        why = (reading.reason or "a figure is missing").rstrip(".")
        raise Failed(f"The plan's settings could not be measured: {why}.")

    def take(self, combination: Combination, phase: Phase) -> ScoredReading:
        """Measure a combination and note the reading."""
        self.notes.begins(combination, phase)
        measured = self._measure(combination)
        reference = self._reference or measured.figures
        known = None if measured.validity == "failed" else score(self.goals, measured.figures, reference)
        reading = ScoredReading(
            number=len(self.readings),
            phase=phase,
            combination=dict(combination),
            score=known,
            started=measured.started,
            seconds=measured.seconds,
            figures=measured.figures,
            validity="failed" if known is None else measured.validity,
            reason=measured.reason,
        )
        if known is not None and not self._reference:
            self._reference = measured.figures
        self.readings.append(reading)
        self.notes.reading(reading)
        return reading

    def log(self, combination: Combination, phase: Phase) -> float | None:
        """Measure a combination; return the logarithm of its score, None where it failed."""
        found = self.take(combination, phase).score
        return None if found is None else math.log(found)

    @property
    def affordable(self) -> int:
        """How many more readings fit into the time that is left, by the mean of those that were taken."""
        each = fmean(one.seconds for one in self.readings) if self.readings else 0.0
        left = self._time_left()
        if left <= 0:
            return 0
        return int(left / each) if each > 0 else 1_000_000

    def repeated(self) -> list[list[float]]:
        """Return the logarithms of the scores of each combination, without the warm-up."""
        found: dict[tuple[tuple[str, Level], ...], list[float]] = {}
        for one in self.readings:
            if one.phase != "baseline" and one.score is not None:
                found.setdefault(tuple(sorted(one.combination.items())), []).append(math.log(one.score))
        return list(found.values())
