# SPDX-License-Identifier: Apache-2.0
"""CPU sockets and drives that slowed themselves down because of heat."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.observe.health.checks import heat
from millrace.storage.drive import counter_rises, hardware_errors, smart
from millrace.storage.drive.counter_rises import LIFETIME, Rises
from millrace.system import paths
from tests.fakes.error_counters import add_throttling
from tests.unit.observe.health.servers import drive_smart, host, place, says, sentences, well

TODAY = datetime.now(UTC).date()


@pytest.fixture(autouse=True)
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    return tmp_path


def read(days_ago: int, **changes: int) -> None:
    """SMART of drive 3 was read so many days ago."""
    drives = [drive_smart(number, **(changes if number == 3 else {})) for number in range(12)]
    says(drives)
    counted = hardware_errors.of_drives({one.serial: smart.heat(one) for one in drives})
    counter_rises.save(counter_rises.count(counter_rises.load(), counted, LIFETIME, TODAY - timedelta(days=days_ago)))


def found() -> str:
    return sentences(heat.check(host()))


def test_drive_that_slows_itself_down_is_named_with_its_temperature(serving: Path) -> None:
    place(serving, 3, "7")
    read(1, throttled=40, throttled_seconds=900, hot_minutes=5, temperature=60)
    assert found() == ""
    read(0, throttled=42, throttled_seconds=1000, hot_minutes=8, temperature=84)
    assert found() == (
        "WARN: Bay 7 (D1): since yesterday it slowed itself down 2 times because of heat, for 2 min in all and it was "
        f"above its warning temperature for 3 min; it has 84 °C now. [{heat.COOL}]"
    )


def test_heat_of_last_week_is_over(serving: Path) -> None:
    read(4, throttled=1)
    read(3, throttled=5)
    assert found() == ""


def test_drive_that_reports_nothing_of_its_heat_is_not_named(serving: Path) -> None:
    says([drive_smart(number) for number in range(12)])
    assert found() == ""
    paths.smart_file().unlink()
    assert found() == ""


def test_socket_that_is_slowed_down_is_a_warning_and_ends(serving: Path) -> None:
    add_throttling(serving, 0, 0, 3, ms=61_000)
    add_throttling(serving, 2, 1, 0)
    times = f"WARN: CPU socket 0: heat has slowed it down 3 times since {TODAY}, for 2 min in all. [{heat.COOL}]"
    assert found() == times
    counted = {"heat/cpu0/times": 3, "heat/cpu0/ms": 61_000}
    counter_rises.save(counter_rises.count(Rises(), counted, counter_rises.boot_id(), TODAY - timedelta(days=2)))
    assert found() == ""
