# SPDX-License-Identifier: Apache-2.0
"""15: what the chunk and md's copy of each written page cost the CPU and the drives."""

from pathlib import Path

from host.perf.guest import pool
from host.perf.guest.bitmap import MEMBER, take_out
from host.perf.guest.iocache import drop
from host.perf.guest.job import Setup
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import Outcome, fio
from host.perf.guest.log import appended
from host.perf.guest.newfiles import buffered, new_files
from host.perf.guest.pool import MOUNTPOINT
from host.perf.guest.shell import run

# MiB of the file that is read and written again, in order and at random places
LARGE, SPREAD = 64, 512
READS, WRITES, REWRITES = 12000, 2000, 8000
FILE = Path(MOUNTPOINT, "load")
WIDE = Path(MOUNTPOINT, "wide")


def bench(lab: Lab) -> None:
    """Measure streams, small blocks and appends with each setup, and reads and writes with a drive dead."""
    for setup in lab.job.setups:
        with pool.pool(setup):
            lab.measure("1 MiB buffered, new file", setup.name, buffered(MOUNTPOINT))
            lab.measure("1 MiB, new file", setup.name, new_files(MOUNTPOINT, 1))
            lab.measure("1 MiB, 4 new files", setup.name, new_files(MOUNTPOINT, 4))
            appended(lab, "4 KiB appended, fsync", setup.name, MOUNTPOINT)
            # A page that is written again while it is on its way to the drives waits where md makes no copy of it.
            lab.measure("4 KiB written again and again, buffered", setup.name, again())
            # Where buffered writes begin their extents is chance, and a file that begins in a stripe is slower.
            run("fallocate", "-l", f"{SPREAD}m", str(WIDE))
            fio(filename=str(WIDE), ioengine="psync", rw="write", bs="1m", size=f"{SPREAD}m", end_fsync=1)
            loads(lab, setup, "whole")
            take_out(pool.leg_of(setup, MEMBER))
            loads(lab, setup, "a drive dead")


def loads(lab: Lab, setup: Setup, state: str) -> None:
    """Measure what goes on with a drive dead, too."""

    def cold() -> None:
        drop(WIDE)
        pool.forget_stripes(setup)

    for name, load in (
        ("1 MiB reads", ordered("read")),
        ("1 MiB buffered reads", streamed),
        ("1 MiB writes", ordered("write")),
        ("4 KiB random reads", small("randread", READS)),
        ("4 KiB random writes", small("randwrite", WRITES)),
    ):
        lab.measure(f"{state}: {name}", setup.name, load, before=cold)


def ordered(rw: str) -> Load:
    """Return a load of direct 1 MiB blocks in order, four at a time, in another part of the file in each run."""
    options: dict[str, str | int] = {"ioengine": "libaio", "rw": rw, "bs": "1m", "direct": 1, "iodepth": 4}
    parts = SPREAD // LARGE
    return lambda number: fio(
        filename=str(WIDE), **options, offset=f"{number % parts * LARGE}m", size=f"{LARGE}m", overwrite=1
    )


def streamed(number: int) -> Outcome:
    """Read a part of the file in order through the page cache."""
    offset = f"{number % (SPREAD // LARGE) * LARGE}m"
    return fio(filename=str(WIDE), ioengine="psync", rw="read", bs="1m", offset=offset, size=f"{LARGE}m", invalidate=1)


def small(rw: str, count: int) -> Load:
    """Return a load of so many 4 KiB blocks, 16 at a time, at other places of the file in each run."""
    options: dict[str, str | int] = {"ioengine": "libaio", "rw": rw, "bs": "4k", "direct": 1, "iodepth": 16}
    options |= {"size": f"{SPREAD}m", "io_size": count * 4096, "overwrite": 1}
    return lambda number: fio(filename=str(WIDE), **options, randseed=number)


def again() -> Load:
    """Return a load that writes a small file over and over, which the kernel writes out meanwhile."""
    options: dict[str, str | int] = {"ioengine": "psync", "rw": "randwrite", "bs": "4k", "size": "1m"}
    options |= {"io_size": REWRITES * 4096, "sync_file_range": "write:64", "norandommap": 1}
    return lambda number: fio(filename=str(FILE), **options, randseed=number)
