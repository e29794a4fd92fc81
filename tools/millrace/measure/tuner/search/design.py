# SPDX-License-Identifier: Apache-2.0
"""The screen: a balanced design of two levels for each knob, the plan's and another. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.measure.tuner.model import Combination, Cost, Level, TunerKnob
from millrace.measure.tuner.search.statistics import contrast

SMALLEST = 16
"""Runs of a screen; fewer average too little noise away."""
_COSTS: dict[Cost, int] = {"restart": 0, "link": 0, "pause": 1, "none": 2}


@dataclass(frozen=True)
class Design:
    """The runs of a screen in their order: `rows` of the matrix, and the column of each knob."""

    knobs: list[TunerKnob]
    rows: list[int]
    columns: list[int]

    @property
    def runs(self) -> list[Combination]:
        """The combinations to measure."""
        placed = list(zip(self.knobs, self.columns, strict=True))
        return [
            {knob.name: knob.planned if _sign(row, column) else alternative(knob) for knob, column in placed}
            for row in self.rows
        ]

    def signs(self, column: int) -> list[bool]:
        """Return for each run whether the knob of a column has the plan's level."""
        return [_sign(row, column) for row in self.rows]

    def effects(self, values: Sequence[float]) -> dict[str, float]:
        """Return what the plan's level of each knob gains over the other one."""
        placed = zip(self.knobs, self.columns, strict=True)
        return {knob.name: contrast(values, self.signs(column)) for knob, column in placed}

    def contrasts(self, values: Sequence[float]) -> list[float]:
        """Return the effects of all columns, also of those without a knob."""
        return [contrast(values, self.signs(column)) for column in range(1, len(self.rows))]

    def residual(self, values: Sequence[float]) -> float:
        """Return the sum of squares that no knob explains; it has as many degrees of freedom as columns are left."""
        free = set(range(1, len(self.rows))) - set(self.columns)
        return sum(contrast(values, self.signs(column)) ** 2 for column in free) * len(self.rows) / 4


def plan_of(knobs: Sequence[TunerKnob]) -> Combination:
    """Return every knob at the plan's level."""
    return {knob.name: knob.planned for knob in knobs}


def default_of(knobs: Sequence[TunerKnob]) -> Combination:
    """Return every knob at the kernel's default."""
    return {knob.name: knob.default for knob in knobs}


def alternative(knob: TunerKnob) -> Level:
    """Return what the plan's level is screened against.

    The kernel's default; where the plan has that, a level half the range away, or the next category.
    """
    if knob.default != knob.planned:
        return knob.default
    place, count = knob.levels.index(knob.planned), len(knob.levels)
    if not knob.ordered:
        return knob.levels[(place + 1) % count]
    half = max(count // 2, 1)
    return knob.levels[place + half if place + half < count else place - half]


def size(knobs: int) -> int:
    """Return how many runs a screen of so many knobs has: a power of two, at least 16."""
    runs = SMALLEST
    while runs <= knobs:
        runs *= 2
    return runs


def design(knobs: Sequence[TunerKnob]) -> Design:
    """Return a screen of all knobs; the knobs that interrupt most change least, and the first run is the plan's."""
    return design_of(knobs, size(len(knobs)))


def design_of(knobs: Sequence[TunerKnob], runs: int) -> Design:
    """Return a design of `runs` runs, a power of two above the number of knobs.

    Columns of a Sylvester-Hadamard matrix. Those of an odd number of bits come first: as long as they last (half as
    many as runs), no knob's effect is mixed with the joint effect of two others.
    """
    dearest = sorted(knobs, key=lambda knob: _COSTS[knob.cost])
    columns = dict(zip((knob.name for knob in dearest), _columns(runs), strict=False))
    costly = [columns[knob.name] for knob in dearest if knob.cost != "none"]
    # the rest in an order in which no knob's levels follow the time: the server drifts
    stride = runs // 4 + 1
    rows = sorted(range(runs), key=lambda row: (_gray([_sign(row, column) for column in costly]), row * stride % runs))
    return Design(list(knobs), rows, [columns[knob.name] for knob in knobs])


def _columns(runs: int) -> list[int]:
    """Single bits, the highest first, then other odd numbers of bits, then even ones."""
    found = range(1, runs)
    return sorted(found, key=lambda column: (column.bit_count() != 1, column.bit_count() % 2 == 0, -column))


def _sign(row: int, column: int) -> bool:
    return (row & column).bit_count() % 2 == 0


def _gray(signs: list[bool]) -> int:
    """The place of these levels in an order where neighbours differ in one of them, the last ones oftenest."""
    place = bit = 0
    for sign in signs:
        bit ^= not sign
        place = place * 2 + bit
    return place
