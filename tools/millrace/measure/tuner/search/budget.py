# SPDX-License-Identifier: Apache-2.0
"""How many readings a run takes at least, and what a budget is enough for. Pure."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from millrace.measure.tuner.model import TunerKnob
from millrace.measure.tuner.search.design import default_of, design, plan_of, size
from millrace.measure.tuner.search.guard import ROUNDS
from millrace.system.errors import BadInput


def fewest(knobs: Sequence[TunerKnob]) -> int:
    """Return the readings of a run without refinement: the first of the plan, one screen, and the guard."""
    return 1 + size(len(knobs)) + guarded(knobs)


def guarded(knobs: Sequence[TunerKnob]) -> int:
    """Return the readings that are kept for the guard."""
    return ROUNDS * (2 if plan_of(knobs) == default_of(knobs) else 3)


def check(knobs: Sequence[TunerKnob], budget: float, each: float, before: float = 0.0) -> None:
    """Check a budget of `budget` seconds for readings of `each` seconds, `before` seconds after the start.

    BadInput: no knob, or one screen is longer.
    """
    if not knobs:
        raise BadInput("There is nothing to tune on this server: it has none of the settings that may be tried.")
    needed = before + fewest(knobs) * each
    if budget < needed:
        raise BadInput(
            f"A budget of {_minutes(budget, math.floor)} is shorter than one screen of {len(knobs)} settings, which "
            f"takes {_minutes(needed, math.ceil)} with its comparison; give --budget {math.ceil(needed / 60)}m or more."
        )


def changes(knobs: Sequence[TunerKnob]) -> dict[str, int]:
    """Return how often the screen changes each knob, from the plan's settings on."""
    runs = design(knobs).runs
    return {knob.name: sum(one[knob.name] != two[knob.name] for one, two in pairwise(runs)) for knob in knobs}


def _minutes(seconds: float, rounding: Callable[[float], int]) -> str:
    number = rounding(seconds / 60)
    return f"{number} minute{'' if number == 1 else 's'}"
