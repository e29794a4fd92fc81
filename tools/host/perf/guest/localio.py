# SPDX-License-Identifier: Apache-2.0
"""12: a client on the server itself, through nfsd and around it."""

from pathlib import Path

from host.perf.guest import nfsd, pool
from host.perf.guest.iocache import FILE, cold, transfer
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import fio

# Whether the kernel goes around nfsd for a mount (kernel 7.2, fs/nfs/sysfs.c).
USED = "/sys/fs/nfs"
VARIANTS = {"NFS over TCP": False, "LOCALIO": True}
COUNT = 8000
SIZE = "32m"


def bench(lab: Lab) -> None:
    """Measure small asynchronous reads and writes, and large reads.

    Reads are of what the server has not cached: nfsd reads through the page cache, a direct read of LOCALIO does not.
    """
    (setup,) = lab.job.setups
    with pool.pool(setup), nfsd.server(setup):
        for variant, local in VARIANTS.items():
            with nfsd.client("4.2", local=local):
                verify(local)
                transfer("write", "1m", end_fsync=1)(lab.fresh())
                lab.measure("4 KiB random reads, 16 at a time", variant, small("randread"), cold)
                lab.measure("4 KiB random writes, 16 at a time", variant, small("randwrite"))
                lab.measure("1 MiB reads", variant, transfer("read", "1m"), cold)


def small(rw: str) -> Load:
    """Return a load of 4 KiB blocks all over a file, elsewhere in each run, past the client's cache."""
    options: dict[str, str | int] = {"filename": str(FILE), "ioengine": "libaio", "rw": rw, "bs": "4k", "direct": 1}
    options |= {"iodepth": 16, "size": SIZE, "io_size": COUNT * 4096}
    return lambda number: fio(**options, randseed=number)


def verify(local: bool) -> None:
    """Verify that the mount goes around nfsd, or does not. RuntimeError: what would be measured is something else."""
    shown = [path.read_text().strip() for path in Path(USED).glob("*/localio")]
    if ("1" in shown) is not local:
        raise RuntimeError(f"LOCALIO is {'not ' if local else ''}used: {shown}")
