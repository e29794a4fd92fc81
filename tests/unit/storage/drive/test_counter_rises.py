# SPDX-License-Identifier: Apache-2.0
"""Counters that begin again at each start are kept by the days on which they rose."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from millrace.storage.drive import counter_rises
from millrace.storage.drive.counter_rises import LIFETIME, Rises
from millrace.system import paths

DAY = date(2026, 11, 1)


def after(*readings: tuple[int, str, int]) -> Rises:
    """The record after readings of a counter: days later, boot, value."""
    found = Rises()
    for days, boot, value in readings:
        found = counter_rises.count(found, {"k": value}, boot, DAY + timedelta(days=days))
    return found


def days(record: Rises, now: int, boot: str, later: int, last: int = 7) -> dict[int, int]:
    found = counter_rises.days(record, {"k": now}, boot, DAY + timedelta(days=later), last)
    return {(day - DAY).days: count for day, count in found.get("k", {}).items()}


def test_rises_of_a_boot_are_kept_by_day() -> None:
    record = after((0, "a", 2), (0, "a", 5), (1, "a", 5), (2, "a", 6))
    assert days(record, 6, "a", 2) == {0: 5, 2: 1}
    assert days(record, 6, "a", 2, last=2) == {2: 1}


def test_what_has_come_since_the_last_record_counts_now() -> None:
    record = after((0, "a", 2))
    assert days(record, 9, "a", 1) == {0: 2, 1: 7}
    assert days(Rises(), 3, "a", 0) == {0: 3}


def test_counter_that_began_again_adds_to_what_was_before_the_restart() -> None:
    record = after((0, "a", 5), (1, "b", 2))
    assert days(record, 2, "b", 1) == {0: 5, 1: 2}
    # of the same boot: a drive was put back in, or the counter was reset by hand
    assert days(after((0, "a", 5), (1, "a", 2)), 2, "a", 1) == {0: 5, 1: 2}


def test_restart_with_a_higher_count_is_no_difference_of_two_boots() -> None:
    assert days(after((0, "a", 5)), 7, "b", 1) == {0: 5, 1: 7}


def test_what_a_drive_counted_before_it_came_is_not_new() -> None:
    record = after((0, LIFETIME, 100), (1, LIFETIME, 103))
    assert days(record, 103, LIFETIME, 1) == {1: 3}
    assert counter_rises.recorded(record, ["k"], DAY + timedelta(days=1), 2) == {"k": 3}
    assert counter_rises.recorded(record, ["k"], DAY + timedelta(days=3), 2) == {}
    # it was reset by its maker's tool
    assert days(record, 4, LIFETIME, 2) == {1: 3}


def test_days_of_a_clock_that_was_ahead_are_forgotten() -> None:
    record = after((3650, "a", 5), (1, "a", 5))
    assert days(record, 5, "a", 1) == {}


def test_old_days_and_counters_that_never_rose_are_not_kept() -> None:
    record = after((0, "a", 5), (40, "a", 6))
    [counter] = record.counters
    assert [one.count for one in counter.days] == [1]
    assert counter_rises.count(Rises(), {"k": 0}, "a", DAY) == Rises()
    assert len(counter_rises.count(Rises(), {"k": 0}, LIFETIME, DAY).counters) == 1


def test_counters_that_are_not_read_any_more_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counter_rises, "KEPT", 2)
    record = counter_rises.count(Rises(), {"gone": 1, "here": 1}, "a", DAY)
    record = counter_rises.count(record, {"here": 1, "new": 1}, "a", DAY)
    assert [one.key for one in record.counters] == ["here", "new"]


def test_record_that_is_damaged_begins_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    counter_rises.save(after((0, "a", 5)))
    assert counter_rises.load().counters[0].last == 5
    paths.rises_file().write_text("{")
    assert counter_rises.load() == Rises()
