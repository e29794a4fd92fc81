# SPDX-License-Identifier: Apache-2.0
"""7: how much one call carries."""

from host.perf.guest import nfsd, pool
from host.perf.guest.iocache import transfer
from host.perf.guest.lab import Lab

SIZES = {"64 KiB": 1 << 16, "256 KiB": 1 << 18, "1 MiB": 1 << 20}


def bench(lab: Lab) -> None:
    """Measure the same reads from the server's cache and the same writes in calls of different sizes."""
    (setup,) = lab.job.setups
    with pool.pool(setup), nfsd.server(setup):
        for variant, size in SIZES.items():
            with nfsd.client("4.2", rsize=size, wsize=size):
                writes = transfer("write", "1m", end_fsync=1)
                lab.measure("1 MiB writes", variant, writes, before=lambda: pool.forget_stripes(setup))
                lab.measure("1 MiB reads from the server's cache", variant, transfer("read", "1m"))
