# SPDX-License-Identifier: Apache-2.0
"""24: what a file system that is nearly full costs new files, and what it makes of their extents.

Files come and go until half of what the file system holds was replaced: what is free lies between files then, as it
does after months. They take space and are not written, so that hours of use take seconds.
"""

import math
import os
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from host.perf.guest import pool
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import Outcome, fio
from host.perf.guest.log import appended
from host.perf.guest.pool import MOUNTPOINT
from host.perf.guest.shell import run

KIB, MIB = 1 << 10, 1 << 20
# Per cent of the file system that is used, as `df` and `health` count it.
LEVELS = (50, 80, 90, 95, 98, 99)
# What the files of a mix have, from the smallest to the largest; as many in each doubling.
SMALL, LARGE = "files of 16 KiB to 2 MiB", "files of 1 to 64 MiB"
MIXES = {SMALL: (16 * KIB, 2 * MIB), LARGE: (MIB, 64 * MIB)}
DIRECTORIES = 64
# Of the file system, what is replaced at each level.
REPLACED = 0.5
# MiB of each measured file
NEW = 32


def bench(lab: Lab) -> None:
    """Measure new files at each level, in a file system that was used up to it."""
    for setup in lab.job.setups:
        for mix, (smallest, largest) in MIXES.items():
            with pool.pool(setup):
                used = Used(Path(MOUNTPOINT), smallest, largest)
                place = Path(MOUNTPOINT, "share")
                place.mkdir()
                for level in LEVELS:
                    used.fill(level)
                    pool.quiet()
                    measure(lab, f"{level} % full", mix, str(place))


def measure(lab: Lab, level: str, mix: str, place: str) -> None:
    """Measure a file system as it is. What is written is removed again."""
    kept: list[str] = []

    def again() -> None:
        for path in kept:
            Path(path).unlink()
        kept.clear()

    for name, load in (("1 MiB direct", direct(place, kept)), ("1 MiB buffered", buffered(place, kept))):
        lab.measure(f"{mix}: {name}, new file", level, load, before=again)
        lab.note(f"{mix}: {name}, new file", level, extents=extents(kept[-1]), **free_space())
        again()
    appended(lab, f"{mix}: 4 KiB appended, fsync", level, place)
    for path in Path(place).iterdir():
        path.unlink()


@dataclass
class Used:
    """A file system in use. Sizes in bytes; what comes and goes is the same at each run."""

    root: Path
    smallest: int
    largest: int

    def __post_init__(self) -> None:
        self._lot = random.Random(1)
        self._files: list[tuple[Path, int]] = []
        self._number = 0
        for number in range(DIRECTORIES):
            (self.root / f"used{number}").mkdir()

    def fill(self, level: float) -> None:
        """Use so many per cent, then replace files."""
        wanted, left = self._held() * level / 100, self._held() * REPLACED
        while self.bytes() < wanted:
            self._add()
        while left > 0:
            left -= self._add()
            while self.bytes() > wanted:
                self._remove()

    def bytes(self) -> int:
        """Return how many bytes are used."""
        found = os.statvfs(self.root)
        return (found.f_blocks - found.f_bfree) * found.f_frsize

    def _add(self) -> int:
        size = round(self.smallest * math.pow(self.largest / self.smallest, self._lot.random()))
        # it has to fit, or the last per cent is never reached
        while self.bytes() + size > self._held() - 2 * NEW * MIB and self._files:
            self._remove()
        self._number += 1
        path = self.root / f"used{self._lot.randrange(DIRECTORIES)}" / str(self._number)
        file = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            os.posix_fallocate(file, 0, size)
        finally:
            os.close(file)
        self._files.append((path, size))
        return size

    def _remove(self) -> None:
        place = self._lot.randrange(len(self._files))
        self._files[place], self._files[-1] = self._files[-1], self._files[place]
        path, _ = self._files.pop()
        path.unlink()

    def _held(self) -> int:
        found = os.statvfs(self.root)
        return found.f_blocks * found.f_frsize


def direct(place: str, kept: list[str]) -> Load:
    """Return a load of direct writes into a new file, four at a time."""
    options: dict[str, str | int] = {"ioengine": "libaio", "rw": "write", "bs": "1m", "direct": 1, "iodepth": 4}
    return _kept(place, kept, lambda path: fio(filename=path, **options, size=f"{NEW}m", fallocate="none"))


def buffered(place: str, kept: list[str]) -> Load:
    """Return a load that writes a new file through the page cache, down to the drives."""
    options: dict[str, str | int] = {"ioengine": "psync", "rw": "write", "bs": "1m", "size": f"{NEW}m"}
    return _kept(place, kept, lambda path: fio(filename=path, **options, fallocate="none", end_fsync=1))


def _kept(place: str, kept: list[str], write: Callable[[str], Outcome]) -> Load:
    def load(number: int) -> Outcome:
        kept.append(f"{place}/{number}")
        return write(kept[-1])

    return load


def extents(path: str) -> int:
    """Return in how many pieces a file lies, as the file system tells it (FIEMAP)."""
    text = run("xfs_io", "-r", "-c", "fiemap", path)
    return len(re.findall(r"^\s+\d+: \[", text, re.MULTILINE))


def free_space() -> dict[str, float]:
    """Return how free space lies: pieces, and the mean of their MiB."""
    text = run("xfs_spaceman", "-c", "freesp -s", MOUNTPOINT)
    (pieces,) = (int(found[1]) for found in re.finditer(r"total free extents (\d+)", text))
    (average,) = (float(found[1]) for found in re.finditer(r"average free extent size ([\d.]+)", text))
    return {"free extents": pieces, "MiB each": average * 4096 / MIB}
