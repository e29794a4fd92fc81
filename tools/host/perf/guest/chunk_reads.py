# SPDX-License-Identifier: Apache-2.0
"""23: reads of arrays of each chunk, where the CPU is the bottleneck and no drive is."""

from host.perf.guest import pool
from host.perf.guest.bitmap import MEMBER, SPREAD, take_out
from host.perf.guest.job import DATA, Setup
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import fio
from host.perf.guest.missing import reads

# KiB of each read; nfsd and smbd read buffered
RANDOM, ORDERED = (64, 128, 256), (256, 1024)
BUFFERED = {"256 KiB buffered, random": ("randread", 256), "1024 KiB buffered, in order": ("read", 1024)}
# MiB of a load: nothing holds up the drives, and fio counts milliseconds
TOTAL = 384


def bench(lab: Lab) -> None:
    """Measure random reads and reads in order of each array, whole and with a drive dead."""
    for setup in lab.job.setups:
        with pool.arrays(setup):
            measure(lab, setup, "whole")
            take_out(pool.leg_of(setup, MEMBER))
            measure(lab, setup, "a drive dead")


def measure(lab: Lab, setup: Setup, state: str) -> None:
    """Measure one array in one state. Its setup is named by level and chunk."""
    level, chunk = setup.name.split(", ")
    loads = {f"{kib} KiB direct, random": reads("randread", kib, 16, TOTAL) for kib in RANDOM}
    loads |= {f"{kib} KiB direct, in order": reads("read", kib, 4, TOTAL) for kib in ORDERED}
    loads |= {name: buffered(rw, kib) for name, (rw, kib) in BUFFERED.items()}
    for name, one in loads.items():
        lab.measure(f"{level}, {state}: {name}", chunk, one, before=lambda: pool.forget_stripes(setup))


def buffered(rw: str, kib: int) -> Load:
    """Return a load of reads through the page cache, which is empty before."""
    options: dict[str, str | int] = {"filename": DATA, "ioengine": "psync", "rw": rw, "bs": f"{kib}k", "invalidate": 1}
    options |= {"size": f"{SPREAD}m" if rw == "randread" else f"{TOTAL}m", "io_size": f"{TOTAL}m"}
    return lambda number: fio(**options, randseed=number)
