# SPDX-License-Identifier: Apache-2.0
"""A drive reports the next critical warning by itself; what the kernel wants to hear stays enabled."""

import errno
import struct
import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from host.layout import REPO
from millrace.storage.drive import smart_events
from millrace.storage.drive.smart_events import GET_FEATURES, SET_FEATURES
from tests.unit.boot.units import unit

DEVICE = Path("/dev/nvme0n1")
# NVM Express, Asynchronous Event Configuration: changes of namespaces, which the kernel enables
NAMESPACES = 0x100


class Drive:
    """One drive with its feature; a log file, since the calls may be in a child."""

    def __init__(self, log: Path, enabled: int) -> None:
        self.log, self.enabled = log, enabled

    def __call__(self, device: Path, opcode: int, value: int) -> int:
        assert opcode in (GET_FEATURES, SET_FEATURES)
        if opcode == SET_FEATURES:
            self.enabled = value
            with self.log.open("a") as file:
                file.write(f"{device} {value:#x}\n")
        return self.enabled

    @property
    def set(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.mark.parametrize(
    ("enabled", "warning", "wanted"),
    [
        (NAMESPACES, 0, NAMESPACES | 0x1F),
        # what the firmware enabled besides stays
        (0x60, 0, 0x7F),
        # a temperature that is too high would be reported again after each reading
        (NAMESPACES | 0x1F, 0x02, NAMESPACES | 0x1D),
        # over: the next one is reported
        (NAMESPACES | 0x1D, 0, NAMESPACES | 0x1F),
        # bits that are no event of ours
        (0, 0xE0, 0x1F),
    ],
)
def test_events_of_warnings_that_are_not_on_are_enabled(
    tmp_path: Path, enabled: int, warning: int, wanted: int
) -> None:
    drive = Drive(tmp_path / "log", enabled)
    assert smart_events.enable(DEVICE, warning, drive)
    assert drive.set == [f"{DEVICE} {wanted:#x}"]


def test_drive_that_is_set_is_left_alone(tmp_path: Path) -> None:
    drive = Drive(tmp_path / "log", NAMESPACES | 0x1F)
    assert not smart_events.enable(DEVICE, 0, drive)
    assert drive.set == []


def test_drive_that_refuses_or_hangs_keeps_no_other_back(tmp_path: Path) -> None:
    drive = Drive(tmp_path / "log", 0)

    def command(device: Path, opcode: int, value: int) -> int:
        if device.name == "nvme0n1":
            raise OSError(errno.EIO, "Input/output error")
        if device.name == "nvme2n1":
            time.sleep(60)
        return drive(device, opcode, value)

    began = time.monotonic()
    smart_events.enable_all({Path(f"/dev/nvme{number}n1"): 0 for number in range(3)}, 0.5, command)
    assert drive.set == ["/dev/nvme1n1 0x1f"]
    assert time.monotonic() - began < 10


def test_command_is_the_one_of_the_kernel_and_its_status_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """linux/nvme_ioctl.h: struct nvme_passthru_cmd has 72 bytes; cdw10 is at 40, the result at 68."""
    device = tmp_path / "nvme0n1"
    device.touch()
    status = 0

    def ioctl(descriptor: int, request: int, command: Any) -> int:
        assert (request, len(command)) == (0xC0484E41, 72)
        assert (command[0], struct.unpack_from("=II", command, 40)) == (SET_FEATURES, (0x0B, 0x11F))
        struct.pack_into("=I", command, 68, 0x123)
        return status

    monkeypatch.setattr("fcntl.ioctl", ioctl)
    assert smart_events.admin(device, SET_FEATURES, 0x11F) == 0x123
    status = 0x4002
    with pytest.raises(OSError, match="status 0x4002"):
        smart_events.admin(device, SET_FEATURES, 0x11F)


@pytest.mark.parametrize(
    ("event", "is_ours"),
    # kernel 7.2, nvme_aen_uevent: "NVME_AEN=%#08x" of log page, information and type
    [(0x020001, True), (0x020101, True), (0x020201, True), (0x030002, False), (0x010000, False), (0x040002, False)],
)
def test_udev_starts_readings_for_warnings_alone(event: int, is_ours: bool) -> None:
    rules = (REPO / "mkosi.extra/usr/lib/udev/rules.d/90-millrace.rules").read_text()
    [pattern] = [line.split('ENV{NVME_AEN}=="')[1].split('"')[0] for line in rules.splitlines() if "NVME_AEN" in line]
    assert fnmatchcase(f"{event:#08x}", pattern) == is_ours
    assert rules.count('RUN+="/usr/bin/systemctl --no-block restart millrace-again@millrace-smart.service"') == 2


def test_readings_come_before_the_check_of_health_and_no_event_is_lost() -> None:
    settings = unit("millrace-again@millrace-smart.service")
    assert settings["ExecStart"] == [
        "/usr/bin/systemctl start millrace-smart.service",
        "/usr/bin/systemctl --no-block restart millrace-again@millrace-health.service",
    ]
    assert settings["After"] == ["millrace-smart.service"]
    assert (settings["SuccessExitStatus"], settings["StartLimitIntervalSec"]) == (["SIGTERM"], ["0"])
    assert settings["TimeoutStartSec"] == ["infinity"]
    # those of a boot come from the timer
    assert settings["ConditionPathExists"] == ["/run/millrace/smart.json"]
