# SPDX-License-Identifier: Apache-2.0
"""A capture is read as the server that it was made on; one that is incomplete or changed is refused by name."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from host.captures.replay import Replay, inventory_of
from millrace.inventory.model import DriveState, Inventory
from millrace.system.errors import BadInput
from tests.unit.inventory.captures import captured, seen, unpacked

pytestmark = pytest.mark.skipif(not shutil.which("zstd"), reason="needs zstd")


@pytest.fixture(name="captured")
def captured_(tmp_path: Path) -> tuple[Inventory, Path]:
    return captured(tmp_path)


def test_the_directory_it_unpacks_to_is_as_good(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    real, file = captured
    assert seen(inventory_of(unpacked(file, tmp_path / "unpacked"))) == seen(real)


def test_a_drive_whose_answers_are_missing_is_unknown(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    directory = unpacked(captured[1], tmp_path / "unpacked")
    replay = Replay(directory)
    replay._answers.clear()
    assert {drive.state for drive in replay.collect().drives} == {DriveState.UNKNOWN, DriveState.BOOT}


@pytest.mark.parametrize("size", [0, 1, 200, -1])
def test_a_truncated_capture_is_named(captured: tuple[Inventory, Path], size: int) -> None:
    file = captured[1]
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(BadInput, match=r"server\.tar\.zst: .* (is|probably) incomplete"):
        inventory_of(file)


def test_a_file_that_was_lost_or_changed_is_named(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    directory = unpacked(captured[1], tmp_path / "unpacked")
    (directory / "proc/meminfo").write_text("MemTotal: 1 kB\n")
    with pytest.raises(BadInput, match=r"unpacked: proc/meminfo is not as it was captured"):
        inventory_of(directory)
    (directory / "proc/meminfo").unlink()
    with pytest.raises(BadInput, match=r"unpacked: proc/meminfo is missing: the capture is incomplete"):
        inventory_of(directory)
    (directory / "capture.json").unlink()
    with pytest.raises(BadInput, match=r"unpacked/capture\.json is missing"):
        inventory_of(directory)


def test_a_capture_of_a_newer_release_is_refused_by_its_key(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    directory = unpacked(captured[1], tmp_path / "unpacked")
    manifest = json.loads((directory / "capture.json").read_text())
    (directory / "capture.json").write_text(json.dumps({**manifest, "schema_version": 2, "news": 1}))
    with pytest.raises(BadInput, match=r"capture\.json: schema_version: "):
        inventory_of(directory)


def changed(directory: Path, path: str, content: bytes) -> Path:
    """A capture in which a file has another content, with the right checksum."""
    (directory / path).write_bytes(content)
    manifest = json.loads((directory / "capture.json").read_text())
    manifest["files"][path] = hashlib.sha256(content).hexdigest()
    (directory / "capture.json").write_text(json.dumps(manifest))
    return directory


def test_state_of_a_drive_that_is_none_is_refused(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    directory = unpacked(captured[1], tmp_path / "unpacked")
    argv = ["surface", "/dev/nvme1n1"]
    (path,) = [path for path in directory.glob("commands/*") if json.loads(path.read_text())["argv"] == argv]
    hostile = {"argv": argv, "surface": [["x", "y", "z"]]}
    changed(directory, str(path.relative_to(directory)), json.dumps(hostile).encode())
    with pytest.raises(BadInput, match=r"surface\.0\.0: must be 'blank'"):
        inventory_of(directory)


def test_name_with_a_zero_byte_is_refused(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    directory = unpacked(captured[1], tmp_path / "unpacked")
    manifest = json.loads((directory / "capture.json").read_text())
    manifest["files"]["a\0b"] = "00"
    (directory / "capture.json").write_text(json.dumps(manifest))
    with pytest.raises(BadInput, match="names a file that no server has"):
        inventory_of(directory)
