# SPDX-License-Identifier: Apache-2.0
"""A block device of this host as lsblk shows it, and whether an image may be written to it."""

import json
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.text import size as shown_size

COLUMNS = "PATH,TYPE,SIZE,MODEL,SERIAL,MOUNTPOINTS,RO,LOG-SEC"
# A loop device is a file of this host, as tests use it.
WHOLE = ("disk", "loop")
# What runs the host; its disk is named so in the refusal.
HOST = ("/", "/usr", "/boot", "/boot/efi", "[SWAP]")
# That of the image's partition table.
SECTOR = 512

Run = Callable[[Sequence[str]], subprocess.CompletedProcess[str]]


@dataclass(frozen=True)
class BlockDevice:
    """A device and what is on it; sizes in bytes."""

    path: str
    kind: str
    size: int
    model: str
    serial: str
    mounted: tuple[str, ...]
    read_only: bool
    sector: int
    children: tuple["BlockDevice", ...]

    def below(self) -> Iterator["BlockDevice"]:
        """Return the device and all that is on it: partitions, arrays, volumes."""
        yield self
        for child in self.children:
            yield from child.below()

    @property
    def name(self) -> str:
        """What is typed to confirm: the serial number, or the path of a device that has none."""
        return self.serial or self.path

    def __str__(self) -> str:
        return (
            f"{self.path}: {self.model or 'unknown model'}, serial {self.serial or 'unknown'}, {shown_size(self.size)}"
        )


def _run(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def _model(row: dict[str, Any]) -> BlockDevice:
    return BlockDevice(
        path=row["path"],
        kind=row["type"],
        size=int(row["size"]),
        # a drive may have anything in its name; a terminal acts on control characters
        model="".join(c for c in row["model"] or "" if c.isprintable()).strip(),
        serial="".join(c for c in row["serial"] or "" if c.isprintable()).strip(),
        mounted=tuple(mountpoint for mountpoint in row["mountpoints"] if mountpoint),
        read_only=bool(row["ro"]),
        sector=int(row["log-sec"]),
        children=tuple(_model(child) for child in row.get("children", ())),
    )


def find(device: Path, run: Run = _run) -> BlockDevice:
    """Return the device that a path leads to. BadInput: it is none. Failed: lsblk cannot read it."""
    path = device.resolve()
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise BadInput(f"{device} cannot be read: {error.strerror}.") from error
    if not stat.S_ISBLK(mode):
        raise BadInput(f"{device} is not a block device; name a drive, such as /dev/disk/by-id/BOOT-DRIVE.")
    done = run(["lsblk", "--json", "--bytes", "--output", COLUMNS, str(path)])
    try:
        (row,) = json.loads(done.stdout)["blockdevices"]
        return _model(row)
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"lsblk cannot read {path}: {done.stderr.strip() or 'unexpected output'}.") from error


def check(device: BlockDevice, needed: int) -> None:
    """Verify that an image of `needed` bytes may be written. Refused, with the reason and what to do."""
    if device.kind not in WHOLE:
        raise Refused(f"{device.path} is no whole drive (lsblk: {device.kind}); name the drive that it is on.")
    mounts = [(part.path, place) for part in device.below() for place in part.mounted]
    for path, place in mounts:
        if place in HOST:
            raise Refused(f"{device.path} is this host's own disk ({path} is {place}); it is not written.")
    if mounts:
        path, place = mounts[0]
        raise Refused(f"{path} is mounted on {place}; unmount it first: umount {path}")
    stacked = [part.path for part in device.below() if part.kind not in (*WHOLE, "part")]
    if stacked:
        raise Refused(f"{device.path} is in use by {', '.join(sorted(set(stacked)))}; stop that first.")
    if device.read_only:
        raise Refused(f"{device.path} is write-protected.")
    if device.sector != SECTOR:
        raise Refused(f"{device.path} has {device.sector}-byte sectors; the image needs {SECTOR}: use another drive.")
    if device.size < needed:
        lacking = needed - device.size
        raise Refused(f"{device.path} is {lacking} bytes smaller than the image; use a larger drive.")
