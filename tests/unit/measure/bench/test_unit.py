# SPDX-License-Identifier: Apache-2.0
"""A run lives in a unit that may write the drives that were named and no other."""

from pathlib import Path

import pytest

from millrace.measure.bench.run import unit
from millrace.system import paths
from millrace.system.run import Result
from tests.fakes.commands import Commands
from tests.fakes.tools import stand_in

NAME = "millrace-bench.service"
TUNER = "millrace-tuner.service"


class Systemd(Commands):
    """Knows the unit, and that of the tuner."""

    TAKEN = (
        f"systemctl show --property=ActiveState --value {NAME}",
        f"systemctl show --property=ActiveState --value {TUNER}",
        f"systemctl revert {NAME}",
        f"systemctl set-property --runtime {NAME} ...",
        f"systemctl stop {NAME}",
    )


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    tools = Systemd()
    stand_in(monkeypatch, tools)
    return tools


@pytest.mark.parametrize(
    ("state", "active"),
    [
        ("active", True),
        ("activating", True),
        ("deactivating", True),
        ("reloading", True),
        ("inactive", False),
        ("failed", False),
        ("", False),
    ],
)
def test_a_run_is_on_until_its_unit_has_cleaned_up(systemd: Systemd, state: str, active: bool) -> None:
    systemd.broken["systemctl show"] = Result(0, f"{state}\n", "")
    assert unit.active() is active
    assert unit.tuner_active() is active


def test_a_run_that_writes_no_drive_is_allowed_none(systemd: Systemd) -> None:
    unit.allow_writing([])
    assert systemd.calls == []


def test_each_drive_that_is_written_is_allowed_once(systemd: Systemd) -> None:
    unit.allow_writing(["/dev/sda", "/dev/sdb", "/dev/sda"])
    rules = ["DeviceAllow=/dev/sda rwm", "DeviceAllow=/dev/sdb rwm"]
    assert systemd.calls == [["systemctl", "set-property", "--runtime", NAME, *rules]]


def test_permission_of_an_earlier_run_is_removed(systemd: Systemd, tmp_path: Path) -> None:
    (tmp_path / f"run/systemd/system.control/{NAME}.d").mkdir(parents=True)
    unit.allow_writing([])
    assert systemd.calls == [["systemctl", "revert", NAME]]


def test_a_stop_is_one_of_the_unit(systemd: Systemd) -> None:
    unit.stop()
    assert systemd.calls == [["systemctl", "stop", NAME]]
