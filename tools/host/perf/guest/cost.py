# SPDX-License-Identifier: Apache-2.0
"""18 and 25: the server's share of the CPU time of each byte and call, for the model of the expected performance.

Client and server share the CPU: what the threads of nfsd and the processes of smbd ran is the server's part. Over
loopback they also do what an interrupt of a network card does, and of reads the client's part of that.
"""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from host.perf.guest import nfsd, pool, rdma, smbd
from host.perf.guest.bitmap import take_out
from host.perf.guest.iocache import cold, transfer
from host.perf.guest.job import DATA, Setup
from host.perf.guest.lab import Lab, Load, idle_seconds
from host.perf.guest.load import fio

LARGE = 512
# MiB of each load of the array that is there to count one thread, and so many requests of 1 MiB in flight: the workers
# always have stripes.
SERIAL, DEEP = 512, 64
# Whether an interrupt finds a thread of the server or somebody else at work moves one load by a tenth.
ROUNDS = 6
# What the server asks for and what the client does. The kernel's client signs with AES-CMAC.
SMB = {"SMB, encrypted": ("desired", "seal"), "SMB, signed": ("off", "sign")}


def protocols(lab: Lab) -> None:
    """Measure nfsd's threads and the processes of smbd."""
    (planned,) = lab.job.setups
    fixed = planned.nfsd or {}
    # a thread that ends takes its time with it
    setup = replace(planned, nfsd={**fixed, "threads_min": fixed["threads_max"]})
    with pool.pool(setup):
        rdma.device()
        with nfsd.server(setup):
            with nfsd.client("4.2"):
                protocol(lab, "NFS over TCP", ran("nfsd"))
            rdma.listen(setup)
            with rdma.client():
                protocol(lab, "NFS over RDMA", ran("nfsd"))
        for name, (encrypt, security) in SMB.items():
            with smbd.server(encrypt), smbd.client(security):
                protocol(lab, name, smbd.clock)


def arrays(lab: Lab) -> None:
    """Measure an array without a file system, whole and with a drive dead."""
    (setup,) = lab.job.setups
    with pool.arrays(setup):
        alone(lab, "array")
        serial(lab, setup, "array")
        take_out()
        alone(lab, "array, a drive dead")
        serial(lab, setup, "array, a drive dead")


def protocol(lab: Lab, name: str, served: Callable[[], int]) -> None:
    """Measure what a client's reads and writes cost the server, by the clock of its processes."""
    transfer("write", "1m", end_fsync=1)(lab.fresh())
    note(lab, f"{name}: reads of 1 MiB, from memory", transfer("read", "1m"), served)
    note(lab, f"{name}: reads of 1 MiB, from drives", transfer("read", "1m"), served, cold)
    note(lab, f"{name}: reads of 4 KiB, from memory", transfer("read", "4k"), served)
    note(lab, f"{name}: writes of 1 MiB", transfer("write", "1m", end_fsync=1, overwrite=1), served)


def alone(lab: Lab, what: str) -> None:
    """Measure all the work of the array."""
    for rw in ("write", "read"):
        # what fio takes to start is in both
        half, whole = (took(lab, array(rw, size), busy) for size in (LARGE // 2, LARGE))
        lab.note(f"{what}: {rw}s of 1 MiB", "Millrace", **{"ns each byte": (whole - half) / (LARGE // 2 << 20)})


def serial(lab: Lab, setup: Setup, what: str) -> None:
    """Measure what is left to the array's own thread where its workers can do the rest.

    On one CPU it does the part of its workers, too, unless they come first: it runs when they have nothing to do.
    """
    name = f"{pool.kernel_name(DATA)}_raid"
    (thread,) = named(lambda comm: comm.startswith(name))
    os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
    for rw in ("write", "read"):
        test = f"{what}: {rw}s of 1 MiB, its own thread"
        note(lab, test, array(rw, SERIAL, DEEP), lambda: run_of(thread), lambda: pool.forget_stripes(setup))
    os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def note(
    lab: Lab, test: str, load: Load, clock: Callable[[], int], before: Callable[[], object] = lambda: None
) -> None:
    """Report what a clock in ns counts while a load runs again and again, for each byte and each operation."""
    load(lab.fresh())
    took, moved, operations = 0, 0, 0
    for _ in range(ROUNDS):
        number = lab.fresh()
        pool.quiet()
        before()
        begin = clock()
        outcome = load(number)
        took += clock() - begin
        moved += outcome.bytes
        operations += outcome.operations
    lab.note(test, "Millrace", **{"ns each byte": took / moved, "ns each operation": took / operations})


def took(lab: Lab, load: Load, clock: Callable[[], int]) -> int:
    """Return what a clock counts while a load runs for the second time."""
    load(lab.fresh())
    pool.quiet()
    begin = clock()
    load(lab.fresh())
    return clock() - begin


def ran(name: str) -> Callable[[], int]:
    """Return a clock: how long all threads of a name have run (Documentation/scheduler/sched-stats.rst).

    RuntimeError: there is none.
    """
    threads = named(lambda comm: comm == name)
    if not threads:
        raise RuntimeError(f"there is no thread {name}")
    return lambda: sum(run_of(thread) for thread in threads)


def run_of(thread: int) -> int:
    """Return how long a thread has run, in ns."""
    return int(Path(f"/proc/{thread}/schedstat").read_text().split()[0])


def named(wanted: Callable[[str], bool]) -> list[int]:
    """Return the processes and threads of the kernel with such a name."""
    return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/comm") if wanted(path.read_text().strip())]


def busy() -> int:
    """A clock: how long the CPU was not idle, in steps of 10 ms."""
    return int((time.monotonic() - idle_seconds()) * 1e9)


def array(rw: str, size: int, depth: int = 4) -> Load:
    """Return a load of so many MiB of full stripes in order, so many blocks at a time."""
    options: dict[str, str | int] = {"ioengine": "libaio", "rw": rw, "bs": "1m", "direct": 1, "iodepth": depth}
    return lambda _: fio(filename=DATA, **options, size=f"{size}m")
