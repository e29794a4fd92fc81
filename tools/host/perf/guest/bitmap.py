# SPDX-License-Identifier: Apache-2.0
"""3: what a write-intent bitmap costs, and what it is good for when a drive comes back."""

import time
from pathlib import Path

from host.perf.guest import pool
from host.perf.guest.job import DATA
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import Outcome, fio
from host.perf.guest.shell import run

COUNT = 2000
# MiB of the array that random blocks are in, as much as was filled.
SPREAD = 1000
# The drive that leaves and comes back.
MEMBER = "/dev/nullb3"
MISSED = 64
SECONDS = 0.2


def bench(lab: Lab) -> None:
    """Measure random and sequential writes, then a drive that was removed for a few writes."""
    for setup in lab.job.setups:
        with pool.arrays(setup):
            lab.measure("4 KiB random, 1 at a time", setup.name, random(1))
            lab.measure("4 KiB random, 16 at a time", setup.name, random(16))
            lab.measure("1 MiB in order", setup.name, sequential)
            lab.note("a drive is back after 64 missed writes", setup.name, **comes_back(lab))


def random(depth: int, count: int = COUNT) -> Load:
    """Write 4 KiB blocks all over the array, elsewhere in each run: stripes that were written before are cached."""
    options: dict[str, str | int] = {"filename": DATA, "ioengine": "libaio", "rw": "randwrite", "bs": "4k"}
    options |= {"direct": 1, "iodepth": depth, "size": f"{SPREAD}m", "io_size": count * 4096}
    return lambda number: fio(**options, randseed=number)


def sequential(_: int) -> Outcome:
    """Write whole stripes."""
    return fio(filename=DATA, ioengine="libaio", rw="write", bs="1m", direct=1, iodepth=4, size="96m")


def take_out(array: str = DATA) -> None:
    """Fail the drive and remove it from its array."""
    run("mdadm", array, "--fail", MEMBER)
    time.sleep(1)
    run("mdadm", array, "--remove", MEMBER)


def comes_back(lab: Lab) -> dict[str, float]:
    """Take a drive out, write a little, put it back; return what is copied to it."""
    md = Path("/sys/block") / pool.kernel_name(DATA) / "md"
    take_out()
    random(1, MISSED)(lab.fresh())
    pool.quiet()
    before, begin = lab.data(), time.monotonic()
    # Without a bitmap md cannot tell what it missed and takes it for a new drive.
    run("mdadm", DATA, "--re-add", MEMBER, check=False)
    if (md / "degraded").read_text().strip() != "0" and (md / "sync_action").read_text().strip() == "idle":
        run("mdadm", DATA, "--add", MEMBER, check=False)
    rebuilt(md)
    copied = (lab.data() - before).written_bytes
    return {"s until whole": time.monotonic() - begin, "MiB written": copied / (1 << 20)}


def rebuilt(md: Path) -> None:
    """Wait until an array has all its members again."""
    while (md / "degraded").read_text().strip() != "0":
        time.sleep(SECONDS)
