# SPDX-License-Identifier: Apache-2.0
"""4: what a dead drive and a rebuild cost readers and writers, with one and with two parities."""

import time
from collections.abc import Callable
from pathlib import Path

from host.perf.guest import pool
from host.perf.guest.bitmap import MEMBER, rebuilt
from host.perf.guest.job import Setup
from host.perf.guest.lab import Lab
from host.perf.guest.load import Outcome, fio
from host.perf.guest.pool import DATA
from host.perf.guest.shell import run, write

COUNT = 4000
SPREAD = 512
LARGE = 128
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


def small(rw: str, **more: str | int) -> Callable[[], Outcome]:
    """16 at a time, all over a part of the array."""
    options = options_of(rw, **more)
    return lambda: fio(**options)


def options_of(rw: str, **more: str | int) -> dict[str, str | int]:
    """Return fio's options for small blocks."""
    options: dict[str, str | int] = {"filename": DATA, "ioengine": "libaio", "rw": rw, "bs": "4k", "direct": 1}
    return options | {"iodepth": 16, "size": f"{SPREAD}m", "io_size": COUNT * 4096, **more}


def large(rw: str) -> Callable[[], Outcome]:
    """Whole stripes in order, four at a time."""
    return lambda: fio(filename=DATA, ioengine="libaio", rw=rw, bs="1m", direct=1, iodepth=4, size=f"{LARGE}m")


def rebuilding(lab: Lab, setup: Setup, variant: str, speed: int) -> None:
    """A reader beside a rebuild of a drive that is new; how long that takes."""
    md = Path("/sys/block") / pool.kernel_name(DATA) / "md"
    write(md / "sync_speed_max", speed)
    write(md / "sync_speed_min", 1000)
    run("mdadm", "--zero-superblock", MEMBER)
    begin = time.monotonic()
    run("mdadm", DATA, "--add", MEMBER)
    reader = fio(**options_of("randread", iodepth=1))
    if (md / "degraded").read_text().strip() == "0":
        raise RuntimeError("the rebuild was over before the reader: nothing was measured beside it")
    rebuilt(md)
    values = {"rebuild s": time.monotonic() - begin, "reads/s": reader.rate, "read p99 µs": reader.p99_us}
    lab.note(f"{setup.name}: a reader beside a rebuild", variant, **values)
    run("mdadm", DATA, "--fail", MEMBER)
    time.sleep(1)
    run("mdadm", DATA, "--remove", MEMBER)
