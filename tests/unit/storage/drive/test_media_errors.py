# SPDX-License-Identifier: Apache-2.0
"""Media errors are counted from the day on which a drive came, and stay new for a month."""

from datetime import date, timedelta

from millrace.storage.drive import media_errors

DAY = date(2026, 11, 1)


def test_an_error_is_new_for_a_month_and_the_growth_is_counted_from_the_first_day() -> None:
    counters = media_errors.count(media_errors.Counters(drives=[]), {"S1": 5}, DAY)
    grown = media_errors.count(counters, {"S1": 6}, DAY + timedelta(days=90))
    assert list(media_errors.recent(grown, DAY + timedelta(days=120))) == ["S1"]
    assert media_errors.recent(grown, DAY + timedelta(days=121)) == {}
    [again] = media_errors.count(grown, {"S1": 8}, DAY + timedelta(days=200)).drives
    assert (again.first, again.last, again.first_seen) == (5, 8, "2026-11-01")


def test_an_error_of_a_clock_that_was_years_ahead_is_new_for_a_month_only() -> None:
    counters = media_errors.count(media_errors.Counters(drives=[]), {"S1": 5}, DAY)
    ahead = media_errors.count(counters, {"S1": 6}, DAY + timedelta(days=3650))
    right = media_errors.count(ahead, {"S1": 6}, DAY + timedelta(days=1))
    assert list(media_errors.recent(right, DAY + timedelta(days=31))) == ["S1"]
    later = media_errors.count(right, {"S1": 6}, DAY + timedelta(days=32))
    assert media_errors.recent(later, DAY + timedelta(days=32)) == {}


def test_a_count_that_went_down_begins_again() -> None:
    counters = media_errors.count(media_errors.Counters(drives=[]), {"S1": 5}, DAY)
    [one] = media_errors.count(counters, {"S1": 2}, DAY).drives
    assert (one.first, one.grown) == (2, None)


def test_drives_that_left_long_ago_are_forgotten_first() -> None:
    counters = media_errors.Counters(drives=[])
    for number in range(media_errors.KEPT + 10):
        counters = media_errors.count(counters, {"HERE": 1, f"S{number}": 1}, DAY + timedelta(days=number))
    kept = {one.serial for one in counters.drives}
    assert len(kept) == media_errors.KEPT and "HERE" in kept and "S10" not in kept and "S11" in kept
