# SPDX-License-Identifier: Apache-2.0
"""A screen is balanced: each knob has each of its two levels as often as the other, against every other knob."""

from itertools import combinations, pairwise

import pytest

from millrace.measure.tuner.model import Level, TunerKnob
from millrace.measure.tuner.search.design import alternative, design, plan_of
from tests.unit.measure.tuner.readings import knob


def knobs(count: int) -> list[TunerKnob]:
    return [knob(f"k{number}", [0, 1, 2], 1, 0) for number in range(count)]


@pytest.mark.parametrize(("count", "runs"), [(1, 16), (8, 16), (13, 16), (15, 16), (16, 32)])
def test_screen_is_balanced(count: int, runs: int) -> None:
    found = design(knobs(count)).runs
    assert len(found) == runs
    for one, two in combinations([f"k{number}" for number in range(count)], 2):
        pairs = [(run[one], run[two]) for run in found]
        assert {pairs.count(pair) for pair in [(0, 0), (0, 1), (1, 0), (1, 1)]} == {runs // 4}


def test_no_joint_effect_of_two_is_mixed_with_one_of_eight_knobs() -> None:
    signs = {name: [1 if run[name] else -1 for run in design(knobs(8)).runs] for name in plan_of(knobs(8))}
    mixed = [
        sum(a * b * c for a, b, c in zip(signs[one], signs[two], signs[three], strict=True))
        for one, two, three in combinations(signs, 3)
    ]
    assert mixed == [0] * 56


def test_first_run_is_the_plan() -> None:
    assert design(knobs(5)).runs[0] == plan_of(knobs(5))


def test_no_knob_follows_the_time() -> None:
    for column in range(1, 16):
        signs = [1 if sign else -1 for sign in design(knobs(15)).signs(column)]
        # the largest possible is 64: one level in the first half, the other in the second
        assert abs(sum(sign * (place - 7.5) for place, sign in enumerate(signs))) <= 32


def test_costly_knob_changes_least() -> None:
    some = [*knobs(6), knob("nfsd", [8, 64], 64, 8, cost="link"), knob("cache", [1, 2], 2, 1, cost="pause")]
    runs = design(some).runs
    changes = {one.name: sum(a[one.name] != b[one.name] for a, b in pairwise(runs)) for one in some}
    assert changes["nfsd"] == 1
    assert changes["cache"] == 2
    assert min(changes[f"k{number}"] for number in range(6)) > 2


@pytest.mark.parametrize(
    ("levels", "planned", "default", "ordered", "other"),
    [
        ([1, 2, 4, 8], 8, 1, True, 1),
        ([1, 2, 4, 8], 1, 1, True, 4),
        ([1, 2, 4, 8], 8, 8, True, 2),
        ([1, 2], 2, 2, True, 1),
        (["a", "b", "c"], "c", "c", False, "a"),
    ],
)
def test_plan_is_screened_against_another_level(
    levels: list[Level], planned: Level, default: Level, ordered: bool, other: Level
) -> None:
    assert alternative(knob("one", levels, planned, default, ordered)) == other
