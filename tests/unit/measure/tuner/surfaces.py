# SPDX-License-Identifier: Apache-2.0
"""A simulated noisy server: the surfaces of the comparison of tuners, 13 mixed parameters.

Log weights of the parameters, four interactions among the six that matter most, a ceiling 0.10 below the optimum;
5 % outliers (×0.7 to ×0.9) and an AR(1) drift of the readings. The preset is right in each parameter 60 % of the time.
"""

import math
from random import Random

from millrace.measure.tuner.model import Combination, Effect, Goal, MeasuredCombination, Phase, ScoredReading, TunerKnob

LEVELS = (6, 5, 5, 5, 3, 3, 3, 3, 3, 4, 3, 2, 3)
CATEGORIES = frozenset({4, 7, 9, 11, 12})
WEIGHTS = (0.45, 0.30, 0.20, 0.12, 0.07, 0.04, 0.03, 0.02, 0.01, 0.01, 0.005, 0.005, 0.0)
GOALS = [Goal(name="seq-read", title="sequential reads", weight=1.0, unit="bytes/s")]
EACH = 75.0
"""Seconds of a reading."""


class Surface:
    """One server. `true` is without noise; `measure` and `time_left` are what the tuner sees."""

    def __init__(self, seed: int, noise: float, runs: int, right: float = 0.6) -> None:
        self._random = random = Random(seed)
        self._noise = noise
        self._left = runs * EACH
        self._drift = 0.0
        self.loss: list[list[float]] = []
        self.weights = random.sample(WEIGHTS, len(WEIGHTS))
        self.knobs = [self._knob(number, right) for number in range(len(LEVELS))]
        six = sorted(range(len(LEVELS)), key=lambda number: -self.weights[number])[:6]
        pairs = random.sample([(number, two) for number in six for two in six if number < two], 4)
        self._joint = {pair: random.gauss(0, 0.05) for pair in pairs}
        self._ceiling = self._optimum(six) - 0.10

    def _knob(self, number: int, right: float) -> TunerKnob:
        random, count, weight = self._random, LEVELS[number], self.weights[number]
        best = random.randrange(count)
        if number in CATEGORIES:
            losses = [0.0 if level == best else weight * random.random() for level in range(count)]
        else:
            reach = max(best, count - 1 - best)
            losses = [weight * (abs(level - best) / reach) ** 2 for level in range(count)]
        self.loss.append(losses)
        others = [level for level in range(count) if level != best]
        # an expert who errs is often not far off; a default was once right for another kind of server
        near = [level for level in others if number in CATEGORIES or abs(level - best) == 1]
        planned = best if random.random() < right else random.choice(near if random.random() < 0.4 else others)
        default = max(random.choices(others, k=2), key=lambda level: losses[level])
        return TunerKnob(
            name=f"k{number}",
            title=f"knob {number}",
            setting=f"/sys/k{number}",
            levels=list(range(count)),
            ordered=number not in CATEGORIES,
            default=default,
            planned=planned,
            cost="none",
        )

    def _optimum(self, six: list[int]) -> float:
        """The best of all by climbing from several places: additive but for the interactions."""
        best = -math.inf
        for start in range(12):
            random = Random(start)
            at = [random.randrange(count) if number in six else 0 for number, count in enumerate(LEVELS)]
            for number in set(range(len(LEVELS))) - set(six):
                at[number] = self.loss[number].index(0.0)
            while True:
                moves = [[*at[:n], level, *at[n + 1 :]] for n in six for level in range(LEVELS[n])]
                top = max(moves, key=self._raw)
                if self._raw(top) <= self._raw(at) + 1e-12:
                    break
                at = top
            best = max(best, self._raw(at))
        return best

    def _raw(self, at: list[int]) -> float:
        total = -sum(losses[level] for losses, level in zip(self.loss, at, strict=True))
        place = [level / (count - 1) for level, count in zip(at, LEVELS, strict=True)]
        return total + sum(size * place[one] * place[two] for (one, two), size in self._joint.items())

    def true(self, combination: Combination) -> float:
        """The logarithm of its speed relative to the best one: 0 or less."""
        at = [int(combination[knob.name]) for knob in self.knobs]
        return min(self._raw(at) - self._ceiling, 0.0)

    def measure(self, combination: Combination) -> MeasuredCombination:
        """Measure with noise, outliers and drift."""
        random = self._random
        self._left -= EACH
        self._drift = 0.9 * self._drift + random.gauss(0, 0.01)
        value = self.true(combination) + self._drift + random.gauss(0, self._noise)
        if random.random() < 0.05:
            value += math.log(random.uniform(0.7, 0.9))
        return MeasuredCombination(
            started="2026-01-01T00:00:00Z", seconds=EACH, figures={"seq-read": 1e9 * math.exp(value)}
        )

    def time_left(self) -> float:
        """Seconds of the budget that are left."""
        return self._left


class Kept:
    """Notes that are kept."""

    def __init__(self) -> None:
        self.begun: list[tuple[Combination, Phase]] = []
        self.readings: list[ScoredReading] = []
        self.table: list[Effect] = []

    def begins(self, combination: Combination, phase: Phase) -> None:
        self.begun.append((combination, phase))

    def reading(self, one: ScoredReading) -> None:
        self.readings.append(one)

    def effects(self, found: list[Effect]) -> None:
        self.table = found
