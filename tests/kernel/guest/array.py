# SPDX-License-Identifier: Apache-2.0
"""Arrays over drives made of memory, which refuse a place when they are told to."""

import mmap
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from host.perf.guest import drives
from host.perf.guest.shell import run, write

SECTOR, BLOCK, CHUNK = 512, 4096, 64 << 10
STRIPE_SECTORS = BLOCK // SECTOR
TOP = "/dev/md/top"
# mdadm gives up where udev does not answer; nothing answers here
WAIT = 600
STRIPES = 1024


@dataclass(frozen=True)
class Shape:
    """RAID5 or RAID6 of `drives`, or RAID0 over `legs` of them; `listing`: members have lists of bad blocks.

    `rows` are used of each drive, 0 for all that fit.
    """

    level: int
    drives: int
    legs: int = 1
    listing: bool = True
    size_mib: int = 16
    rows: int = 0

    @property
    def row(self) -> int:
        """Bytes of data in a row of a leg."""
        return (self.drives - (self.level - 4)) * CHUNK

    @property
    def name(self) -> str:
        """RAID5, RAID6, RAID50 or RAID60."""
        return f"RAID{self.level}{'0' if self.legs > 1 else ''}"


@lru_cache(1 << 14)
def patterned(generation: int, block: int) -> bytes:
    """Return the content of a block: what was written, and where.

    The product changes parity with the generation, which a sum would not where the number of data drives is even.
    """
    return struct.pack("<II", generation * (block + 1) * 0x9E3779B1 & 0xFFFFFFFF, block) * (BLOCK // 8)


def until(what: str, reached: object, seconds: float = WAIT) -> None:
    """Wait until a function returns true. RuntimeError: it does not within `seconds`."""
    assert callable(reached)
    end = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > end:
            raise RuntimeError(f"no {what} within {seconds:.0f} s: {Path('/proc/mdstat').read_text()}")
        time.sleep(0.05)


@dataclass
class Array:
    """A running array; `members` are kernel names of drives, by leg, `spares` of drives beside them."""

    shape: Shape
    members: list[list[str]]
    spares: list[str]
    device: str

    def leg(self, number: int = 0) -> str:
        """Return the kernel name of a leg."""
        return Path(os.path.realpath(f"/dev/md/leg{number}")).name

    def attribute(self, name: str, leg: int = 0) -> Path:
        """Return an attribute of md of a leg."""
        return Path("/sys/block") / self.leg(leg) / "md" / name

    def read_attribute(self, name: str, leg: int = 0) -> str:
        """Return the value of an attribute of md of a leg."""
        return self.attribute(name, leg).read_text().strip()

    def empty_cache(self) -> None:
        """Empty the stripe caches: md batches no stripe that it finds there, and reads none from the drives."""
        for number in range(self.shape.legs):
            for entries in (17, STRIPES):
                write(str(self.attribute("stripe_cache_size", number)), entries)

    def state(self, drive: str, leg: int = 0) -> str:
        """Return the state of a member; "removed" where it is none."""
        path = self.attribute(f"dev-{drive}/state", leg)
        return path.read_text().strip() if path.exists() else "removed"

    def faulty(self, drive: str, leg: int = 0) -> bool:
        """Whether a member was ejected."""
        return "faulty" in self.state(drive, leg) or self.state(drive, leg) == "removed"

    def listed(self, drive: str, leg: int = 0) -> list[range]:
        """Return the sectors of a drive that md lists as bad."""
        path = self.attribute(f"dev-{drive}/bad_blocks", leg)
        lines = path.read_text().splitlines() if path.exists() else []
        return [range(int(one), int(one) + int(count)) for one, count in map(str.split, lines)]

    def offset(self, drive: str, leg: int = 0) -> int:
        """Return the sector of a drive where its part of the array's first row is."""
        begin = int(self.attribute(f"dev-{drive}/offset", leg).read_text())
        if self.shape.legs == 1:
            return begin
        over = Path("/sys/block") / Path(os.path.realpath(self.device)).name / f"md/dev-{self.leg(leg)}/offset"
        rows, rest = divmod(int(over.read_text()) * SECTOR, self.shape.row)
        assert rest == 0
        return begin + rows * CHUNK // SECTOR

    def act(self, action: str, leg: int = 0) -> None:
        """Have md check or repair a leg, and wait for the end."""
        write(str(self.attribute("sync_action", leg)), action)
        self.settle(leg)

    def settle(self, leg: int = 0) -> None:
        """Wait until md neither checks nor rebuilds anything."""
        until("end of the resync", lambda: self.read_attribute("sync_action", leg) == "idle")

    @property
    def size(self) -> int:
        """Bytes of the array."""
        return int((Path("/sys/class/block") / Path(os.path.realpath(self.device)).name / "size").read_text()) * SECTOR


def refuse(drive: str, sectors: range) -> None:
    """Let a drive refuse every request that touches these sectors."""
    (drives.CONFIG / drive / "badblocks").write_text(f"+{sectors.start}-{sectors.stop - 1}")


def heal(drive: str, sectors: range) -> None:
    """Let a drive take requests for these sectors again."""
    (drives.CONFIG / drive / "badblocks").write_text(f"-{sectors.start}-{sectors.stop - 1}")


@contextmanager
def array(shape: Shape, single: int | None = None, spares: int = 0) -> Iterator[Array]:
    """Make an array over new drives, with bitmaps and without a resync: memory full of zeroes is in sync.

    The drive with the number `single` takes no request of more than 4 KiB. `spares` drives are made beside the array.
    """
    names = []
    for number in range(shape.drives * shape.legs + spares):
        kib = BLOCK >> 10 if number == single else 0
        names.append(drives.make(number, drives.Model(1, shape.size_mib, 100, 0, 0, request_kib=kib)))
    legs = [names[number * shape.drives : (number + 1) * shape.drives] for number in range(shape.legs)]
    made: list[str] = []
    try:
        for number, leg in enumerate(legs):
            device = f"/dev/md/leg{number}"
            options = [f"--level={shape.level}", f"--raid-devices={len(leg)}", f"--chunk={CHUNK >> 10}"]
            options += [f"--size={shape.rows * CHUNK >> 10}"] if shape.rows else []
            paths = [f"/dev/{name}" for name in leg]
            more = ["--bitmap=internal", "--assume-clean", "--metadata=1.2", "--run"]
            run("mdadm", "--create", device, *options, *more, *paths)
            made.append(device)
            if not shape.listing:
                run("mdadm", "--stop", device)
                run("mdadm", "--assemble", device, "--update=no-bbl", *paths)
        top = made[0]
        if shape.legs > 1:
            options = ["--level=0", f"--raid-devices={shape.legs}", f"--chunk={shape.row >> 10}"]
            run("mdadm", "--create", TOP, *options, "--metadata=1.2", "--run", *made)
            made.append(TOP)
            top = TOP
        raid = Array(shape, legs, names[shape.drives * shape.legs :], top)
        raid.empty_cache()
        yield raid
    finally:
        for device in reversed(made):
            run("mdadm", "--stop", device)
        for name in names:
            (drives.CONFIG / name / "power").write_text("0")
            (drives.CONFIG / name).rmdir()


@contextmanager
def opened(path: str, flags: int = 0) -> Iterator[int]:
    """Open a device past the page cache."""
    handle = os.open(path, os.O_DIRECT | flags)
    try:
        yield handle
    finally:
        os.close(handle)


def read_block(handle: int, block: int) -> bytes:
    """Return a block. OSError: it cannot be read."""
    with mmap.mmap(-1, BLOCK) as memory:
        os.preadv(handle, [memory], block * BLOCK)
        return memory[:]
