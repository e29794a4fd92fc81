# SPDX-License-Identifier: Apache-2.0
"""Times in sentences are short and in UTC; what follows a percentage has one form."""

import pytest

from millrace.system.text import duration, moment, pace


@pytest.mark.parametrize(
    ("stamp", "words"),
    [
        ("2026-11-22T10:00:00+00:00", "2026-11-22 10:00 UTC"),
        ("2026-11-22T00:30:59+01:00", "2026-11-21 23:30 UTC"),
        ("a day in May", "a day in May"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        ("9999-12-31T23:59:59-14:00", "9999-12-31T23:59:59-14:00"),
        ("May\x1b[2J\n", "May\\x1b[2J\\n"),
    ],
)
def test_time_is_shown_to_the_minute_in_utc(stamp: str, words: str) -> None:
    assert moment(stamp) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 min"),
        (0.5, "1 min"),
        (3540, "59 min"),
        (3541, "1 h 0 min"),
        (7380, "2 h 3 min"),
        (172_800, "2 days"),
        (30_000_000, "347 days"),
    ],
)
def test_time_that_is_left_is_rounded_up(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_pace_has_what_is_known() -> None:
    assert pace(205_000_000, 7380) == ", 205 MB/s, 2 h 3 min left"
    assert (pace(None, 60), pace(1000, None), pace(0, None)) == (", 1 min left", ", 1 kB/s", "")
