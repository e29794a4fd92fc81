# SPDX-License-Identifier: Apache-2.0
"""A /dev/kvm that hangs is found by booting a kernel."""

import os
import stat
import struct
import time
from pathlib import Path

import pytest

from millrace.system.errors import Failed
from vm import accel, pe

KERNEL = b"MZ the kernel"


def loader(path: Path, name: bytes = b".linux") -> Path:
    """Write a PE file with one section."""
    start = 0x200
    header = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40)
    coff = b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 0, 0)
    table = struct.pack("<8sIIII16x", name, len(KERNEL), 0x1000, 512, start)
    path.write_bytes((header + coff + table).ljust(start, b"\0") + KERNEL.ljust(512, b"\0"))
    return path


def fake_qemu(path: Path, body: str) -> str:
    path.write_text(f'#!/bin/sh\necho started >>"{path}.log"\n{body}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


HANGS = 'echo "Probing EDD (edd=off to disable)... ok"\nexec sleep 600'
BOOTS = 'echo "Probing EDD (edd=off to disable)... ok"\necho "[    0.000000] Linux version 7.2.12"\nexec sleep 600'
ABORTS = 'echo "qemu: error: failed to set MSR" >&2\nexit 134'


def test_a_kernel_that_hangs_in_the_decompressor_is_given_up_after_the_time(tmp_path: Path) -> None:
    begin = time.monotonic()
    assert not accel.runs_kernel(tmp_path / "kernel", fake_qemu(tmp_path / "qemu", HANGS), seconds=1)
    assert 1 <= time.monotonic() - begin < 10


def test_a_kernel_that_speaks_proves_kvm_without_waiting_for_the_end(tmp_path: Path) -> None:
    begin = time.monotonic()
    assert accel.runs_kernel(tmp_path / "kernel", fake_qemu(tmp_path / "qemu", BOOTS), seconds=60)
    assert time.monotonic() - begin < 30


def test_a_qemu_that_aborts_or_is_not_there_proves_nothing(tmp_path: Path) -> None:
    assert not accel.runs_kernel(tmp_path / "kernel", fake_qemu(tmp_path / "qemu", ABORTS), seconds=60)
    assert not accel.runs_kernel(tmp_path / "kernel", str(tmp_path / "no-qemu"), seconds=60)


@pytest.mark.parametrize(("body", "expected"), [(BOOTS, "kvm"), (ABORTS, "tcg")])
def test_the_verdict_is_kept_for_this_boot(tmp_path: Path, body: str, expected: str) -> None:
    qemu = fake_qemu(tmp_path / "qemu", body)
    device = tmp_path / "kvm"
    device.touch()
    image = loader(tmp_path / "image.efi")
    for _ in range(2):
        assert accel.choose(image, tmp_path / "verdict", qemu=qemu, device=device).name == expected
    assert (tmp_path / "qemu.log").read_text().count("started") == 1


def test_a_verdict_of_another_boot_does_not_count(tmp_path: Path) -> None:
    device = tmp_path / "kvm"
    device.touch()
    (tmp_path / "verdict").write_text("another-boot+kvm kvm\n")
    qemu = fake_qemu(tmp_path / "qemu", ABORTS)
    assert accel.choose(loader(tmp_path / "image.efi"), tmp_path / "verdict", qemu=qemu, device=device).name == "tcg"


def test_without_the_device_nothing_is_booted(tmp_path: Path) -> None:
    qemu = fake_qemu(tmp_path / "qemu", BOOTS)
    chosen = accel.choose(tmp_path / "no-image", tmp_path / "verdict", qemu=qemu, device=tmp_path / "no-kvm")
    assert chosen.name == "tcg"
    assert chosen.scale >= 1
    assert not os.path.exists(f"{qemu}.log")


def test_the_kernel_is_taken_out_of_the_image(tmp_path: Path) -> None:
    assert pe.section(loader(tmp_path / "image.efi"), ".linux") == KERNEL
    with pytest.raises(Failed, match=r"no section \.initrd"):
        pe.section(tmp_path / "image.efi", ".initrd")


def test_a_file_that_is_no_kernel_image_is_named(tmp_path: Path) -> None:
    (tmp_path / "image.efi").write_bytes(b"MZ" + bytes(100))
    with pytest.raises(Failed, match=r"image\.efi"):
        pe.section(tmp_path / "image.efi", ".linux")
