# SPDX-License-Identifier: Apache-2.0
"""The search from the first reading to the outcome: screen, refine, confirm, guard."""

from collections.abc import Callable, Sequence
from typing import Protocol

from millrace.tuner.model import Combination, Effect, Goal, Knob, Measured, Outcome, Reading

Measure = Callable[[Combination], Measured]
"""Set a combination and measure every goal. What it raises ends the search and goes through."""
TimeLeft = Callable[[], float]
"""Seconds of the budget that are left."""


class Notes(Protocol):
    """Takes what is known so far, so that a run which is interrupted shows it."""

    def reading(self, one: Reading) -> None:
        """Take a reading, right after it was measured."""

    def effects(self, found: list[Effect]) -> None:
        """Take the table of effects; it replaces the one before."""


def tune(knobs: Sequence[Knob], goals: Sequence[Goal], measure: Measure, time_left: TimeLeft, notes: Notes) -> Outcome:
    """Return the best combination that is proven, or the plan's. Failed: the plan's settings cannot be measured."""
    raise NotImplementedError
