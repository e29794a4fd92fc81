# SPDX-License-Identifier: Apache-2.0
"""1: the log of XFS on drives of its own, as fast or faster, against one inside the array."""

from host.perf.guest import pool
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import fio
from host.perf.guest.pool import MOUNTPOINT

COUNT = 1000


def bench(lab: Lab) -> None:
    """Extents that are allocated and not yet written, and a file that grows."""
    for setup in lab.job.setups:
        with pool.pool(setup):
            lab.measure("4 KiB into allocated space, fsync", setup.name, writes(MOUNTPOINT, fallocate="native"))
            lab.measure("4 KiB appended, fsync", setup.name, writes(MOUNTPOINT, fallocate="none"))


def writes(directory: str, **more: str | int) -> Load:
    """4 KiB writes into a new file, each of them durable before the next one."""
    options: dict[str, str | int] = {"ioengine": "psync", "rw": "write", "bs": "4k", "size": COUNT * 4096, "fsync": 1}
    return lambda number: fio(filename=f"{directory}/{number}", **options, **more)
