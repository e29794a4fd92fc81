# SPDX-License-Identifier: Apache-2.0
"""The drives of two pools in one server with a new boot drive: it says so, adopts neither and writes nothing."""

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.vm.box import Box
from tests.vm.lives.test_adopt import SERVER, lose_boot_drive, started
from vm.accel import Accel
from vm.link import Cables
from vm.qemu import Files
from vm.server import Drive, Server

# four boots, two of which build a pool
pytestmark = pytest.mark.soak

OTHER = tuple(dataclasses.replace(drive, serial=f"OTHER{drive.serial[5:]}") for drive in SERVER.drives)
SAID = "drives of 2 pools are in this server"


def with_drives(drives: Sequence[Drive]) -> Server:
    return dataclasses.replace(SERVER, drives=tuple(drives))


def digests(directory: Path, drives: Sequence[Drive]) -> list[str]:
    """A digest of each whole drive."""
    found = []
    for drive in drives:
        with Files(directory, directory).drive(drive.serial).open("rb") as file:
            found.append(hashlib.file_digest(file, "sha256").hexdigest())
    return found


@pytest.fixture(scope="module")
def directory(image: Path, accelerator: Accel, cables: Cables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The drives of two pools."""
    path = tmp_path_factory.mktemp("pools")
    for drives in (SERVER.drives, OTHER):
        server = with_drives(drives)
        with started(image, accelerator, cables, path, server, millrace__provision=b"auto") as box:
            box.wait_serving()
            box.millrace("keep now", seconds=300)
            box.machine.shutdown()
        lose_boot_drive(path)
    return path


@pytest.mark.parametrize(
    "drives",
    [
        (*SERVER.drives, *OTHER),
        # too few of either pool to start it
        (*SERVER.drives[:2], *OTHER[:2]),
        (*SERVER.drives, OTHER[0]),
    ],
    ids=["two whole pools", "parts of both", "a drive of the other"],
)
def test_neither_pool_is_adopted_and_nothing_is_written(
    image: Path, accelerator: Accel, cables: Cables, directory: Path, drives: tuple[Drive, ...]
) -> None:
    before = digests(directory, drives)
    with started(image, accelerator, cables, directory, with_drives(drives)) as box:
        box.wait_booted()
        refused(box)
        assert digests(directory, drives) == before
        box.machine.power_cut()
    lose_boot_drive(directory)


def refused(box: Box) -> None:
    """The reason is one sentence everywhere, with status 1, and nothing of the looking is left."""
    assert SAID in box.shown("pool find --json")["problem"]
    adopted = box.millrace("pool adopt --yes", check=False, seconds=600)
    assert (adopted.status, adopted.err.count("\n")) == (1, 1) and SAID in adopted.err
    assert SAID in box.millrace("status").out
    assert box.say("ls /dev/mapper | grep find; losetup -l | grep find; grep ^md /proc/mdstat; true") == ""
    assert box.failed_units() == []
