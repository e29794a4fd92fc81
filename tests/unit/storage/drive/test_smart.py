# SPDX-License-Identifier: Apache-2.0
"""SMART of every drive is read at the same time; what is worth knowing after a restart is kept."""

import errno
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from millrace.storage.drive import counter_rises, drive_history, smart
from millrace.storage.drive.smart import DriveSmart
from millrace.storage.drive.smart_events import Command
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.run import Result
from tests.fakes.error_counters import add_module
from tests.fakes.files.trees import Tree, booted

SAID = {"critical_warning": {"value": 4}, "temperature": 313, "avail_spare": 99, "spare_thresh": 10}
SAID |= {"percent_used": 3, "power_on_hours": 9120}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A server of two NVMe drives S1 and S2."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    tree: Tree = booted(tmp_path)
    tree.nvme(0, "S1", size=1 << 40)
    tree.nvme(1, "S2", size=1 << 40)
    return tree


def silent(device: Path, opcode: int, value: int) -> int:
    """A drive that knows no events."""
    raise OSError(errno.EINVAL, "Invalid argument")


def read(errors: object, command: Command = silent) -> DriveSmart:
    """What is kept of S1 once it has said this many media errors; S2 does not answer."""

    def run(argv: Sequence[str]) -> Result:
        assert list(argv[:2]) == ["nvme", "smart-log"]
        answers = "nvme1n1" not in argv[2]
        return Result(0, json.dumps(SAID | {"media_errors": errors}), "") if answers else Result(1, "", "gone")

    smart.write(run, command)
    report = smart.last()
    assert report is not None
    assert [each.boot for each in report.drives].count(True) == 1
    drive, two, *_ = sorted(
        (each for each in report.drives if each.serial in ("S1", "S2")), key=lambda each: each.serial
    )
    assert not two.known and two.transport == "nvme" and two.media_errors_new is None
    return drive


def test_media_errors_of_before_a_reboot_are_still_new_after_it(tree: Tree) -> None:
    assert read(7).media_errors_new is None
    # some releases of nvme-cli write counters of 128 bits as text
    assert read("9").media_errors_new == 2
    paths.smart_file().unlink()
    one = read(10)
    assert (one.media_errors, one.media_errors_new, one.known) == (10, 3, True)
    assert (one.critical_warning, one.temperature, one.available_spare, one.spare_threshold) == (4, 40, 99, 10)


@pytest.mark.parametrize("log", [{"temperature": 313}, {"temperature": 313, "critical_warning": None}, {}])
def test_log_without_warnings_is_no_healthy_drive(tree: Tree, log: dict[str, object]) -> None:
    smart.write(lambda _: Result(0, json.dumps(log), ""), silent)
    report = smart.last()
    assert report is not None and [one.known for one in report.drives if one.serial == "S1"] == [False]


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
        if path.parent == paths.state_dir():
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_model(path, *rest)

    monkeypatch.setattr("millrace.storage.drive.drive_records.write_model", full)
    assert read(8).media_errors_new == 1
    said = capsys.readouterr().err
    for path in (paths.media_errors_file(), paths.known_drives_file()):
        assert f"{path} cannot be written: No space left on device" in said


def test_a_drive_is_remembered_with_its_wear_and_one_that_is_silent_too(tree: Tree) -> None:
    assert read(7).power_on_hours == 9120
    one, two = (each for each in sorted(drive_history.load().drives, key=lambda each: each.serial) if each.serial)
    assert (one.serial, one.size, [step.percent for step in one.wear]) == ("S1", 1 << 40, [3])
    assert (two.serial, two.wear) == ("S2", [])


def test_drives_that_answered_report_their_next_warning_by_themselves(tree: Tree, tmp_path: Path) -> None:
    asked = tmp_path / "asked"

    def command(device: Path, opcode: int, value: int) -> int:
        with asked.open("a") as file:
            file.write(f"{device.name} {opcode} {value}\n")
        return 0

    read(7, command)
    # S2 did not answer
    assert asked.read_text().splitlines() == ["nvme0n1 10 0", f"nvme0n1 9 {0x1F & ~4}"]


def test_heat_and_the_counters_of_the_hardware_are_kept_by_day(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    add_module(paths.ROOT, 0, 0, "A1", corrected=3)
    heat = {"thm_temp1_trans_count": 4, "thm_temp2_trans_count": 1, "thm_temp1_total_time": 60}
    monkeypatch.setattr(f"{__name__}.SAID", SAID | heat | {"warning_temp_time": 2, "critical_comp_time": 1})
    drive = read(0)
    assert (drive.throttled, drive.throttled_seconds, drive.hot_minutes) == (5, 60, 3)
    monkeypatch.setattr(f"{__name__}.SAID", SAID | heat | {"thm_temp2_trans_count": 3})
    read(0)
    risen = {counter.key: sum(each.count for each in counter.days) for counter in counter_rises.load().counters}
    # what a drive counted before it came is not new; the kernel's counters began with this start
    assert risen["heat/drive/S1/throttled"] == 2 and risen["heat/drive/S1/throttled-seconds"] == 0
    assert risen["memory/mc0/dimm0/corrected"] == 3


def test_drive_that_reports_nothing_of_its_heat_has_no_counters(tree: Tree) -> None:
    assert read(0).throttled is None
    assert counter_rises.load().counters == []
