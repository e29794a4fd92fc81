# SPDX-License-Identifier: Apache-2.0
"""1: the log of XFS on drives of its own, as fast or faster, against one inside the array."""

from host.perf.guest import pool
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import fio
from host.perf.guest.pool import MOUNTPOINT

COUNT = 1000
WARM = 250


def bench(lab: Lab) -> None:
    """Measure extents that are allocated and not yet written, and a file that grows."""
    for setup in lab.job.setups:
        with pool.pool(setup):
            safe, warm = (writes(MOUNTPOINT, count, fallocate="native") for count in (COUNT, WARM))
            lab.measure("4 KiB into allocated space, fsync", setup.name, safe, warm=warm)
            appended(lab, "4 KiB appended, fsync", setup.name, MOUNTPOINT)


def appended(lab: Lab, test: str, variant: str, directory: str) -> None:
    """Measure a file that grows by 4 KiB at a time, which are durable before the next ones."""
    safe, warm = (writes(directory, count, fallocate="none") for count in (COUNT, WARM))
    lab.measure(test, variant, safe, warm=warm)


def writes(directory: str, count: int, **more: str | int) -> Load:
    """Return a load of so many 4 KiB writes into a new file, each of them durable before the next one."""
    options: dict[str, str | int] = {"ioengine": "psync", "rw": "write", "bs": "4k", "size": count * 4096, "fsync": 1}
    return lambda number: fio(filename=f"{directory}/{number}", **options, **more)
