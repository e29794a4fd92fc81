# SPDX-License-Identifier: Apache-2.0
"""What a clock that was wrong has stored is of no known age: never young, and never of a year to come."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from millrace.system import ages

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ("2026-11-19T12:00:00+00:00", DAY),
        ("2026-11-19T14:00:00+02:00", DAY),
        ("2026-11-19T12:00:00", DAY),
        ((NOW - DAY).timestamp(), DAY),
        ((NOW - DAY).astimezone(timezone(timedelta(hours=-8))), DAY),
        # a time client steps a clock back by seconds
        ("2026-11-20T12:01:59+00:00", timedelta()),
        ("2026-11-20T12:02:01+00:00", None),
        ("2069-01-01T00:00:00+00:00", None),
        ("1970-01-01T00:10:00+00:00", None),
        ("2024-12-31T23:59:59+00:00", None),
        ("2025-01-01T00:00:00+00:00", NOW - ages.EARLIEST),
    ],
)
def test_age_is_known_or_not(stored: ages.Stored, expected: timedelta | None) -> None:
    assert ages.age(stored, NOW) == expected


def test_age_is_that_of_now_by_default() -> None:
    age = ages.age(datetime.now(UTC) - timedelta(hours=1))
    assert age is not None and timedelta(hours=1) <= age < timedelta(hours=1, minutes=1)


def test_clock_that_is_behind_itself_still_tells_ages() -> None:
    """Started in 1970, all that is recorded in this boot has an age, and what was recorded before has none."""
    now = datetime(1970, 1, 1, 1, tzinfo=UTC)
    assert ages.age("1970-01-01T00:30:00+00:00", now) == timedelta(minutes=30)
    assert ages.age("2026-11-20T12:00:00+00:00", now) is None


@pytest.mark.parametrize("text", ["", "yesterday", "0001-01-01T00:00:00+14:00", 1e30])
def test_what_is_no_time_is_an_error(text: ages.Stored) -> None:
    with pytest.raises(ValueError):
        ages.age(text, NOW)


@pytest.mark.parametrize(
    ("hours", "recent"), [(0, True), (-23, True), (23, True), (-24, False), (24, False), (24 * 15739, False)]
)
def test_recent_is_what_is_near_in_both_directions(hours: int, recent: bool) -> None:
    assert ages.is_recent(NOW + timedelta(hours=hours), DAY, NOW) is recent


@pytest.mark.parametrize(("seconds", "ahead"), [(-1, False), (120, False), (121, True)])
def test_time_to_come_is_ahead(seconds: int, ahead: bool) -> None:
    at = NOW + timedelta(seconds=seconds)
    assert ages.is_ahead(at, NOW) is ahead
    assert ages.why_unknown(at, NOW) == f"the clock was {'ahead' if ahead else 'behind'} at that time"


def test_until_is_negative_afterwards() -> None:
    assert ages.until("2026-11-21T12:00:00+00:00", NOW) == DAY
    assert ages.until("2026-11-19T12:00:00+00:00", NOW) == -DAY
