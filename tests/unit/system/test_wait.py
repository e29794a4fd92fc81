# SPDX-License-Identifier: Apache-2.0
"""Waiting ends when the thing is there, or when the pauses are used up."""

import pytest

from millrace.system.wait import wait_until


@pytest.mark.parametrize(
    ("pauses", "seen", "waited"),
    [
        ([1.0, 2.0, 4.0], 3, [1.0, 2.0]),  # there at the third look
        ([1.0], 2, [1.0]),  # not there in time: what was seen last
        ([], 1, []),
    ],
)
def test_looks_until_it_is_there_or_time_is_up(pauses: list[float], seen: int, waited: list[float]) -> None:
    looks = iter(range(1, 10))
    slept: list[float] = []
    assert wait_until(lambda: next(looks), lambda number: number == 3, pauses, slept.append) == seen
    assert slept == waited


def test_what_is_there_at_once_is_not_waited_for() -> None:
    slept: list[float] = []
    assert wait_until(lambda: "there", bool, [1.0, 1.0], slept.append) == "there"
    assert slept == []
