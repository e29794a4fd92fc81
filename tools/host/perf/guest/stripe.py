# SPDX-License-Identifier: Apache-2.0
"""2: writes that fill whole stripes, and those that do not."""

import fcntl
import struct
from collections.abc import Callable
from pathlib import Path

from host.perf.guest import pool
from host.perf.guest.lab import Lab
from host.perf.guest.load import Outcome, fio
from host.perf.guest.pool import DATA, MOUNTPOINT
from host.perf.guest.shell import run

FILE = Path(MOUNTPOINT) / "load"
MIB = 1 << 20
WRITES = 128
# linux/fiemap.h: header, then one extent; linux/fs.h: FS_IOC_FIEMAP
HEADER, EXTENT = "=QQLLLL", "=QQQ16xL12x"
FIEMAP = 0xC020660B


def bench(lab: Lab) -> None:
    """New files as they come, files that begin on a stripe, and the array itself."""
    for setup in lab.job.setups:
        with pool.pool(setup):
            lab.measure("1 MiB, new file", setup.name, writes("1m"), gone)
            start = preallocate()
            lab.measure("1 MiB, on a stripe", setup.name, writes("1m", offset=to_stripe(start), overwrite=0))
            lab.measure("768 KiB, on a stripe", setup.name, writes("768k", offset=to_stripe(start), overwrite=0))
    with pool.arrays(lab.setup("tuned")):
        for shift in (0, 512, 4):
            lab.measure("1 MiB, array", f"tuned, {shift} KiB off", raw(shift), lambda: None)


def gone() -> None:
    """Every run writes a file of its own."""
    FILE.unlink(missing_ok=True)


def preallocate() -> int:
    """Allocate a file and return where it begins on the array, in bytes."""
    gone()
    run("fallocate", "-l", str((WRITES + 2) * MIB), str(FILE))
    return first_extent(FILE)


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


def writes(block: str, **more: str | int) -> Callable[[], Outcome]:
    """Direct writes in order, four at a time."""
    options: dict[str, str | int] = {"filename": str(FILE), "ioengine": "libaio", "rw": "write", "bs": block}
    options |= {"direct": 1, "iodepth": 4, "size": WRITES * MIB, "fallocate": "none", **more}
    return lambda: fio(**options)


def raw(shift: int) -> Callable[[], Outcome]:
    """The same on the array, `shift` KiB behind the beginning of every other stripe, so that none is shared."""
    options: dict[str, str | int] = {"filename": DATA, "ioengine": "libaio", "rw": "write:1m", "bs": "1m"}
    options |= {"direct": 1, "iodepth": 4, "offset": f"{shift}k", "size": 2 * WRITES * MIB, "io_size": WRITES * MIB}
    return lambda: fio(**options)
