# SPDX-License-Identifier: Apache-2.0
"""11: where XFS puts new files, what that costs appends, and what it leaves of the free space."""

import os
import re
from pathlib import Path

from host.perf.guest import pool
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import fio
from host.perf.guest.log import appended
from host.perf.guest.pool import MOUNTPOINT
from host.perf.guest.shell import run

KIB = 1 << 10
MIB = 1 << 20
# MiB written by each load, files that grow at once, and appends to each of them.
TOTAL, APPENDED, APPENDS = 64, 8, 250
# A name, how many files, and the bytes of each: none is a multiple of a stripe.
TREES = (("small", 400, 4 * KIB), ("middling", 120, 256 * KIB), ("large", 10, 5 * MIB + 512 * KIB))


def bench(lab: Lab) -> None:
    """Measure new files and files that grow, in a directory with the setup's hint; then write trees of files."""
    for setup in lab.job.setups:
        with pool.pool(setup):
            directory = Path(MOUNTPOINT, "share")
            directory.mkdir()
            if setup.hint:
                run("xfs_io", "-c", f"extsize {setup.hint}", str(directory))
            place = str(directory)
            lab.measure("1 MiB, new file", setup.name, new_files(place, 1))
            lab.measure("1 MiB, 4 new files", setup.name, new_files(place, 4))
            lab.measure("1 MiB buffered, new file", setup.name, buffered(place))
            appended(lab, "4 KiB appended, fsync", setup.name, place)
            lab.measure("4 KiB appended to 8 files, fsync", setup.name, grown(place))
            for name, count, size in TREES:
                lab.note(f"{name} files", setup.name, **tree(directory / name, count, size))


def new_files(directory: str, files: int) -> Load:
    """Return a load of direct writes into so many new files at once."""
    options: dict[str, str | int] = {"ioengine": "libaio", "rw": "write", "bs": "1m", "direct": 1, "iodepth": 4}
    options |= {"size": f"{TOTAL // files}m", "numjobs": files, "fallocate": "none"}
    return lambda number: fio(**options, directory=directory, filename_format=f"{number}.$jobnum")


def buffered(directory: str) -> Load:
    """Return a load that writes a new file through the page cache, down to the drives."""
    options: dict[str, str | int] = {"ioengine": "psync", "rw": "write", "bs": "1m", "size": f"{TOTAL}m"}
    return lambda number: fio(filename=f"{directory}/{number}", **options, fallocate="none", end_fsync=1)


def grown(directory: str) -> Load:
    """Return a load of files that grow at once by 4 KiB at a time, each durable before the next."""
    options: dict[str, str | int] = {"ioengine": "psync", "rw": "write", "bs": "4k", "fsync": 1, "fallocate": "none"}
    options |= {"size": APPENDS * 4096, "numjobs": APPENDED}
    return lambda number: fio(**options, directory=directory, filename_format=f"{number}.$jobnum")


def tree(directory: Path, count: int, size: int) -> dict[str, float]:
    """Write a tree of equal files; return the bytes it takes for each one of them, and how free space lies after it."""
    os.sync()
    before = os.statvfs(MOUNTPOINT)
    directory.mkdir()
    content = bytes(size)
    for number in range(count):
        (directory / str(number)).write_bytes(content)
    pool.quiet()
    after = os.statvfs(MOUNTPOINT)
    taken = (before.f_bfree - after.f_bfree) * after.f_frsize
    text = run("xfs_spaceman", "-c", "freesp -s", MOUNTPOINT)
    (extents,) = (int(match[1]) for match in re.finditer(r"total free extents (\d+)", text))
    (average,) = (float(match[1]) for match in re.finditer(r"average free extent size ([\d.]+)", text))
    return {"bytes each byte": taken / (count * size), "free extents": extents, "MiB each": average * 4096 / MIB}
