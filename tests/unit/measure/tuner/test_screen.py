# SPDX-License-Identifier: Apache-2.0
"""The screen moves a setting to the better of two levels; without a confirmation only where that is proven."""

from millrace.measure.tuner.model import Effect
from millrace.measure.tuner.search.screen import preferred


def effect(knob: str, gain: float, matters: bool) -> Effect:
    return Effect(knob=knob, planned=1, other=2, effect=gain, noise=0.05, matters=matters)


TABLE = [effect("proven", -0.2, True), effect("likely", -0.04, False), effect("tiny", -0.01, False)]
PLAN = {"proven": 1, "likely": 1, "tiny": 1}


def test_likely_gain_is_a_candidate_where_it_will_be_confirmed() -> None:
    assert preferred(PLAN, TABLE, only_proven=False) == {"proven": 2, "likely": 2, "tiny": 1}


def test_only_a_proven_gain_is_one_otherwise() -> None:
    assert preferred(PLAN, TABLE, only_proven=True) == {"proven": 2, "likely": 1, "tiny": 1}


def test_level_of_the_plan_stays_where_it_is_better() -> None:
    assert preferred({"good": 1}, [effect("good", 0.5, True)], only_proven=False) == {"good": 1}
