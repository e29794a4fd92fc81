# SPDX-License-Identifier: Apache-2.0
"""A capture has the inventory of its server and does not identify the owner."""

import shutil
from pathlib import Path

import pytest

from host.captures.replay import inventory_of
from millrace.cli.program import run
from millrace.inventory.anonymise import Anonymiser
from millrace.inventory.capture import capture
from millrace.inventory.model import DriveState, Inventory
from millrace.system.errors import Failed, Refused
from tests.fakes.files.trees import booted, nothing_found
from tests.unit.inventory.captures import MAC, answers, captured, seen, server, unpacked

pytestmark = pytest.mark.skipif(not shutil.which("zstd"), reason="needs zstd")


@pytest.fixture(name="captured")
def captured_(tmp_path: Path) -> tuple[Inventory, Path]:
    return captured(tmp_path)


def test_capture_has_the_inventory_of_the_server(captured: tuple[Inventory, Path]) -> None:
    real, file = captured
    assert len(real.drives) == 6
    assert {drive.state for drive in real.drives} == {
        DriveState.BLANK, DriveState.FOREIGN, DriveState.UNKNOWN, DriveState.BOOT,
    }  # fmt: skip
    assert seen(inventory_of(file)) == seen(real)


def test_drives_keep_their_own_pseudonym_of_the_same_shape(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    real, file = captured
    copy = inventory_of(file)
    for drive, pseudonym in zip(real.drives, copy.drives, strict=True):
        assert len(pseudonym.serial) == len(drive.serial)
        assert len(pseudonym.wwid) == len(drive.wwid)
        assert not drive.serial or pseudonym.serial != drive.serial
    assert len({drive.serial for drive in copy.drives}) == len({drive.serial for drive in real.drives})
    again = tmp_path / "again.tar.zst"
    capture(again, sysroot=tmp_path / "server", run=answers)
    assert [drive.serial for drive in inventory_of(again).drives] == [drive.serial for drive in copy.drives]


def test_nothing_in_it_says_whose_server_it_is(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    directory = unpacked(captured[1], tmp_path / "unpacked")
    everything = b"".join(
        str(path.relative_to(directory)).encode() + (b"" if path.is_symlink() or path.is_dir() else path.read_bytes())
        for path in directory.rglob("*")
    ).lower()
    for secret in (
        "goldfish", "payroll", "alice", "corp.example", MAC, "00:15:b3", "10.20.30.40", "fe80::", "cz3042xyz9",
        "s64hne0t5000", "phlj9123", "s3z8nb", "0025384300", "25385b71", "0e7b47c2", "secret42", "8d1f4c7a", "secret.ko",
    ):  # fmt: skip
        assert secret.encode() not in everything, secret


def test_serial_numbers_stay_where_the_owner_says_so(tmp_path: Path) -> None:
    root, file = tmp_path / "server", tmp_path / "server.tar.zst"
    server(root)
    real = capture(file, keep_serials=True, sysroot=root, run=answers)
    assert seen(inventory_of(file), keep=True) == seen(real, keep=True)


def test_equal_serial_numbers_stay_equal_and_different_ones_different(tmp_path: Path) -> None:
    root, file = tmp_path / "server", tmp_path / "server.tar.zst"
    tree = booted(root)
    for number, serial in enumerate(["TWIN", "TWIN", "A", "B", "C", "D"]):
        tree.nvme(number, serial, wwid=f"eui.{number}")
    capture(file, sysroot=root, run=nothing_found)
    assert [drive.state for drive in inventory_of(file).drives[:6]] == [*["unknown"] * 2, *["blank"] * 4]


def test_no_file_is_overwritten(captured: tuple[Inventory, Path], tmp_path: Path) -> None:
    with pytest.raises(Refused, match="already exists"):
        capture(captured[1], sysroot=tmp_path / "server", run=answers)


def test_a_place_that_cannot_be_written_is_one_sentence_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def look(*_: object) -> None:
        raise AssertionError("the server is looked at before it is known where the capture goes")

    monkeypatch.setattr("millrace.inventory.capture.collect", look)
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to("nowhere")
    for file, sentence in (
        (tmp_path / "none/x.tar.zst", f"cannot be made: {tmp_path}/none does not exist; create it first"),
        (tmp_path / "file/x.tar.zst", "cannot be written: Not a directory"),
        (tmp_path / "dangling", "already exists"),
        (tmp_path, "already exists"),
        (Path("/proc/x.tar.zst"), "cannot be "),
    ):
        assert run(["inventory", "--capture", str(file)]) == 1
        said = capsys.readouterr().err
        assert sentence in said and len(said.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "file"]


def test_a_disk_that_is_full_leaves_nothing(
    captured: tuple[Inventory, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> str:
        raise Failed("zstd: No space left on device")

    monkeypatch.setattr("millrace.system.archive.must", full)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(Failed, match="No space left"):
        capture(tmp_path / "new.tar.zst", sysroot=tmp_path / "server", run=answers)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "kept", ["0000:81:00.0", "nvme10n1", "firmware 7.2.12", "32.0 GT/s PCIe", "0-3,8", "/dev/nvme0n1", "16:20:01"]
)
def test_public_values_stay_readable(kept: str) -> None:
    assert Anonymiser(b"key").text(kept) == kept
