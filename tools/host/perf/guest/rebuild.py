# SPDX-License-Identifier: Apache-2.0
"""9: what a rebuild costs a reader at each priority, when the array survives no more failure."""

import time
from pathlib import Path

from host.perf.guest import drives, pool
from host.perf.guest.bitmap import MEMBER, SPREAD, take_out
from host.perf.guest.job import DATA
from host.perf.guest.lab import Lab
from host.perf.guest.load import Outcome, fio
from host.perf.guest.shell import run, write

TEST = "4 KiB random reads, 1 at a time"
# KiB/s of each drive, what an emulated one can do; a priority guarantees this part of it
# (`millrace.tune.rebuild_speed`).
LIMIT = 60_000
PARTS = {"clients": 8, "balanced": 4, "rebuild": 1}
# Simulated seconds. md takes the rate of a rebuild since its start, and lets the first second pass.
WARM, SECONDS = 2.0, 1.5


def bench(lab: Lab) -> None:
    """Measure a reader without one drive, then beside a rebuild at each priority."""
    (setup,) = lab.job.setups
    with pool.arrays(setup):
        md = Path("/sys/block") / pool.kernel_name(DATA) / "md"
        take_out()
        lab.measure(TEST, "a drive dead", reader)
        for priority, part in PARTS.items():
            write(md / "sync_speed_max", LIMIT)
            write(md / "sync_speed_min", LIMIT // part)
            beside(lab, md, priority)


def beside(lab: Lab, md: Path, priority: str) -> None:
    """Measure a reader beside the rebuild of a drive that is new, and how fast that is meanwhile."""
    run("mdadm", "--zero-superblock", MEMBER)
    run("mdadm", DATA, "--add", MEMBER)
    rates = []

    def load(number: int) -> Outcome:
        before, begin = written(), time.monotonic()
        outcome = reader(number)
        rates.append((written() - before) / (time.monotonic() - begin) / 1e6)
        return outcome

    lab.measure(TEST, priority, load, warm=lambda number: reader(number, WARM), settle=lambda: None)
    if (md / "degraded").read_text().strip() == "0":
        raise RuntimeError("the rebuild was over before the reader: nothing was measured beside it")
    lab.note("a rebuild beside the reader", priority, **{"MB/s": rates[-1]})
    take_out()


def reader(number: int, seconds: float = SECONDS) -> Outcome:
    """Read small blocks all over the array for so many simulated seconds, one at a time."""
    options: dict[str, str | int] = {"filename": DATA, "ioengine": "libaio", "rw": "randread", "bs": "4k", "direct": 1}
    options |= {"iodepth": 1, "size": f"{SPREAD}m", "time_based": 1, "runtime": f"{round(seconds * 1000)}ms"}
    return fio(**options, randseed=number)


def written() -> int:
    """Return the bytes that the new drive got so far."""
    return drives.count([Path(MEMBER).name]).written_bytes
