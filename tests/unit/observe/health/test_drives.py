# SPDX-License-Identifier: Apache-2.0
"""SMART of every drive is read while the server runs, and each warning names its drive."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.observe.health.checks import drives
from millrace.observe.health.model import HealthFinding, Level
from millrace.storage.drive import drive_history
from millrace.storage.drive.drive_history import KnownDrive, KnownDrives
from millrace.storage.drive.wear import WearStep
from millrace.system import paths
from millrace.system.run import Result
from tests.unit.observe.health.servers import drive_smart, host, place, says, sentences, serial, well

STARTING = Result(1, "starting\n", "")


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    return tmp_path


def found(number: int, **changes: object) -> list[HealthFinding]:
    """What the check finds where drive `number` says this."""
    says([drive_smart(one, **(changes if one == number else {})) for one in range(12)])
    return [one for one in drives.check(host()) if one.level is not Level.OK]


def test_drives_without_a_warning(serving: Path) -> None:
    assert sentences(drives.check(host())) == "OK: SMART of 12 drives has no warning. []"


def test_drive_whose_smart_was_not_read_is_not_said_to_have_no_warning(serving: Path) -> None:
    place(serving, 3, "7")
    says([drive_smart(one) for one in range(12) if one != 3])
    [finding] = drives.check(host())
    assert finding.sentence == "SMART of 11 drives has no warning; that of bay 7 (D1) has not been read yet."


def test_a_critical_warning_names_bay_and_serial(serving: Path) -> None:
    place(serving, 3, "7")
    [finding] = found(3, critical_warning=4)
    assert finding.sentence == "Bay 7 (D1): The drive reports a critical warning: errors have degraded its reliability."
    assert (finding.level, finding.todo) == (Level.FAIL, "Replace the drive: millrace drive replace D1")


def wore(number: int, *steps: tuple[int, int]) -> None:
    """Drive `number` was first seen at these percents so many days ago."""
    today = datetime.now(UTC).date()
    worn = [WearStep(percent=percent, day=today - timedelta(days=days)) for days, percent in steps]
    about = {"model": "M", "firmware": "F", "size": 10**12, "bay": None, "last_seen": today}
    drive_history.save(
        KnownDrives(drives=[KnownDrive.model_validate({**about, "serial": serial(number), "wear": worn})])
    )


def test_drive_whose_endurance_ends_within_90_days_is_a_warning(serving: Path) -> None:
    # 15 days for a percent of the last 60, and 8 percent to go from 30 days ago on
    wore(3, (200, 80), (60, 86), (30, 92))
    end = datetime.now(UTC).date() - timedelta(days=30) + timedelta(days=int(8 * 60 / 7))
    [finding] = [one for one in found(3, wear=92) if one.kind == "wear-ends"]
    assert (finding.key, finding.level) == ("drives/wear-ends/D1", Level.WARN)
    assert finding.sentence == f"Drive D1: At the rate of the last year its rated endurance is used up on {end}."
    assert finding.todo == "Replace the drive: millrace drive replace D1"


@pytest.mark.parametrize("steps", [[(200, 20), (60, 23), (30, 26)], [(60, 97), (30, 98)], []])
def test_drive_that_lasts_or_whose_rate_is_not_known_is_no_warning(serving: Path, steps: list[tuple[int, int]]) -> None:
    wore(3, *steps)
    assert found(3, wear=50) == []


def test_the_boot_drive_warns_too(serving: Path) -> None:
    [finding] = found(0, boot=True, critical_warning=8)
    assert finding.level is Level.FAIL and finding.sentence.startswith("Boot drive L0: ")


@pytest.mark.parametrize("changes", [{"critical_warning": 4}, {"available_spare": 9}, {"media_errors_new": 2}])
def test_only_a_drive_of_the_pool_is_replaced_with_the_command(serving: Path, changes: dict[str, object]) -> None:
    [finding] = found(3, **changes)
    assert finding.todo == "Replace the drive: millrace drive replace D1"
    paths.pool_file().write_text("{")
    [finding] = found(3, **changes)
    assert finding.todo == "Replace the drive."
    paths.pool_file().unlink()
    [finding] = found(3, **changes)
    assert finding.todo == "Replace the drive."


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({"wear": 95}, Level.WARN, "95 % of the drive's rated endurance"),
        ({"critical_warning": 2, "temperature": 84}, Level.WARN, "(84 °C)"),
        ({"available_spare": 9}, Level.FAIL, "spare capacity is 9 %, below its threshold of 10 %"),
        ({"critical_warning": 1, "available_spare": 9}, Level.FAIL, "available spare is below"),
        (
            {"media_errors": 12, "media_errors_new": 2, "media_errors_since": "2026-10-01"},
            Level.WARN,
            "could not read data back 2 times since 2026-10-01 (media errors)",
        ),
        ({"known": False}, Level.UNKNOWN, "does not respond to SMART"),
    ],
)
def test_each_warning_has_one_finding(serving: Path, changes: dict[str, object], level: Level, words: str) -> None:
    [finding] = found(3, **changes)
    assert finding.level is level and words in finding.sentence and finding.todo


@pytest.mark.parametrize("changes", [{"media_errors": 10}, {"wear": 89}])
def test_what_is_old_or_small_is_no_finding(serving: Path, changes: dict[str, object]) -> None:
    assert found(3, **changes) == []


def test_a_boot_drive_that_is_not_nvme_is_said_to_be_unknown(serving: Path) -> None:
    assert found(0, boot=True, known=False, transport="sata") == []
    assert "OK: Boot drive L0: SMART is not known" in sentences(drives.check(host()))


def test_a_drive_that_was_pulled_is_for_the_arrays(serving: Path) -> None:
    (serving / "sys/block/nvme3n1").unlink()
    assert found(3, known=False) == []


def test_smart_that_is_old_or_missing_is_unknown(serving: Path) -> None:
    says([drive_smart(one) for one in range(12)], age=1860)
    assert "UNKNOWN: SMART of the drives was last read 31 minutes ago" in sentences(drives.check(host()))
    paths.smart_file().unlink()
    assert [one.level for one in drives.check(host())] == [Level.UNKNOWN]
    assert drives.check(host(running=STARTING)) == []
