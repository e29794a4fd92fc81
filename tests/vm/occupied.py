# SPDX-License-Identifier: Apache-2.0
"""Drives that are not blank, each in another way."""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.unit.inventory import images
from vm.machine import Machine
from vm.server import Drive

MIB = 1 << 20

# what is on it: (what makes it, words that the refusal must say)
KINDS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "gpt": (images.gpt, "GPT"),
    "ext4": (images.ext4, "ext4"),
    "xfs": (images.xfs, "XFS"),
    "md-1.2": (images.md_1_2, "1.2"),
    "md-0.90": (images.md_0_90, "0.90"),
    "lvm": (images.lvm, "LVM"),
    "zfs": (images.zfs_at_end, "ZFS"),
    "luks": (images.luks, "LUKS"),
    "millrace": (lambda path: images.gpt(path, "millrace-data-07"), "another Millrace pool: do not erase it"),
}

# by serial number, on alternating nodes; 512-byte sectors: a GPT is looked for in the second sector
DRIVES = {
    f"OCC{number:011d}": (kind, Drive(f"OCC{number:011d}", 608 * MIB, number % 2, 512))
    for number, kind in enumerate(KINDS, start=1)
}


def occupy(machine: Machine) -> None:
    """Write the content of every occupied drive of a machine that is still off."""
    machine.files.directory.mkdir(parents=True, exist_ok=True)
    for serial, (kind, drive) in DRIVES.items():
        _fill(machine.files.drive(serial), drive.size, KINDS[kind][0])


def _fill(path: Path, size: int, make: Callable[[Path], Path]) -> None:
    """Write what `make` makes to a drive of `size` bytes: its first half at the start, its last at the end."""
    sample = make(path.with_suffix(".sample"))
    data = sample.read_bytes()
    sample.unlink()
    half = len(data) // 2
    with path.open("wb") as drive:
        drive.truncate(size)
        for start, part in ((0, data[:half]), (size - half, data[half:])):
            for offset in range(0, half, MIB):
                chunk = part[offset : offset + MIB]
                if chunk.strip(b"\0"):
                    drive.seek(start + offset)
                    drive.write(chunk)


def checksums(machine: Machine) -> dict[str, str]:
    """The sha256 of every occupied drive, read on the host."""
    found = {}
    for serial in DRIVES:
        with machine.files.drive(serial).open("rb") as file:
            found[serial] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def written(machine: Machine, drives: Iterable[Drive]) -> list[str]:
    """The serials of those drives that were made blank and of which the host had to store something since."""
    files = {drive.serial: machine.files.drive(drive.serial) for drive in drives}
    return [serial for serial, file in files.items() if file.stat().st_blocks]
