# SPDX-License-Identifier: Apache-2.0
"""A forecast of the capacity follows no single day, and says where it knows nothing."""

import pytest

from millrace.observe.history.forecast import FEWEST, forecast
from millrace.observe.history.series import DAY, HOUR

TB = 10**12
NOW = 20_000 * DAY + 12 * HOUR


def growing(days: int, by_day: float, start: float = 10 * TB) -> dict[int, float]:
    return {NOW - (days - 1 - day) * DAY: start + day * by_day for day in range(days)}


def test_few_days_are_not_enough() -> None:
    result = forecast(growing(FEWEST - 1, TB), 100 * TB, NOW)
    assert (result.bytes_per_day, result.full_in_days) == (None, None)
    assert result.sentence == "There is not enough history for a forecast: it needs 7 days, and has 6."


def test_steady_growth_ends_on_a_day() -> None:
    result = forecast(growing(30, TB), 100 * TB, NOW)
    assert (result.bytes_per_day, result.full_in_days) == (TB, pytest.approx(61))
    assert result.sentence == (
        "The pool grows by 1 TB a day and is full on 2024-12-04, between 2024-12-04 and 2024-12-04. "
        "This is from 30 days."
    )


def test_data_set_that_was_copied_on_one_day_is_not_growth() -> None:
    used = growing(60, TB / 10)
    jumped = {at: value + (30 * TB if at > NOW - DAY else 0) for at, value in used.items()}
    result = forecast(jumped, 100 * TB, NOW)
    assert result.bytes_per_day == pytest.approx(TB / 10)
    assert result.full_in_days == pytest.approx((100 - 10 - 5.9 - 30) * 10)


def test_uneven_growth_has_a_range() -> None:
    used = {at: value + (index * 7919 % 13) * TB / 4 for index, (at, value) in enumerate(growing(40, TB / 2).items())}
    result = forecast(used, 100 * TB, NOW)
    assert result.earliest is not None and result.full_in_days is not None and result.latest is not None
    assert result.earliest < result.full_in_days < result.latest


@pytest.mark.parametrize(("by_day", "words"), [(0.0, "does not grow"), (-TB, "does not grow"), (1e6, "ten years")])
def test_pool_that_does_not_fill_has_no_day(by_day: float, words: str) -> None:
    result = forecast(growing(14, by_day, 50 * TB), 100 * TB, NOW)
    assert result.full_in_days is None and words in result.sentence


def test_values_from_a_clock_that_was_ahead_do_not_count() -> None:
    ahead = {NOW + day * DAY: 99.0 * TB for day in range(1, 20)}
    assert forecast(ahead, 100 * TB, NOW).days == 0
