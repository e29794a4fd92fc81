# SPDX-License-Identifier: Apache-2.0
"""The day on which a drive is worn out comes from the days on which its wear rose, and is unknown before."""

from datetime import date, timedelta

import pytest

from millrace.storage.drive import wear
from millrace.storage.drive.wear import WearStep, ends, stepped

DAY = date(2026, 1, 1)


def after(days: int) -> date:
    return DAY + timedelta(days=days)


def steps(*found: tuple[int, int]) -> list[WearStep]:
    """Pairs of a day and the percentage since."""
    return [WearStep(percent=percent, day=after(day)) for day, percent in found]


def test_only_a_new_percentage_is_a_step() -> None:
    found = stepped([], 3, DAY)
    found = stepped(found, 3, after(1))
    found = stepped(found, None, after(2))
    assert stepped(found, 5, after(3)) == steps((0, 3), (3, 5))


def test_a_drive_that_is_less_worn_than_before_begins_again() -> None:
    assert stepped(steps((0, 50), (9, 51)), 2, after(20)) == steps((20, 2))


def test_the_latest_steps_are_kept() -> None:
    found: list[WearStep] = []
    for percent in range(60):
        found = stepped(found, percent, after(percent))
    assert (len(found), found[-1].percent) == (wear.KEPT, 59)


@pytest.mark.parametrize(
    ("found", "today", "end"),
    [
        # 1 % in 30 days, 10 % are left at day 90
        (steps((0, 88), (60, 89), (90, 90)), 95, 90 + 300),
        # the first sight is no step: when that percent began is not known
        (steps((0, 88), (60, 89)), 95, None),
        (steps((0, 88)), 95, None),
        ([], 95, None),
        # a burst of a week, then nothing for 80 days: less than 3 % in 90 days, 8 % are left at day 30
        (steps((0, 89), (20, 90), (25, 91), (30, 92)), 110, 30 + 240),
        # what was a year ago is not today's rate
        (steps((0, 10), (1, 20), (2, 30), (100, 31)), 420, None),
        (steps((0, 10), (1, 20), (400, 31), (410, 32)), 411, 410 + 680),
        # several percent in one day: no rate
        (steps((0, 10), (5, 20), (5, 21)), 5, None),
        (steps((0, 98), (5, 99), (10, 100)), 12, None),
        (steps((0, 98), (5, 99), (10, 104)), 12, None),
    ],
)
def test_the_end_is_reached_at_the_rate_of_the_last_year(found: list[WearStep], today: int, end: int | None) -> None:
    assert ends(found, after(today)) == (None if end is None else after(end))


def test_a_clock_that_went_back_gives_no_date() -> None:
    assert ends(steps((0, 88), (60, 89), (90, 90)), after(30)) is None


def test_a_day_of_a_clock_that_was_years_ahead_hides_no_end() -> None:
    found = steps((0, 86), (3650, 87), (40, 88), (70, 89), (100, 90))
    assert ends(found, after(105)) == after(100 + 300)
