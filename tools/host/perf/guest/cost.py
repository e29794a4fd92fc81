# SPDX-License-Identifier: Apache-2.0
"""18: the server's share of the CPU time of each byte and call, for the model of the expected performance.

Client and server share the CPU: what the threads of nfsd and md ran is the server's part. Over loopback they also do
what an interrupt of a network card does, and of reads the client's part of that.
"""

import time
from collections.abc import Callable
from pathlib import Path

from host.perf.guest import nfsd, pool
from host.perf.guest.bitmap import take_out
from host.perf.guest.iocache import cold, transfer
from host.perf.guest.job import DATA
from host.perf.guest.lab import Lab, Load, idle_seconds
from host.perf.guest.load import fio

LARGE = 512


def bench(lab: Lab) -> None:
    """Measure nfsd's threads, then the array alone: all of its work, and what one thread of it does."""
    (setup,) = lab.job.setups
    with pool.pool(setup), nfsd.server(setup), nfsd.client("4.2"):
        transfer("write", "1m", end_fsync=1)(lab.fresh())
        threads = ran("nfsd")
        note(lab, "NFS over TCP: reads of 1 MiB, from memory", transfer("read", "1m"), threads)
        note(lab, "NFS over TCP: reads of 1 MiB, from drives", transfer("read", "1m"), threads, cold)
        note(lab, "NFS over TCP: reads of 4 KiB, from memory", transfer("read", "4k"), threads)
        note(lab, "NFS over TCP: writes of 1 MiB", transfer("write", "1m", end_fsync=1, overwrite=1), threads)
    with pool.arrays(setup):
        serial = ran(f"{pool.kernel_name(DATA)}_raid6")
        for name, load in (("writes of 1 MiB", array("write")), ("reads of 1 MiB", array("read"))):
            note(lab, f"array: {name}, all", load, busy)
            note(lab, f"array: {name}, one thread", load, serial)
        take_out()
        note(lab, "array, a drive dead: reads of 1 MiB, all", array("read"), busy)
        note(lab, "array, a drive dead: reads of 1 MiB, one thread", array("read"), serial)


def note(
    lab: Lab, test: str, load: Load, clock: Callable[[], int], before: Callable[[], object] = lambda: None
) -> None:
    """Report what a clock in ns counts while a load runs for the second time, for each byte and each operation."""
    load(lab.fresh())
    number = lab.fresh()
    pool.quiet()
    before()
    begin = clock()
    outcome = load(number)
    took = clock() - begin
    lab.note(test, "Millrace", **{"ns each byte": took / outcome.bytes, "ns each operation": took / outcome.operations})


def ran(name: str) -> Callable[[], int]:
    """Return a clock: how long all threads of a name have run (Documentation/scheduler/sched-stats.rst)."""
    threads = [path.parent for path in Path("/proc").glob("[0-9]*/comm") if path.read_text().strip() == name]
    if not threads:
        raise RuntimeError(f"there is no thread {name}")
    return lambda: sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)


def busy() -> int:
    """A clock: how long the CPU was not idle, in steps of 10 ms."""
    return int((time.monotonic() - idle_seconds()) * 1e9)


def array(rw: str) -> Load:
    """Return a load of full stripes in order, four blocks at a time."""
    options: dict[str, str | int] = {"ioengine": "libaio", "rw": rw, "bs": "1m", "direct": 1, "iodepth": 4}
    return lambda _: fio(filename=DATA, **options, size=f"{LARGE}m")
