# SPDX-License-Identifier: Apache-2.0
"""A boot drive is chosen by its serial number, and never one that holds a pool or this system."""

import pytest

from millrace.inventory.model import Drive, DriveState, Evidence
from millrace.lifecycle.install.choice import SMALLEST, candidates, chosen, confirm
from millrace.system.errors import BadInput, Refused
from tests.unit.storage.drive.servers import drive

BLANK = drive("B", DriveState.BLANK)


def with_evidence(state: DriveState, probe: str, finding: str) -> Drive:
    return drive("X", state, evidence=[Evidence(probe=probe, finding=finding)])


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (with_evidence(DriveState.BOOT, "mounts", "carries /usr"), "this system runs from it"),
        (with_evidence(DriveState.OURS, "gpt", "Millrace partition"), "it carries a Millrace pool"),
        (with_evidence(DriveState.FOREIGN, "holders", "md0"), "it is in use (md0)"),
        (
            with_evidence(DriveState.UNKNOWN, "identity", "2 drives have the serial number X"),
            "it cannot be told from another drive (2 drives have the serial number X)",
        ),
        (drive("X", DriveState.BLANK, size=SMALLEST - 1), "it has 8 GB, and 8 GB are needed"),
        (drive("X", DriveState.BLANK, logical_block=4096), "it has sectors of 4096 bytes, and 512 are needed"),
    ],
)
def test_drive_that_is_never_written_is_refused_with_the_reason(one: Drive, reason: str) -> None:
    (found,) = candidates([one])
    assert found.refused is not None and found.refused.startswith(reason.partition(" GB")[0])
    with pytest.raises(Refused, match="drive X is not written: "):
        chosen([found], "X")


def test_drives_that_can_be_written_come_first() -> None:
    small = drive("X", DriveState.BLANK, size=1)
    assert [one.serial for one in candidates([small, BLANK])] == ["B", "X"]


@pytest.mark.parametrize("count", [0, 2])
def test_serial_number_that_is_not_one_drive_is_bad_input(count: int) -> None:
    with pytest.raises(BadInput, match="millrace install list"):
        chosen(candidates([BLANK] * count), "B")


def test_blank_drive_is_confirmed_by_its_serial_number() -> None:
    (found,) = candidates([BLANK])
    assert found.holds is None
    confirm(found, " B\n", foreign=False)
    with pytest.raises(BadInput, match="repeated as 'b'"):
        confirm(found, "b", foreign=True)


def test_drive_with_data_takes_more_than_its_serial_number() -> None:
    (found,) = candidates([with_evidence(DriveState.FOREIGN, "blkid", "ext4 file system")])
    with pytest.raises(Refused, match=r"carries data \(ext4 file system\).* --foreign"):
        confirm(found, "X", foreign=False)
    confirm(found, "X", foreign=True)
