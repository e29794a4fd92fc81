# SPDX-License-Identifier: Apache-2.0
"""The guard: candidate, plan and default in turn; the plan stays unless the candidate is better beyond noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from millrace.measure.tuner.model import Combination, ScoredReading, Side, Standing
from millrace.measure.tuner.search.meter import Meter
from millrace.measure.tuner.search.statistics import clipped, gain, paired

ROUNDS, MOST = 3, 12
"""Rounds at least, and at most where the difference is not yet beyond noise."""
WORTH = math.log(1.03)
"""A smaller gain (as a logarithm) is not worth leaving the plan."""


@dataclass(frozen=True)
class Guarded:
    """The candidate's gain over the plan's settings and its noise, as logarithms; None where it could not be measured.

    `failed` is why.
    """

    gain: float | None
    noise: float | None
    rounds: int
    standings: list[Standing]
    failed: str | None = None

    @property
    def kept(self) -> bool:
        """Whether the candidate is better beyond noise and worth it."""
        return self.gain is not None and self.noise is not None and self.gain > max(self.noise, WORTH)


def sides(candidate: Combination, plan: Combination, default: Combination) -> dict[Side, Combination]:
    """Return what is compared: each different combination once, the plan always."""
    found: dict[Side, Combination] = {"plan": plan}
    if candidate != plan:
        found = {"candidate": candidate, **found}
    if default not in found.values():
        found["default"] = default
    return found


def guard(compared: dict[Side, Combination], meter: Meter) -> Guarded:
    """Measure the sides in rounds, every other one backwards, until the difference is beyond noise or time is up."""
    taken: dict[Side, list[ScoredReading]] = {side: [] for side in compared}
    comparison = Guarded(None, None, 0, [])
    while meter.affordable >= len(compared) and (comparison.rounds < ROUNDS or _undecided(comparison)):
        order = list(compared) if comparison.rounds % 2 == 0 else list(compared)[::-1]
        for side in order:
            taken[side].append(meter.take(compared[side], "guard"))
        comparison = _compare(compared, taken)
        if comparison.failed:
            break
    return comparison


def _undecided(found: Guarded) -> bool:
    if found.gain is None or found.noise is None or found.rounds >= MOST:
        return False
    return found.gain <= found.noise and found.gain + found.noise > WORTH


def _compare(compared: dict[Side, Combination], taken: dict[Side, list[ScoredReading]]) -> Guarded:
    rounds = len(taken["plan"])
    standings = _standings(compared, taken)
    # a candidate that fails once, or is ended for being slow, has lost; the default need not even work
    for side in ("candidate", "plan"):
        bad = [reading for reading in taken.get(side, []) if reading.score is None]
        if bad:
            why = (bad[0].reason or "a figure is missing").rstrip(".")
            return Guarded(None, None, rounds, standings, f"the {side}'s settings failed once in the guard: {why}")
    logs = {side: _logs(readings) for side, readings in taken.items() if all(reading.score for reading in readings)}
    if "candidate" not in logs or rounds < ROUNDS:
        return Guarded(None, None, rounds, standings)
    ordered = [logs["candidate"], logs["plan"], *(log for side, log in logs.items() if side == "default")]
    difference, noise = paired(ordered)
    return Guarded(difference, noise, rounds, standings)


def _logs(readings: Sequence[ScoredReading]) -> list[float]:
    return clipped([math.log(one.score) for one in readings if one.score])


def _standings(compared: dict[Side, Combination], taken: dict[Side, list[ScoredReading]]) -> list[Standing]:
    middle = {side: _middle(readings) for side, readings in taken.items()}
    plan = middle["plan"]
    return [
        Standing(
            side=side,
            combination=compared[side],
            figures=_figures(readings),
            score=None if plan is None or (mine := middle[side]) is None else gain(mine - plan) + 1,
            readings=len(readings),
        )
        for side, readings in taken.items()
    ]


def _middle(readings: Sequence[ScoredReading]) -> float | None:
    known = [math.log(one.score) for one in readings if one.score]
    return median(known) if known else None


def _figures(readings: Sequence[ScoredReading]) -> dict[str, float]:
    known = [one.figures for one in readings if one.score]
    return {name: median(one[name] for one in known) for name in known[0]} if known else {}
