# SPDX-License-Identifier: Apache-2.0
"""8: how far ahead the kernel reads and how many stripes md holds, on drives that take long to answer."""

from functools import partial

from host.perf.guest import pool
from host.perf.guest.job import DATA, Setup
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import fio
from host.perf.guest.pool import MOUNTPOINT
from host.perf.guest.shell import write

TOTAL = 64 << 20
STREAMS = (1, 4, 16)
# KiB; 128 is what the kernel gives a plain device
PLAIN = 128
FEW = 256


def bench(lab: Lab) -> None:
    """Measure files read in order by one, four and sixteen readers, and whole stripes written by as many writers."""
    (setup,) = lab.job.setups
    with pool.pool(setup):
        name = pool.kernel_name(DATA)
        for variant, kib in (("128 KiB", PLAIN), ("planned", setup.read_ahead)):
            write(f"/sys/block/{name}/queue/read_ahead_kb", kib)
            for streams in STREAMS:
                lab.measure(f"read-ahead, {files(streams)} read", variant, readers(streams))
        planned = stripe_cache(setup)
        for variant, stripes in (("256 stripes", FEW), ("planned", planned)):
            empty = partial(pool.hold_stripes, DATA, stripes)
            empty()
            for streams in STREAMS:
                lab.measure(f"stripe cache, {files(streams)} written", variant, writers(streams), before=empty)


def stripe_cache(setup: Setup) -> int:
    """Return the planned size of the data array's stripe cache, in entries."""
    return int(setup.md["millrace-data"]["stripe_cache_size"])


def files(streams: int) -> str:
    """Return `1 file`, `4 files`."""
    return f"{streams} file{'s' * (streams > 1)}"


def readers(streams: int) -> Load:
    """Read `streams` files through the page cache; fio drops the cached files first."""
    options = options_of(streams)
    return lambda _: fio(**options, ioengine="psync", rw="read", bs="128k")


def writers(streams: int) -> Load:
    """Write `streams` files past the page cache."""
    options = options_of(streams)
    return lambda _: fio(**options, ioengine="libaio", rw="write", bs="1m", direct=1, iodepth=2)


def options_of(streams: int) -> dict[str, str | int]:
    """Return options for as many jobs as streams, each with a file of its own."""
    size = TOTAL // streams
    return {"directory": MOUNTPOINT, "numjobs": streams, "size": size, "filename_format": f"{streams}.$jobnum"}
