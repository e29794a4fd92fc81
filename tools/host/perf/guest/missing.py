# SPDX-License-Identifier: Apache-2.0
"""21 and 22: reads of an array that lacks a drive, with Debian's raid456 and with the rebuilt one."""

import os
from pathlib import Path

from host.perf.guest import pool
from host.perf.guest.bitmap import MEMBER, SPREAD, take_out
from host.perf.guest.job import DATA, Setup
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import fio
from host.perf.guest.shell import NotMeasurable, run

# Builds by their place below the modules of the running kernel.
BUILDS = {"Debian's": "kernel/drivers/md/raid456.ko.xz", "rebuilt": "updates/millrace/drivers/md/raid456.ko.xz"}
# KiB of each read, and MiB of a load; those of the smallest are fewer, so that they take as long.
SMALLEST = 4
RANDOM, ORDERED = (SMALLEST, 64, 128, 256), (64, 128, 256, 512, 1024)
SMALL, TOTAL = 47, 96


def bench(lab: Lab) -> None:
    """Measure random reads and reads in order, of each size."""
    for setup in lab.job.setups:
        for build in BUILDS:
            load(build)
            with pool.arrays(setup):
                take_out(pool.leg_of(setup, MEMBER))
                measure(lab, setup, build)


def measure(lab: Lab, setup: Setup, build: str) -> None:
    """Measure one array, which lacks a drive."""
    loads = {
        f"{kib} KiB random reads": reads("randread", kib, 16, SMALL if kib == SMALLEST else TOTAL) for kib in RANDOM
    }
    loads |= {f"{kib} KiB reads in order": reads("read", kib, 4, TOTAL) for kib in ORDERED}
    for name, one in loads.items():
        lab.measure(f"{setup.name}: {name}", build, one, before=lambda: pool.forget_stripes(setup))


def load(build: str) -> None:
    """Have the kernel use one of the builds. NotMeasurable: the image does not have it."""
    module = Path("/usr/lib/modules", os.uname().release, BUILDS[build])
    if not module.exists():
        raise NotMeasurable("The image does not have both builds of raid456: build it without --stock-modules.")
    # for what it needs
    run("modprobe", "raid456")
    run("rmmod", "raid456")
    run("insmod", str(module))


def reads(rw: str, kib: int, depth: int, total: int) -> Load:
    """Return a load of direct reads of one size, `depth` of them at a time, `total` MiB in all."""
    options: dict[str, str | int] = {"filename": DATA, "ioengine": "libaio", "rw": rw, "bs": f"{kib}k", "direct": 1}
    options |= {"iodepth": depth, "size": f"{SPREAD}m" if rw == "randread" else f"{total}m", "io_size": f"{total}m"}
    return lambda number: fio(**options, randseed=number)
