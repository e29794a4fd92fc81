# SPDX-License-Identifier: Apache-2.0
"""6: whether nfsd goes through the page cache, keeps what it read, or passes it by (kernel 7.2, debugfs)."""

import os
from pathlib import Path

from host.perf.guest import nfsd, pool
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import fio
from host.perf.guest.pool import MOUNTPOINT
from host.perf.guest.shell import write

DEBUG = Path("/sys/kernel/debug/nfsd")
# fs/nfsd/debugfs.c
MODES = {"buffered": 0, "dontcache": 1, "direct": 2}
FILE = Path(nfsd.MNT) / "load"
BACKING = Path(MOUNTPOINT) / "load"
SIZE = "32m"


def bench(lab: Lab) -> None:
    """Measure reads of large and small blocks, cold and again, and writes."""
    (setup,) = lab.job.setups
    with pool.pool(setup), nfsd.server(setup), nfsd.client("4.2"):
        transfer("write", "1m", end_fsync=1)(lab.fresh())
        for mode, number in MODES.items():
            write(DEBUG / "io_cache_read", number)
            write(DEBUG / "io_cache_write", number)
            for block in ("1m", "64k"):
                lab.measure(f"{block} reads, cold", mode, transfer("read", block), cold)
                lab.measure(f"{block} reads, again", mode, transfer("read", block))
            writes = transfer("write", "1m", end_fsync=1, overwrite=1)
            lab.measure("1m writes", mode, writes, before=lambda: pool.forget_stripes(setup))


def transfer(rw: str, block: str, **more: str | int) -> Load:
    """Return a load on a file in order, four blocks at a time, past the client's cache."""
    options: dict[str, str | int] = {"filename": str(FILE), "ioengine": "libaio", "rw": rw, "bs": block}
    options |= {"direct": 1, "iodepth": 4, "size": SIZE, "fallocate": "none", **more}
    return lambda _: fio(**options)


def cold() -> None:
    """Let the server forget the file."""
    drop(BACKING)


def drop(path: Path) -> None:
    """Drop a file on the pool from the page cache."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)
