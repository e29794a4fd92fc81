# SPDX-License-Identifier: Apache-2.0
"""Times in sentences are short and in UTC."""

import pytest

from millrace.system.text import moment


@pytest.mark.parametrize(
    ("stamp", "words"),
    [
        ("2026-11-22T10:00:00+00:00", "2026-11-22 10:00 UTC"),
        ("2026-11-22T00:30:59+01:00", "2026-11-21 23:30 UTC"),
        ("a day in May", "a day in May"),
    ],
)
def test_time_is_shown_to_the_minute_in_utc(stamp: str, words: str) -> None:
    assert moment(stamp) == words
