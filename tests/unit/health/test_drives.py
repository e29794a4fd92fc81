# SPDX-License-Identifier: Apache-2.0
"""SMART of every drive is read while the server runs, and each warning names its drive."""

import errno
import json
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from millrace import paths
from millrace.health import media_errors, smart
from millrace.health.checks import drives
from millrace.health.model import Finding, Level
from millrace.health.smart import DriveSmart
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.unit.health.servers import drive_smart, host, place, says, sentences, well
from tests.unit.inventory.trees import Tree, booted

STARTING = Result(1, "starting\n", "")


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    return tmp_path


def found(number: int, **changes: object) -> list[Finding]:
    """What the check finds where drive `number` says this."""
    says([drive_smart(one, **(changes if one == number else {})) for one in range(12)])
    return [one for one in drives.check(host()) if one.level is not Level.OK]


def test_drives_without_a_warning(serving: Path) -> None:
    assert sentences(drives.check(host())) == "OK: SMART of 12 drives has no warning. []"


def test_a_critical_warning_names_bay_and_serial(serving: Path) -> None:
    place(serving, 3, "7")
    [finding] = found(3, critical_warning=4)
    assert finding.sentence == "Bay 7 (D1): The drive reports a critical warning: errors have degraded its reliability."
    assert (finding.level, finding.todo) == (Level.FAIL, "Replace the drive.")


def test_the_boot_drive_warns_too(serving: Path) -> None:
    [finding] = found(0, boot=True, critical_warning=8)
    assert finding.level is Level.FAIL and finding.sentence.startswith("Boot drive L0: ")


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
    says([drive_smart(one) for one in range(12)], age=960)
    assert "UNKNOWN: SMART of the drives was last read 16 minutes ago" in sentences(drives.check(host()))
    paths.smart_file().unlink()
    assert [one.level for one in drives.check(host())] == [Level.UNKNOWN]
    assert drives.check(host(running=STARTING)) == []


SAID = {"critical_warning": {"value": 4}, "temperature": 313, "avail_spare": 99, "spare_thresh": 10}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A server of two NVMe drives S1 and S2."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    tree: Tree = booted(tmp_path)
    tree.nvme(0, "S1", size=1 << 40)
    tree.nvme(1, "S2", size=1 << 40)
    return tree


def read(errors: object) -> DriveSmart:
    """What is kept of S1 once it has said this many media errors; S2 does not answer."""

    def run(argv: Sequence[str]) -> Result:
        assert list(argv[:2]) == ["nvme", "smart-log"]
        answers = "nvme1n1" not in argv[2]
        return Result(0, json.dumps(SAID | {"media_errors": errors}), "") if answers else Result(1, "", "gone")

    smart.write(run)
    report = smart.last()
    assert report is not None
    assert [each.boot for each in report.drives].count(True) == 1
    one, two, *_ = sorted((each for each in report.drives if each.serial in ("S1", "S2")), key=lambda each: each.serial)
    assert not two.known and two.transport == "nvme" and two.media_errors_new is None
    return one


def test_media_errors_of_before_a_reboot_are_still_new_after_it(tree: Tree) -> None:
    assert read(7).media_errors_new is None
    # some releases of nvme-cli write counters of 128 bits as text
    assert read("9").media_errors_new == 2
    paths.smart_file().unlink()
    one = read(10)
    assert (one.media_errors, one.media_errors_new, one.known) == (10, 3, True)
    assert (one.critical_warning, one.temperature, one.available_spare, one.spare_threshold) == (4, 40, 99, 10)


@pytest.mark.parametrize("text", ["", "{", '{"schema_version": 2}', '{"schema_version": 1, "drives": [3]}'])
def test_counts_that_cannot_be_read_begin_again(tree: Tree, text: str) -> None:
    read(7)
    paths.media_errors_file().write_text(text)
    assert read(8).media_errors_new is None
    assert read(9).media_errors_new == 1


def test_keys_of_a_later_release_keep_the_counts(tree: Tree) -> None:
    read(7)
    document = json.loads(paths.media_errors_file().read_text())
    document["later"] = document["drives"][0]["later"] = 1
    paths.media_errors_file().write_text(json.dumps(document))
    assert read(8).media_errors_new == 1


def test_counts_that_cannot_be_kept_hide_nothing(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read(7)

    def full(path: Path, *rest: Any) -> bool:
        if path == paths.media_errors_file():
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_model(path, *rest)

    monkeypatch.setattr("millrace.health.media_errors.write_model", full)
    assert read(8).media_errors_new == 1
    assert "cannot be written: No space left on device" in capsys.readouterr().err


DAY = date(2026, 11, 1)


def test_an_error_is_new_for_a_month_and_the_growth_is_counted_from_the_first_day() -> None:
    counters = media_errors.count(media_errors.Counters(drives=[]), {"S1": 5}, DAY)
    grown = media_errors.count(counters, {"S1": 6}, DAY + timedelta(days=90))
    assert list(media_errors.recent(grown, DAY + timedelta(days=120))) == ["S1"]
    assert media_errors.recent(grown, DAY + timedelta(days=121)) == {}
    [again] = media_errors.count(grown, {"S1": 8}, DAY + timedelta(days=200)).drives
    assert (again.first, again.last, again.first_seen) == (5, 8, "2026-11-01")


def test_a_count_that_went_down_begins_again() -> None:
    counters = media_errors.count(media_errors.Counters(drives=[]), {"S1": 5}, DAY)
    [one] = media_errors.count(counters, {"S1": 2}, DAY).drives
    assert (one.first, one.grown) == (2, None)


def test_drives_that_left_long_ago_are_forgotten_first() -> None:
    counters = media_errors.Counters(drives=[])
    for number in range(media_errors.KEPT + 10):
        counters = media_errors.count(counters, {"HERE": 1, f"S{number}": 1}, DAY + timedelta(days=number))
    kept = {one.serial for one in counters.drives}
    assert len(kept) == media_errors.KEPT and "HERE" in kept and "S10" not in kept and "S11" in kept
