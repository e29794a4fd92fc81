# SPDX-License-Identifier: Apache-2.0
"""An image is written as it is, read back from the device, and a cut write does not boot."""

import hashlib
import os
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from host import artefacts, flash, secure_boot
from host.block_device import BlockDevice
from millrace.system.errors import BadInput, Failed, Refused

MIB = 1 << 20
LENGTH = 9 * MIB
SIZE = 24 * MIB


def quiet(_: str) -> None:
    pass


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """As large as it must be to have an ESP, no multiple of what is read at once, and with a hole."""
    path = tmp_path / "image.raw"
    entry = secure_boot.ESP.bytes_le + bytes(16) + struct.pack("<QQ", 2048, 4095) + bytes(80)
    header = b"EFI PART" + bytes(64) + struct.pack("<QII", 2, 1, len(entry)) + bytes(4)
    with path.open("wb") as file:
        file.write(bytes(512) + header.ljust(512, b"\0") + entry)
        file.seek(5 * MIB)
        file.write(os.urandom(LENGTH - 5 * MIB))
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "device"
    path.write_bytes(b"\xff" * SIZE)
    return path


def drive(path: Path, serial: str = "S1", size: int = SIZE) -> BlockDevice:
    return BlockDevice(str(path), "disk", size, "ACME", serial, (), False, 512, ())


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_device_has_the_image_and_no_partition_table_behind_it(image: Path, target: Path) -> None:
    flash.flash(drive(target), image, digest(image), quiet)
    data = target.read_bytes()
    assert data[:LENGTH] == image.read_bytes()
    assert data[-MIB:] == bytes(MIB) and data[LENGTH:-MIB] == b"\xff" * (SIZE - MIB - LENGTH)


@pytest.mark.parametrize("spare", [0, 512, MIB])
def test_image_that_fills_the_device_keeps_its_end(image: Path, tmp_path: Path, spare: int) -> None:
    device = tmp_path / "exact"
    device.write_bytes(b"\xff" * (LENGTH + spare))
    flash.flash(drive(device, size=LENGTH + spare), image, digest(image), quiet)
    assert device.read_bytes() == image.read_bytes() + bytes(spare)


def test_cut_write_leaves_nothing_that_boots(image: Path, target: Path) -> None:
    """The old table is gone first and the new one comes last."""

    def cut(words: str) -> None:
        if words.startswith("waiting"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        flash.write(image, target, SIZE, cut)
    assert target.read_bytes()[:MIB] == bytes(MIB)


def test_drive_that_gives_back_other_bytes_is_named(image: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrote = flash.write

    def fail_quietly(image: Path, target: Path, size: int, show: flash.Show) -> None:
        wrote(image, target, size, show)
        with target.open("r+b") as file:
            file.seek(LENGTH - 1)
            file.write(bytes([image.read_bytes()[-1] ^ 1]))

    monkeypatch.setattr(flash, "write", fail_quietly)
    with pytest.raises(Failed, match="other bytes than were written"):
        flash.flash(drive(target), image, digest(image), quiet)


def test_drive_that_fails_is_one_sentence(image: Path) -> None:
    with pytest.raises(Failed, match=r"^/dev/full failed: .*; it does not boot"):
        flash.flash(drive(Path("/dev/full")), image, digest(image), quiet)


def test_progress_names_rate_and_amount(image: Path, target: Path) -> None:
    shown: list[str] = []
    flash.flash(drive(target), image, digest(image), shown.append)
    assert any(line.startswith("writing: 0.0 of 0.0 GB, ") and line.endswith(" MB/s") for line in shown)
    assert any(line.startswith("reading back: ") for line in shown)


def test_image_is_compared_with_the_list_beside_it(image: Path) -> None:
    assert flash.verified(image, quiet) == digest(image)
    artefacts.write_sums(image.parent)
    assert flash.verified(image, quiet) == digest(image)
    with image.open("r+b") as file:
        file.truncate(LENGTH - 1)
    with pytest.raises(Failed, match=r"is not the file that .*SHA256SUMS lists"):
        flash.verified(image, quiet)


@pytest.mark.parametrize("content", [b"", b"text", bytes(4 * MIB)])
def test_file_that_is_no_image_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(BadInput, match="is no image of a boot drive"):
        flash.verified(tmp_path / "other", quiet)


def refuse(question: str) -> str:
    raise AssertionError(question)


def test_serial_number_is_typed(target: Path) -> None:
    flash.confirm(drive(target), False, None, lambda _: " S1\n", True)
    for typed in ("", "s1", "yes"):
        with pytest.raises(Refused, match="nothing was written"):
            flash.confirm(drive(target), False, None, lambda _, typed=typed: typed, True)


def test_end_of_input_is_no_confirmation(target: Path) -> None:
    def end(_: str) -> str:
        raise EOFError

    with pytest.raises(Refused, match="nothing was written"):
        flash.confirm(drive(target), False, None, end, True)


def test_without_a_terminal_yes_and_serial_are_needed(target: Path) -> None:
    with pytest.raises(BadInput, match="no terminal"):
        flash.confirm(drive(target), False, "S1", refuse, False)
    with pytest.raises(BadInput, match="--yes needs --serial"):
        flash.confirm(drive(target), True, None, refuse, False)
    with pytest.raises(Refused, match="has the serial number S1, not S2"):
        flash.confirm(drive(target), True, "S2", refuse, True)
    flash.confirm(drive(target), True, "S1", refuse, False)


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "loop.raw"
    with file.open("wb") as out:
        out.truncate(SIZE)
    try:
        done = subprocess.run(["losetup", "--find", "--show", str(file)], capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"losetup cannot be started ({error.strerror}); install the package mount")
    if done.returncode != 0:
        pytest.skip(f"no loop device ({done.stderr.strip()}); run as root on a host with the module loop")
    device = Path(done.stdout.strip())
    yield device
    subprocess.run(["losetup", "--detach", str(device)], check=True)


def test_block_device_is_written_by_the_command(loop: Path, image: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert flash.main([str(loop), str(image), "--yes", "--serial", str(loop)]) == 0
    with loop.open("rb") as file:
        assert file.read(LENGTH) == image.read_bytes()
    assert "read it back: the same bytes" in capsys.readouterr().out


def test_block_device_in_use_is_not_written(loop: Path, image: Path) -> None:
    held = os.open(loop, os.O_RDONLY | os.O_EXCL)
    try:
        with pytest.raises(Refused, match="is in use, by an array"):
            flash.main([str(loop), str(image), "--yes", "--serial", str(loop)])
    finally:
        os.close(held)
    with loop.open("rb") as file:
        assert file.read(MIB) == bytes(MIB)


def test_missing_image_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"There is no image .*; run tools/build first"):
        flash.main(["/dev/null", str(tmp_path / "none.raw")])
