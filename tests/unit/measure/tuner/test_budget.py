# SPDX-License-Identifier: Apache-2.0
"""A budget is enough for one screen with its comparison, or it is refused."""

import pytest

from millrace.measure.tuner.search.budget import check, fewest
from millrace.system.errors import BadInput
from tests.unit.measure.tuner.readings import knob

KNOBS = [knob("threads", [8, 16, 32], 16, 8), knob("ahead", [1, 2], 2, 1)]


def test_screen_and_comparison_are_the_least() -> None:
    assert fewest(KNOBS) == 1 + 16 + 9


def test_plan_that_is_the_default_is_compared_once() -> None:
    assert fewest([knob("threads", [8, 16, 32], 8, 8)]) == 1 + 16 + 6


def test_short_budget_names_the_minutes_needed() -> None:
    check(KNOBS, 26 * 60, 60)
    with pytest.raises(BadInput) as caught:
        check(KNOBS, 26 * 60 - 1, 60)
    assert str(caught.value) == (
        "A budget of 25 minutes is shorter than one screen of 2 settings, which takes 26 minutes with its comparison; "
        "give --budget 26m or more."
    )


def test_server_without_settings_has_nothing_to_tune() -> None:
    with pytest.raises(BadInput, match="nothing to tune"):
        check([], 3600, 60)
