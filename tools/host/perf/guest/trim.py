# SPDX-License-Identifier: Apache-2.0
"""10: what a trim costs a reader, all at once and in slices with pauses."""

import fcntl
import os
import re
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from host.perf.guest import pool
from host.perf.guest.bitmap import SPREAD
from host.perf.guest.job import DATA
from host.perf.guest.lab import Lab
from host.perf.guest.load import Outcome, fio
from host.perf.guest.shell import run, write

SAFELY = "/sys/module/raid456/parameters/devices_handle_discard_safely"
# linux/fs.h: _IOWR('X', 121, struct fstrim_range), of start, length and the smallest extent
FITRIM, RANGE = 0xC0185879, "QQQ"
TEST = "4 KiB random reads, 1 at a time"
# The part of the time that a trim takes, as millrace.plan.discard; slices are scaled down like the drives.
SHARE, SLICE = 0.25, 128 << 20
# FITRIM returns before the drives have all discards: slices in the stripe cache take more of the time than SHARE.
# as long as several slices with their pauses
READS = 20_000


def bench(lab: Lab) -> None:
    """Measure a reader alone, then beside trims of the whole file system."""
    run("modprobe", "raid456")
    # md takes it when it starts an array
    write(SAFELY, "Y")
    for setup in lab.job.setups:
        with pool.pool(setup):
            group, size = geometry(run("xfs_spaceman", "-c", "info", pool.MOUNTPOINT))
            lab.measure(TEST, "no trim", reader)
            whole, sliced = Trim([(0, size)], 1), Trim(slices(size, group), SHARE)
            for variant, trim in (("all at once", whole), ("in slices", sliced)):
                lab.measure(TEST, variant, trim.beside(reader))
                lab.note("FITRIM beside the reader", variant, **trim.figures())


def reader(number: int) -> Outcome:
    """Read small blocks all over the filled part of the array."""
    options: dict[str, str | int] = {"filename": DATA, "ioengine": "libaio", "rw": "randread", "bs": "4k"}
    return fio(**options, direct=1, iodepth=1, size=f"{SPREAD}m", io_size=READS * 4096, randseed=number)


def geometry(text: str) -> tuple[int, int]:
    """Return the bytes of an allocation group and of the file system, as xfs_spaceman reports them."""
    group = re.search(r"agsize=(\d+) blks", text)
    data = re.search(r"^data +=.*\bbsize=(\d+) +blocks=(\d+),", text, re.MULTILINE)
    if group is None or data is None:
        raise RuntimeError(f"no geometry in {text!r}")
    return int(group[1]) * int(data[1]), int(data[2]) * int(data[1])


def slices(size: int, group: int) -> list[tuple[int, int]]:
    """Return offset and length of slices that stay in their allocation group."""
    starts = [at for first in range(0, size, group) for at in range(first, min(first + group, size), SLICE)]
    return [(at, end - at) for at, end in zip(starts, [*starts[1:], size], strict=True)]


class Trim:
    """Trims again and again while a load runs; `share` of the time is FITRIM, the rest pauses."""

    def __init__(self, ranges: list[tuple[int, int]], share: float) -> None:
        self._ranges, self._share = ranges, share
        self._seconds: list[float] = []
        self._error: OSError | None = None

    def beside(self, load: Callable[[int], Outcome]) -> Callable[[int], Outcome]:
        """Return the same load beside the trim."""

        def both(number: int) -> Outcome:
            with self._running():
                outcome = load(number)
            if self._error is not None:
                raise self._error
            return outcome

        return both

    def figures(self) -> dict[str, float]:
        """Return how often and how long FITRIM ran. RuntimeError: it never came to its end."""
        if not self._seconds:
            raise RuntimeError("no FITRIM ended: nothing was measured beside it")
        return {"times": len(self._seconds), "longest s": max(self._seconds)}

    @contextmanager
    def _running(self) -> Iterator[None]:
        self._seconds, over = [], threading.Event()
        thread = threading.Thread(target=self._trim, args=[over])
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _trim(self, over: threading.Event) -> None:
        handle = os.open(pool.MOUNTPOINT, os.O_RDONLY)
        try:
            while not over.is_set():
                for offset, length in self._ranges:
                    begin = time.monotonic()
                    fcntl.ioctl(handle, FITRIM, struct.pack(RANGE, offset, length, 0))
                    self._seconds.append(time.monotonic() - begin)
                    if over.wait(self._seconds[-1] * (1 / self._share - 1)):
                        return
        except OSError as error:
            self._error = error
        finally:
            os.close(handle)
