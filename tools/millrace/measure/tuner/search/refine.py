# SPDX-License-Identifier: Apache-2.0
"""Refinement: one knob by one level at a time, in the order of the effects; what is better is measured again."""

from collections.abc import Callable, Sequence
from statistics import fmean

from millrace.measure.tuner.model import Combination, Effect, Level, TunerKnob
from millrace.measure.tuner.search.design import alternative
from millrace.measure.tuner.search.meter import Meter

PASSES = 2
"""The first leaves out what the screen measured, the second nothing."""
Reserve = Callable[[Combination], int]
"""The readings that are kept for what follows when this is the best combination."""
FIRST, AGAIN = 0.02, 0.01
"""How much better (as a logarithm) the first reading must be, and the lower of two."""


def refine(
    start: Combination, knobs: Sequence[TunerKnob], table: Sequence[Effect], meter: Meter, reserve: Reserve
) -> Combination:
    """Return the best combination found from `start` on, while more readings are affordable than `reserve` keeps."""
    search = _Refinement(dict(start), meter, reserve)
    if meter.affordable < reserve(search.best) + 4:
        return search.best
    search.known = [log for log in (meter.log(search.best, "refine") for _ in range(2)) if log is not None]
    if not search.known:
        return search.best
    by_name = {knob.name: knob for knob in knobs}
    order = [by_name[effect.knob] for effect in table]
    tried: dict[str, set[Level]] = {knob.name: {knob.planned, alternative(knob)} for knob in knobs}
    for _ in range(PASSES):
        # a knob's best level may change with the others', so as long as one is better all are tried
        while any([search.climb(knob, tried[knob.name]) for knob in order]):
            pass
        # once more with every level: what looked worse may have met an outlier
        tried = {knob.name: set() for knob in knobs}
    return search.best


class _Refinement:
    """The best combination so far; `known` are its readings, the latest last."""

    def __init__(self, best: Combination, meter: Meter, reserve: Reserve) -> None:
        self.best = best
        self.known: list[float] = []
        self._meter = meter
        self._reserve = reserve

    def climb(self, knob: TunerKnob, tried: set[Level]) -> bool:
        """Try levels of one knob that were not tried, from its level on; return whether one was better."""
        moved = False
        while any(self._better(knob, level, tried) for level in _neighbours(knob, self.best[knob.name], tried)):
            moved = True
        return moved

    def _better(self, knob: TunerKnob, level: Level, tried: set[Level]) -> bool:
        candidate = {**self.best, knob.name: level}
        # both of its readings must be affordable
        if self._meter.affordable < self._reserve(candidate) + 2:
            return False
        tried.add(level)
        bar = fmean(self.known)
        first = self._meter.log(candidate, "refine")
        if first is None or first < bar + FIRST:
            return False
        again = self._meter.log(candidate, "refine")
        if again is None or min(first, again) < bar + AGAIN:
            return False
        self.best, self.known = candidate, [first, again]
        return True


def _neighbours(knob: TunerKnob, level: Level, tried: set[Level]) -> list[Level]:
    """The levels beside an ordered one, all others of a category, without those that were tried."""
    place = knob.levels.index(level)
    beside = [place + 1, place - 1] if knob.ordered else range(len(knob.levels))
    found = [knob.levels[one] for one in beside if 0 <= one < len(knob.levels)]
    return [one for one in found if one != level and one not in tried]
