# SPDX-License-Identifier: Apache-2.0
"""The window of a policy: when it is open, and when it opens next."""

from datetime import UTC, datetime

import pytest

from millrace.plan.policy.window import parse_window


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# The 22nd of November 2026 is a Sunday.
@pytest.mark.parametrize(
    ("window", "now", "is_open"),
    [
        ("Sun 01:00-07:00", "2026-11-22T00:59", False),
        ("Sun 01:00-07:00", "2026-11-22T01:00", True),
        ("Sun 01:00-07:00", "2026-11-22T06:59", True),
        ("Sun 01:00-07:00", "2026-11-22T07:00", False),
        ("Sun 01:00-07:00", "2026-11-23T02:00", False),
        ("daily 01:00-07:00", "2026-11-24T02:00", True),
        ("Sun 22:00-04:00", "2026-11-22T21:00", False),
        ("Sun 22:00-04:00", "2026-11-23T03:00", True),
        ("Sun 22:00-04:00", "2026-11-22T03:00", False),
        ("Sun 00:00-00:00", "2026-11-22T23:59", True),
    ],
)
def test_window_is_open_between_its_times(window: str, now: str, is_open: bool) -> None:
    assert (parse_window(window).open_at(at(now)) is not None) is is_open


def test_window_across_midnight_closes_the_day_after() -> None:
    assert parse_window("Sun 22:00-04:00").open_at(at("2026-11-23T03:00")) == (
        at("2026-11-22T22:00"),
        at("2026-11-23T04:00"),
    )


@pytest.mark.parametrize(
    ("window", "now", "opens"),
    [
        ("Sun 01:00-07:00", "2026-11-22T00:00", "2026-11-22T01:00"),
        ("Sun 01:00-07:00", "2026-11-22T01:00", "2026-11-29T01:00"),
        ("daily 01:00-07:00", "2026-11-22T02:00", "2026-11-23T01:00"),
    ],
)
def test_next_opening_is_after_now(window: str, now: str, opens: str) -> None:
    assert parse_window(window).next_opening(at(now)) == at(opens)


@pytest.mark.parametrize(
    "text", ["", "Sunday 01:00-07:00", "sun 01:00-07:00", "Sun 1:00-7:00", "Sun 01:00", "Sun 25:00-26:00"]
)
def test_anything_else_is_no_window(text: str) -> None:
    with pytest.raises(ValueError):
        parse_window(text)
