# SPDX-License-Identifier: Apache-2.0
"""1: the log of XFS on drives of its own, as fast or faster, against one inside the array."""

from collections.abc import Callable
from pathlib import Path

from host.perf.guest import pool
from host.perf.guest.lab import Lab
from host.perf.guest.load import Outcome, fio
from host.perf.guest.pool import MOUNTPOINT

FILE = Path(MOUNTPOINT) / "load"
COUNT = 2000


def gone() -> None:
    """Every run writes a file of its own."""
    FILE.unlink(missing_ok=True)


def commit(**more: str | int) -> Callable[[], Outcome]:
    """4 KiB writes, each of them durable before the next one."""
    options: dict[str, str | int] = {"filename": str(FILE), "ioengine": "psync", "rw": "write", "bs": "4k"}
    options |= {"size": COUNT * 4096, **more}
    return lambda: fio(**options)


def bench(lab: Lab) -> None:
    """Extents that are allocated and not yet written, and a file that grows."""
    for setup in lab.job.setups:
        with pool.pool(setup):
            lab.measure("4 KiB, fdatasync", setup.name, commit(fdatasync=1, fallocate="native"), gone)
            lab.measure("4 KiB appended, fsync", setup.name, commit(fsync=1, fallocate="none"), gone)
