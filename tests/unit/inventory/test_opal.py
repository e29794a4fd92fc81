# SPDX-License-Identifier: Apache-2.0
"""A drive says whether it can lock itself; what is found on a locked one is never taken for blank."""

import fcntl
import os
from pathlib import Path

import pytest

from millrace.inventory import opal
from millrace.inventory.collect import collect, examine
from millrace.inventory.model import DriveState
from millrace.system import paths
from tests.fakes.files.trees import booted, nothing_found
from tests.fakes.opal import ENABLED, LOCKED, LOCKING, SUPPORTED, OpalDrives

ALL = SUPPORTED | LOCKING | ENABLED | LOCKED


@pytest.fixture
def drives(monkeypatch: pytest.MonkeyPatch) -> OpalDrives:
    fake = OpalDrives()
    monkeypatch.setattr(opal, "os", type("Os", (), {**vars(os), "open": fake.open, "close": fake.close}))
    monkeypatch.setattr(opal, "fcntl", type("Fcntl", (), {**vars(fcntl), "ioctl": fake.ioctl}))
    return fake


@pytest.mark.parametrize(
    ("flags", "state"),
    [
        (None, None),
        (0, None),
        (SUPPORTED, None),
        (SUPPORTED | LOCKING, "off"),
        (SUPPORTED | LOCKING | ENABLED, "unlocked"),
        (ALL, "locked"),
    ],
)
def test_state_is_what_the_flags_of_the_kernel_say(drives: OpalDrives, flags: int | None, state: str | None) -> None:
    device = Path("/dev/nvme0n1")
    drives.flags[device] = flags
    assert opal.states([device]).get(device) == state


def test_drive_that_does_not_answer_hides_no_other(drives: OpalDrives) -> None:
    mute, other = Path("/dev/nvme0n1"), Path("/dev/nvme1n1")
    drives.flags, drives.broken = {mute: ALL, other: ALL}, {mute}
    assert opal.states([mute, other]) == {other: "locked"}


def test_locked_drive_is_unknown_whatever_it_shows(tmp_path: Path, drives: OpalDrives) -> None:
    tree = booted(tmp_path)
    locked, plain = tree.nvme(0, "S"), tree.nvme(1, "T")
    drives.flags = {tmp_path / "dev" / locked: ALL, tmp_path / "dev" / plain: SUPPORTED | LOCKING}
    by_name = {drive.name: drive for drive in collect(tmp_path, nothing_found, lambda node, size: []).drives}
    assert (by_name[locked].state, by_name[locked].opal) == (DriveState.UNKNOWN, "locked")
    assert by_name[locked].evidence[0].finding == opal.FINDING
    assert (by_name[plain].state, by_name[plain].opal) == (DriveState.BLANK, "off")


def test_drive_that_was_put_in_is_asked_too(
    tmp_path: Path, drives: OpalDrives, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = booted(tmp_path).nvme(0, "S")
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    drives.flags = {tmp_path / "dev" / name: ALL}
    assert examine(name, nothing_found, lambda node, size: []).opal == "locked"


def test_file_is_no_drive_with_opal(tmp_path: Path) -> None:
    (tmp_path / "drive").write_bytes(bytes(4096))
    assert opal.states([tmp_path / "drive", tmp_path / "missing"]) == {}


def test_request_is_that_of_the_header_of_the_kernel() -> None:
    # _IOC(_IOC_READ, 'p', 236, sizeof(struct opal_status))
    read_by_the_caller = 2 << 30
    assert read_by_the_caller | opal.STATUS.size << 16 | ord("p") << 8 | 236 == opal.GET_STATUS
