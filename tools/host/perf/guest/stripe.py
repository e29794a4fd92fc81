# SPDX-License-Identifier: Apache-2.0
"""2: writes that fill whole stripes, and those that do not."""

import fcntl
import struct
from pathlib import Path

from host.perf.guest import pool
from host.perf.guest.job import DATA
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import Outcome, fio
from host.perf.guest.pool import MOUNTPOINT
from host.perf.guest.shell import run

MIB = 1 << 20
WRITES = 64
# linux/fiemap.h: header, then one extent; linux/fs.h: FS_IOC_FIEMAP
HEADER, EXTENT = "=QQLLLL", "=QQQ16xL12x"
FIEMAP = 0xC020660B


def bench(lab: Lab) -> None:
    """New files as they come, files that begin on a stripe, and the array itself."""
    for setup in lab.job.setups:
        with pool.pool(setup):
            lab.measure("1 MiB, new file", setup.name, new_file)
            lab.measure("1 MiB, on a stripe", setup.name, on_stripe("1m"))
            lab.measure("768 KiB, on a stripe", setup.name, on_stripe("768k"))
    with pool.arrays(lab.setup("tuned")):
        for place, shift in enumerate((0, 256, 4)):
            lab.measure("1 MiB, array", f"tuned, {shift} KiB off", raw(shift, place))


def new_file(number: int) -> Outcome:
    """Write a file where XFS puts it."""
    return writes(f"{MOUNTPOINT}/{number}", "1m", fallocate="none")


def on_stripe(block: str) -> Load:
    """Return a load on a file that is allocated first and written from where a stripe begins."""

    def load(number: int) -> Outcome:
        file = Path(MOUNTPOINT) / str(number)
        run("fallocate", "-l", str((WRITES + 1) * MIB), str(file))
        return writes(str(file), block, offset=to_stripe(first_extent(file)))

    return load


def first_extent(file: Path) -> int:
    """Return where the first extent of a file begins on its device (Documentation/filesystems/fiemap)."""
    request = bytearray(struct.pack(HEADER, 0, MIB, 0, 0, 1, 0) + bytes(struct.calcsize(EXTENT)))
    with file.open("rb") as opened:
        fcntl.ioctl(opened, FIEMAP, request)
    _, physical, _, _ = struct.unpack_from(EXTENT, request, struct.calcsize(HEADER))
    return int(physical)


def to_stripe(start: int, stripe: int = MIB) -> int:
    """Return the offset in a file that begins at `start` where the first whole stripe begins."""
    return -start % stripe


def writes(file: str, block: str, **more: str | int) -> Outcome:
    """Direct writes in order, four at a time."""
    options: dict[str, str | int] = {"ioengine": "libaio", "rw": "write", "bs": block, "direct": 1, "iodepth": 4}
    return fio(filename=file, **options, size=WRITES * MIB, **more)


def raw(shift: int, place: int) -> Load:
    """Return the same load on the array, `shift` KiB behind the beginning of every other MiB, new ones in each run.

    `place` counts the loads, of two runs each.
    """
    span = 2 * WRITES * MIB

    def load(number: int) -> Outcome:
        offset = (2 * place + number % 2) * span + shift * 1024
        options: dict[str, str | int] = {"ioengine": "libaio", "rw": "write:1m", "bs": "1m", "direct": 1, "iodepth": 4}
        return fio(filename=DATA, **options, offset=offset, size=span, io_size=WRITES * MIB)

    return load
