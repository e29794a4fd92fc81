# SPDX-License-Identifier: Apache-2.0
"""Confirmation: each moved knob is measured once more beside the plan's level, and goes back where it does nothing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from millrace.measure.tuner.model import Combination, TunerKnob
from millrace.measure.tuner.search.design import design_of
from millrace.measure.tuner.search.meter import Meter
from millrace.measure.tuner.search.statistics import clipped, repeats, together

RUNS = 8
"""Readings of a confirmation at least."""
KEEP = 0.01
"""A gain (as a logarithm) up to this is no reason to leave the plan."""
DEVIATIONS = 1.3
"""How many standard errors a gain must be: a knob comes here because another measurement was in its favour."""


@dataclass(frozen=True)
class Confirmed:
    """The candidate without what does nothing; each moved knob's gain over the plan's level, as logarithms."""

    candidate: Combination
    gains: dict[str, float]
    noise: float


def readings(moved: int) -> int:
    """Return how many readings the confirmation of so many knobs takes; the guard itself confirms one alone."""
    if moved < 2:
        return 0
    runs = RUNS
    while runs <= moved:
        runs *= 2
    return runs


def moved(candidate: Combination, plan: Combination) -> list[str]:
    """Return the knobs that are not at the plan's level."""
    return [name for name in plan if candidate[name] != plan[name]]


def confirm(
    candidate: Combination, plan: Combination, knobs: Sequence[TunerKnob], meter: Meter, keep: int
) -> Confirmed:
    """Measure a design of the moved knobs alone, the candidate's level of each against the plan's.

    Twice where the time is enough for `keep` readings after that. The noise is one standard error: from what the design
    does not explain, and from all combinations that were measured repeatedly.
    """
    changed = [
        knob.model_copy(update={"planned": candidate[knob.name], "default": plan[knob.name]})
        for knob in knobs
        if candidate[knob.name] != plan[knob.name]
    ]
    design = design_of(changed, readings(len(changed)))
    values = clipped([meter.log({**candidate, **run}, "confirm") for run in design.runs])
    times = 1
    if values and meter.affordable >= keep + len(values):
        again = clipped([meter.log({**candidate, **run}, "confirm") for run in design.runs[::-1]])[::-1]
        if again:
            values, times = together(values, again), 2
    if not values:
        return Confirmed(plan, {}, 0.0)
    squares, freedom = repeats(meter.repeated())
    squares = squares / times + design.residual(values)
    freedom += len(values) - 1 - len(changed)
    noise = math.sqrt(squares / freedom) * 2 / math.sqrt(len(values)) if freedom else 0.0
    gains = design.effects(values)
    back = [name for name, gain in gains.items() if gain <= max(KEEP, DEVIATIONS * noise)]
    return Confirmed({**candidate, **{name: plan[name] for name in back}}, gains, noise)
