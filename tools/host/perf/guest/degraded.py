# SPDX-License-Identifier: Apache-2.0
"""4: what a dead drive and a rebuild cost readers and writers, with one and with two parities."""

import time
from pathlib import Path

from host.perf.guest import pool
from host.perf.guest.bitmap import MEMBER, SPREAD, rebuilt
from host.perf.guest.job import Setup
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import fio
from host.perf.guest.pool import DATA
from host.perf.guest.shell import run, write

# fio reports whole milliseconds: reads, which are fast, are more.
READS, WRITES = 12000, 2000
LARGE = 96
# KiB/s that a rebuild may take of each drive: the kernel's default at this scale of drives, and no limit.
SPEEDS = {"rebuild, slow": 4000, "rebuild, fast": 1_000_000}


def bench(lab: Lab) -> None:
    """The same loads on a whole array, without one drive, and beside a rebuild."""
    for setup in lab.job.setups:
        with pool.arrays(setup):
            loads(lab, setup.name, "whole")
            run("mdadm", DATA, "--fail", MEMBER)
            time.sleep(1)
            run("mdadm", DATA, "--remove", MEMBER)
            loads(lab, setup.name, "a drive dead")
            for variant, speed in SPEEDS.items():
                rebuilding(lab, setup, variant, speed)


def loads(lab: Lab, level: str, state: str) -> None:
    """Readers and writers of small and large blocks."""
    for test, load in (
        (f"{level}: 4 KiB random reads", small("randread")),
        (f"{level}: 1 MiB reads", large("read")),
        (f"{level}: 4 KiB random writes", small("randwrite")),
        (f"{level}: 1 MiB writes", large("write")),
    ):
        lab.measure(test, state, load)


def small(rw: str, depth: int = 16) -> Load:
    """Small blocks all over the array, elsewhere in each run."""
    options: dict[str, str | int] = {"filename": DATA, "ioengine": "libaio", "rw": rw, "bs": "4k", "direct": 1}
    options |= {
        "iodepth": depth,
        "size": f"{SPREAD}m",
        "io_size": (READS if rw == "randread" and depth > 1 else WRITES) * 4096,
    }
    return lambda number: fio(**options, randseed=number)


def large(rw: str) -> Load:
    """Whole stripes in order, four at a time."""
    loops = 2 if rw == "read" else 1
    options: dict[str, str | int] = {"ioengine": "libaio", "rw": rw, "bs": "1m", "direct": 1, "iodepth": 4}
    return lambda _: fio(filename=DATA, **options, size=f"{LARGE}m", loops=loops)


def rebuilding(lab: Lab, setup: Setup, variant: str, speed: int) -> None:
    """A reader beside a rebuild of a drive that is new; how long that takes."""
    md = Path("/sys/block") / pool.kernel_name(DATA) / "md"
    write(md / "sync_speed_max", speed)
    write(md / "sync_speed_min", 1000)
    run("mdadm", "--zero-superblock", MEMBER)
    begin = time.monotonic()
    run("mdadm", DATA, "--add", MEMBER)
    reader = small("randread", 1)(lab.fresh())
    if (md / "degraded").read_text().strip() == "0":
        raise RuntimeError("the rebuild was over before the reader: nothing was measured beside it")
    rebuilt(md)
    values = {"rebuild s": time.monotonic() - begin, "reads/s": reader.rate, "read p99 µs": reader.p99_us}
    lab.note(f"{setup.name}: a reader beside a rebuild", variant, **values)
    run("mdadm", DATA, "--fail", MEMBER)
    time.sleep(1)
    run("mdadm", DATA, "--remove", MEMBER)
