# SPDX-License-Identifier: Apache-2.0
"""A check of the legs of a RAID50 or RAID60, side by side."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from millrace.storage.array import resync
from millrace.storage.record.scrub_record import load
from millrace.storage.scrub import mismatch, scrub
from millrace.system import sysfs
from millrace.system.errors import Failed
from tests.fakes.files.box import FAR_PORTS
from tests.fakes.files.running import server
from tests.unit.storage.scrub.conftest import SUNDAY
from tests.unit.storage.scrub.md_check import LEGS, STEP, Md
from tests.unit.storage.scrub.test_scrub import carry_on, of, ranges


@pytest.fixture
def legs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Md]:
    """Two legs; the second is smaller and ends first."""
    with server(tmp_path, FAR_PORTS) as box:
        box.provision()
        made = Md(box, SUNDAY, LEGS)
        monkeypatch.setattr(sysfs, "write", made.write)
        monkeypatch.setattr(scrub, "now_here", lambda: made.now)
        yield made


def test_legs_are_checked_side_by_side_after_the_log(legs: Md) -> None:
    assert carry_on(legs).round is None
    assert legs.order == ["log", "leg1", "leg0"]
    assert legs.together == {("log",), ("leg0", "leg1"), ("leg0",)}
    for name in ("leg0", "leg1"):
        last = of(name).last
        assert last is not None and (last.bytes, last.floor_kib) == (LEGS[name] * 512 * 10, 1000)
        assert last.seconds == 60 * LEGS[name] / STEP
        assert legs.get(name, "sync_speed_max") == "4000000"


def test_leg_that_ended_first_has_its_result_and_limits_while_the_other_is_read(legs: Md) -> None:
    seen: list[tuple[bool, str]] = []

    def look() -> None:
        if legs.get("leg0", "sync_completed").startswith("14000 "):
            seen.append((of("leg1").last is not None, legs.get("leg1", "sync_speed_max")))

    legs.during = look
    carry_on(legs)
    assert seen == [(True, "4000000")]


def test_end_of_the_window_stops_both_legs_and_each_goes_on_from_where_it_was(legs: Md) -> None:
    legs.bad = {"leg0": [1000], "leg1": [11_000]}
    legs.now = SUNDAY.replace(hour=6, minute=50)
    record = carry_on(legs)
    assert record.stopped is not None and record.stopped.by == "window"
    begun = {name: of(name).under_way for name in ("leg0", "leg1")}
    at = {name: check.sector for name, check in begun.items() if check is not None}
    assert set(at) == {"leg0", "leg1"} and all(0 < sector < LEGS[name] for name, sector in at.items())
    assert {legs.get(name, "sync_action") for name in LEGS} == {"idle"}
    assert {legs.get(name, "sync_speed_max") for name in LEGS} == {"4000000"}
    before = len(legs.begun)
    legs.now = SUNDAY + timedelta(days=7)
    assert carry_on(legs).round is None
    assert dict(legs.begun[before:]) == at
    assert ranges("leg0") == [(1000, 1008, 8)] and ranges("leg1") == [(11_000, 11_008, 8)]


def test_power_cut_during_both_legs_loses_neither_position(legs: Md) -> None:
    def cut() -> None:
        if legs.get("leg0", "sync_completed").startswith("4000 "):
            raise KeyboardInterrupt

    legs.during = cut
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(scrub, "settle", lambda pool: load())
        carry_on(legs)
    for name in ("leg0", "leg1"):
        legs.box.md(name, sync_action="idle", sync_min="0", sync_max="max", sync_completed="none")
    legs.during = lambda: None
    carry_on(legs)
    assert legs.begun[-2:] == [("leg0", 3000), ("leg1", 3000)]


def test_leg_whose_drive_fails_stops_the_other_too(legs: Md) -> None:
    def fail() -> None:
        if legs.get("leg1", "sync_completed").startswith("2000 "):
            legs.fail("leg1")

    legs.during = fail
    record = carry_on(legs)
    assert record.stopped is not None and record.stopped.reason == "array leg1 is degraded"
    assert legs.get("leg0", "sync_action") == "idle"
    assert [one.sector for name in ("leg0", "leg1") if (one := of(name).under_way)] == [2000, 2000]


def test_leg_that_md_refuses_leaves_none_running(legs: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, value: str) -> None:
        if path.name == "sync_action" and value.strip() == "check" and legs.begun and legs.begun[-1][0] == "leg0":
            raise OSError(16, "Device or resource busy")
        legs.write(path, value)

    monkeypatch.setattr(resync, "IDLE_BUSY_PAUSES", [])
    monkeypatch.setattr(sysfs, "write", refuse)
    with pytest.raises(Failed, match="md does not check array leg1: Device or resource busy"):
        carry_on(legs)
    assert {legs.get(name, "sync_action") for name in LEGS} == {"idle"}
    assert {legs.get(name, "sync_speed_max") for name in LEGS} == {"4000000"}


def test_places_that_are_not_logged_are_searched_for_when_no_leg_is_read(
    legs: Md, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mismatch, "SMALL", 256)
    legs.logs, legs.bad["leg1"] = False, [5000]
    assert carry_on(legs).round is None
    [(begin, end, _)] = ranges("leg1")
    assert begin <= 5000 < end <= begin + 512
    assert ("leg0", "leg1") in legs.together and ("leg1",) in legs.together
    assert {legs.get(name, "sync_speed_max") for name in LEGS} == {"4000000"}


def test_search_for_places_that_the_window_ends_goes_on_in_the_next(legs: Md, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mismatch, "SMALL", 256)
    legs.logs, legs.bad["leg1"] = False, [5000]
    # leg1 is at its end after 14 minutes, leg0 after 18
    legs.now = SUNDAY.replace(hour=6, minute=45)
    record = carry_on(legs)
    assert record.stopped is not None and record.stopped.by == "window"
    waits = of("leg1").under_way
    assert waits is not None and waits.sector == waits.sectors and of("leg1").last is None
    legs.now = SUNDAY + timedelta(days=7)
    assert carry_on(legs).round is None
    [(begin, end, _)] = ranges("leg1")
    assert begin <= 5000 < end <= begin + 512
