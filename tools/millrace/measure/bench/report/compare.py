# SPDX-License-Identifier: Apache-2.0
"""Two runs side by side: what is faster, what is slower, and whether the difference is significant. Pure."""

import random
from collections.abc import Sequence
from statistics import median
from typing import Literal

from millrace.measure.bench.result.model import BenchRun, BenchState, Quantity, Series
from millrace.system.documents import Contract
from millrace.system.errors import Refused

LEAST = 0.03
"""A smaller change is never called one."""
ROUNDS = 2000
INTERVAL = 0.95

Verdict = Literal["faster", "slower", "same"]


class FigureChange(Contract):
    """One quantity of one rung: medians, `ratio` = second ÷ first with its 95 % bootstrap interval.

    `noise` is twice the median distance from the median, as a part of it; the larger one of both runs.
    """

    rung: str
    quantity: Quantity
    direction: str
    first: float
    second: float
    repeats: int
    ratio: float
    low: float
    high: float
    noise: float
    verdict: Verdict


class Comparison(Contract):
    """`millrace bench compare A B --json`. `incomparable` are rungs that only one run has, or whose work differs."""

    schema_version: Literal[1] = 1
    first: str
    second: str
    labels: list[str]
    changes: list[FigureChange]
    incomparable: list[str]


def compare(first: BenchRun, second: BenchRun) -> Comparison:
    """Compare rung by rung. Refused: the two runs have no work in common."""
    before = {rung.id: rung for rung in first.rungs if rung.state is BenchState.DONE}
    after = {rung.id: rung for rung in second.rungs if rung.state is BenchState.DONE}
    same = [name for name in before if name in after and before[name].workload.sha256 == after[name].workload.sha256]
    if not same:
        raise Refused(f"{first.id} and {second.id} did not do the same work anywhere: no comparison is possible")
    changes = [
        change(name, series, other)
        for name in same
        for series in before[name].series
        if (other := after[name].find(series.quantity, series.direction)) is not None and series.median > 0
    ]
    differ = [f"only one of them is {label}" for label in sorted(set(first.labels) ^ set(second.labels))]
    left = [name for name in dict.fromkeys([*before, *after]) if name not in same]
    return Comparison(first=first.id, second=second.id, labels=differ, changes=changes, incomparable=left)


def change(rung: str, first: Series, second: Series) -> FigureChange:
    """Compare one quantity of both runs."""
    ratio = second.median / first.median
    low, high = interval(first.values, second.values)
    noise = max(_noise(first.values), _noise(second.values))
    real = abs(ratio - 1) > max(LEAST, noise) and not low <= 1 <= high
    verdict: Verdict = "same" if not real else "faster" if ratio > 1 else "slower"
    return FigureChange(
        rung=rung,
        quantity=first.quantity,
        direction=first.direction,
        first=first.median,
        second=second.median,
        repeats=min(len(first.values), len(second.values)),
        ratio=ratio,
        low=low,
        high=high,
        noise=noise,
        verdict=verdict,
    )


def interval(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return the bootstrap interval of the ratio of medians, `second` ÷ `first`; the same for the same figures."""
    chance = random.Random(0)
    ratios = []
    for _ in range(ROUNDS):
        below = median(chance.choices(first, k=len(first)))
        ratios.append(median(chance.choices(second, k=len(second))) / below if below else 1.0)
    ratios.sort()
    edge = int((1 - INTERVAL) / 2 * ROUNDS)
    return ratios[edge], ratios[-1 - edge]


def _noise(values: Sequence[float]) -> float:
    middle = median(values)
    return 2 * median(abs(value - middle) for value in values) / middle if middle else 0.0
