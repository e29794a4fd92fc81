# SPDX-License-Identifier: Apache-2.0
"""The clock is not synchronised, jumped, or is wrong; each has its finding, and a remedy that can be carried out."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.observe.health import clock
from millrace.observe.health.checks import clock as clock_check
from millrace.observe.health.clock import ClockState
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.system import paths
from millrace.system.run import Result
from tests.fakes.samples import Tools

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NEW_YEAR_2069 = datetime(2069, 1, 1, tzinfo=UTC)
ASKED = "timedatectl show"


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server whose image was made the day before."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/clock-epoch").touch()
    set_time(tmp_path / "usr/lib/clock-epoch", NOW - timedelta(days=1))
    return tmp_path


def set_time(path: Path, at: datetime) -> None:
    os.utime(path, (at.timestamp(), at.timestamp()))


def look(uptime: float, at: datetime = NOW, synchronised: str = "yes", client: str = "yes") -> list[HealthFinding]:
    """Check at a time by the clock, so many seconds after the start; what is asked of systemd is in `asked`."""
    said = Result(0, f"NTP={client}\nNTPSynchronized={synchronised}\n", "")
    host = Host(Tools({ASKED: said}), None, lambda: uptime)
    clock.write(host, at.timestamp(), uptime)
    return clock_check.check(host, at)


def keys(findings: list[HealthFinding]) -> list[str]:
    return [finding.key for finding in findings]


def state() -> ClockState:
    found = clock.last()
    assert found is not None
    return found


def test_nothing_is_asked_and_nothing_said_in_the_first_minutes() -> None:
    assert look(599, synchronised="no") == []
    assert state().asked is None


def test_synchronised_clock_is_all_right() -> None:
    [found] = look(600)
    assert (found.key, found.level) == ("clock", Level.OK)


def test_clock_without_a_time_server_is_a_warning_with_the_file_to_name_one_in() -> None:
    [found] = look(600, synchronised="no")
    assert (found.key, found.level) == ("clock/unsynchronised", Level.WARN)
    assert found.sentence == "The clock is not synchronised with a time server."
    assert "NTP=" in (found.todo or "") and "/etc/systemd/timesyncd.conf" in (found.todo or "")


def test_time_client_that_is_off_has_a_remedy_of_its_own() -> None:
    [found] = look(600, synchronised="no", client="no")
    assert (found.key, found.todo) == ("clock/unsynchronised", "Switch it on: timedatectl set-ntp true")


def test_time_client_that_is_stopped_is_named_at_once() -> None:
    [finding] = look(600, synchronised="yes", client="no")
    assert (finding.key, finding.level) == ("clock/unsynchronised", Level.WARN)
    assert finding.todo == "Switch it on: timedatectl set-ntp true"


def test_it_is_asked_again_only_after_minutes() -> None:
    look(600, synchronised="no")
    assert keys(look(899, NOW + timedelta(seconds=299))) == ["clock/unsynchronised"]
    assert keys(look(900, NOW + timedelta(seconds=300))) == ["clock"]


def test_timedated_that_does_not_answer_says_nothing() -> None:
    host = Host(Tools({ASKED: Result(1, "", "Failed to query server")}), None, lambda: 700)
    clock.write(host, NOW.timestamp(), 700)
    assert clock_check.check(host, NOW) == [] and state().asked == 700


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (61, "jumped forward by 2 min while the server ran, from 2026-11-20 12:00 UTC to 2026-11-20 12:01 UTC."),
        (-3600, "jumped back by 1 h 0 min while the server ran, from 2026-11-20 12:00 UTC to 2026-11-20 11:00 UTC."),
    ],
)
def test_jump_is_named_with_both_times(seconds: int, words: str) -> None:
    look(1000)
    [found] = look(1030, NOW + timedelta(seconds=30 + seconds))
    assert (found.key, found.level) == ("clock/jumped", Level.WARN)
    assert words.partition(",")[0] in found.sentence
    assert ("forward" in found.sentence) is (seconds > 0) and "battery" in (found.todo or "")


@pytest.mark.parametrize("seconds", [-60, -1, 0, 1, 60])
def test_correction_of_a_minute_is_no_jump(seconds: int) -> None:
    look(1000)
    assert keys(look(1030, NOW + timedelta(seconds=30 + seconds))) == ["clock"]


def test_jump_asks_again_at_once() -> None:
    look(1000)
    assert "clock/unsynchronised" in keys(look(1030, NEW_YEAR_2069, synchronised="no"))


def test_jumps_there_and_back_are_counted_and_forgotten_after_a_day() -> None:
    look(1000)
    assert keys(look(1030, NEW_YEAR_2069)) == ["clock/wrong", "clock/jumped"]
    [found] = look(1060, NOW + timedelta(seconds=60))
    assert "jumped back by 15382 days" in found.sentence and "and 1 time before in 24 hours" in found.sentence
    assert keys(look(1060 + 86400, NOW + timedelta(seconds=60 + 86400))) == ["clock"]


def test_many_jumps_do_not_grow_the_record() -> None:
    for number in range(40):
        look(1000 + number, NOW + timedelta(hours=number % 2))
    assert len(state().jumps) == clock.MOST_JUMPS


def test_new_start_forgets_the_jumps_of_the_last_one() -> None:
    look(1000)
    look(1030, NEW_YEAR_2069)
    look(20, NOW)
    assert state().jumps == [] and clock_check.check(Host(Tools({})), NOW) == []


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (datetime(1970, 1, 1, 0, 3, tzinfo=UTC), "shows 1970-01-01 00:03 UTC, before this version was made"),
        (NOW - timedelta(days=3), "before this version was made (2026-11-19)"),
        (NEW_YEAR_2069, "shows 2069-01-01 00:00 UTC, 15 years or more after this version was made (2026-11-19)"),
    ],
)
def test_clock_that_cannot_be_right_is_a_failure(at: datetime, words: str) -> None:
    [found] = look(100, at)
    assert (found.key, found.level) == ("clock/wrong", Level.FAIL)
    assert words in found.sentence and "timedatectl set-time" in (found.todo or "")


def test_image_without_a_time_bounds_the_clock_by_the_first_release(root: Path) -> None:
    (root / "usr/lib/clock-epoch").unlink()
    assert look(100, datetime(2025, 6, 1, tzinfo=UTC)) == []
    assert keys(look(130, datetime(2024, 6, 1, tzinfo=UTC))) == ["clock/wrong", "clock/jumped"]


def test_time_that_the_client_saved_in_a_year_to_come_is_named_with_its_remedy(root: Path) -> None:
    saved = root / "var/lib/systemd/timesync/clock"
    saved.parent.mkdir(parents=True)
    saved.touch()
    set_time(saved, NOW + timedelta(hours=23))
    assert look(100) == []
    set_time(saved, NEW_YEAR_2069)
    [finding] = look(130, NOW + timedelta(seconds=30))
    assert (finding.key, finding.level) == ("clock/saved", Level.WARN)
    assert "2069-01-01 00:00 UTC" in finding.sentence
    assert finding.todo == "If the time is right now: touch /var/lib/systemd/timesync/clock"
    assert keys(look(160, datetime(1970, 1, 12, tzinfo=UTC))) == ["clock/wrong", "clock/jumped"]
