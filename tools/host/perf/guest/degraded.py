# SPDX-License-Identifier: Apache-2.0
"""4: what a dead drive costs readers and writers, with one and with two parities."""

from host.perf.guest import pool
from host.perf.guest.bitmap import MEMBER, SPREAD, take_out
from host.perf.guest.job import DATA, Setup
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import fio

# fio reports whole milliseconds: reads, which are fast, are more.
READS, WRITES = 12000, 2000
LARGE, LARGE_READ = 96, 256


def bench(lab: Lab) -> None:
    """Measure the same loads on a healthy array and without one drive."""
    for setup in lab.job.setups:
        with pool.arrays(setup):
            loads(lab, setup, "whole")
            take_out(pool.leg_of(setup, MEMBER))
            loads(lab, setup, "a drive dead")


def loads(lab: Lab, setup: Setup, state: str) -> None:
    """Readers and writers of small and large blocks, none of which the stripe cache has."""
    level = setup.name
    for test, load in (
        (f"{level}: 4 KiB random reads", small("randread")),
        (f"{level}: 1 MiB reads", large("read")),
        (f"{level}: 4 KiB random writes", small("randwrite")),
        (f"{level}: 1 MiB writes", large("write")),
    ):
        lab.measure(test, state, load, before=lambda: pool.forget_stripes(setup))


def small(rw: str, depth: int = 16) -> Load:
    """Return a load of small blocks all over the array, elsewhere in each run; `depth` requests in flight."""
    options: dict[str, str | int] = {"filename": DATA, "ioengine": "libaio", "rw": rw, "bs": "4k", "direct": 1}
    options |= {
        "iodepth": depth,
        "size": f"{SPREAD}m",
        "io_size": (READS if rw == "randread" and depth > 1 else WRITES) * 4096,
    }
    return lambda number: fio(**options, randseed=number)


def large(rw: str) -> Load:
    """Return a load of whole stripes in order, four at a time."""
    size = LARGE_READ if rw == "read" else LARGE
    options: dict[str, str | int] = {"ioengine": "libaio", "rw": rw, "bs": "1m", "direct": 1, "iodepth": 4}
    return lambda _: fio(filename=DATA, **options, size=f"{size}m")
