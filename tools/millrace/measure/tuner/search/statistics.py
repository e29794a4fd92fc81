# SPDX-License-Identifier: Apache-2.0
"""What is beyond chance: outliers clipped, effects and their noise. Logarithms of scores throughout. Pure."""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, median

CLIP = 3 * 1.4826
"""Medians of the absolute deviation, below the median: three standard deviations of normal noise."""
NARROWEST = 0.05
"""What is never clipped: a screen whose results are nearly all equal has a deviation of nothing."""
_T95 = (6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812,
        1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725)  # fmt: skip
"""Student's t, one-sided 95 %, for 1 to 20 degrees of freedom."""


def clipped(values: Sequence[float | None]) -> list[float]:
    """Return the values with outliers below raised to the clip; None (failed) is below everything.

    A server is slowed down by what else it does, never sped up: only low values are outliers.
    """
    known = [value for value in values if value is not None]
    if not known:
        return []
    middle = median(known)
    deviation = median(abs(value - middle) for value in known)
    floor = middle - max(CLIP * deviation, NARROWEST)
    return [floor if value is None else max(value, floor) for value in values]


def contrast(values: Sequence[float], signs: Sequence[bool]) -> float:
    """Return the mean of the values with the sign, less that of the others."""
    return fmean(v for v, sign in zip(values, signs, strict=True) if sign) - fmean(
        v for v, sign in zip(values, signs, strict=True) if not sign
    )


def chance(contrasts: Sequence[float]) -> float:
    """Return how large a contrast is by chance, from all contrasts of a design: few of them are effects.

    Lenth's pseudo standard error (Technometrics 31, 1989), one-sided 95 % with a third as many degrees of freedom.
    """
    sizes = [abs(one) for one in contrasts]
    first = 1.5 * median(sizes)
    small = [one for one in sizes if one <= 2.5 * first]
    return quantile(len(sizes) // 3) * 1.5 * median(small)


def repeats(groups: Iterable[Sequence[float]]) -> tuple[float, int]:
    """Return the sum of squares of repeated readings about their means, and its degrees of freedom."""
    several = [group for group in groups if len(group) > 1]
    squares = math.fsum((value - fmean(group)) ** 2 for group in several for value in group)
    return squares, sum(len(group) - 1 for group in several)


def together(one: Sequence[float], two: Sequence[float]) -> list[float]:
    """Return the means of pairs of readings; a reading far below its twin, as pairs go, is raised."""
    usual = max(CLIP * median(abs(a - b) for a, b in zip(one, two, strict=True)), NARROWEST)
    return [fmean((max(a, b - usual), max(b, a - usual))) for a, b in zip(one, two, strict=True)]


def gain(log: float) -> float:
    """Return a difference of logarithms as a part of 1: 0.03 is 3 % more."""
    return math.expm1(log)


def percent(log: float) -> str:
    """Return the amount of a difference of logarithms in words: `3.0 %`."""
    return f"{abs(100 * gain(log)):.1f} %"


def quantile(freedom: int) -> float:
    """Return Student's t for one-sided 95 %."""
    return _T95[min(max(freedom, 1), len(_T95)) - 1]


def paired(sides: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the first side's mean gain over the second, and what it may be by chance.

    `sides` are readings of the same rounds, at least two. What is common to a round (drift) and to a side is taken out;
    what remains is the deviation of one reading. It counts one-sided at 95 %.
    """
    rounds = len(sides[0])
    means = [fmean(side) for side in sides]
    of_round = [fmean(column) for column in zip(*sides, strict=True)]
    whole = fmean(means)
    rest = [
        value - mean - of_round[number] + whole
        for side, mean in zip(sides, means, strict=True)
        for number, value in enumerate(side)
    ]
    freedom = (len(sides) - 1) * (rounds - 1)
    deviation = math.sqrt(math.fsum(residue * residue for residue in rest) / freedom)
    return means[0] - means[1], quantile(freedom) * deviation * math.sqrt(2 / rounds)
