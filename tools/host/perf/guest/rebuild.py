# SPDX-License-Identifier: Apache-2.0
"""9: what a rebuild costs a reader, and a reader a rebuild, with one and with two parities."""

import time
from pathlib import Path

from host.perf.guest import pool
from host.perf.guest.bitmap import MEMBER, rebuilt, take_out
from host.perf.guest.degraded import small
from host.perf.guest.job import Setup
from host.perf.guest.lab import Lab
from host.perf.guest.pool import DATA
from host.perf.guest.shell import run, write

# KiB/s that a rebuild may take of each drive: the kernel's default at this scale of drives, and no limit.
SPEEDS = {"rebuild, slow": 4000, "rebuild, fast": 1_000_000}


def bench(lab: Lab) -> None:
    """Measure a reader without one drive, then beside rebuilds of it."""
    for setup in lab.job.setups:
        with pool.arrays(setup):
            take_out()
            lab.measure(f"{setup.name}: 4 KiB random reads, 1 at a time", "a drive dead", small("randread", 1))
            for variant, speed in SPEEDS.items():
                rebuilding(lab, setup, variant, speed)


def rebuilding(lab: Lab, setup: Setup, variant: str, speed: int) -> None:
    """Measure a reader beside a rebuild of a drive that is new, and how long that takes; `speed` in KiB/s."""
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
    take_out()
