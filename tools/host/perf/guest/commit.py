# SPDX-License-Identifier: Apache-2.0
"""5: what it takes until a client's write is safe."""

from host.perf.guest import log, nfsd, pool
from host.perf.guest.control import durable
from host.perf.guest.lab import Lab

VERSIONS = ("3", "4.2")
# A second; the bands are wider than what one pause of 12 ms moves.
COUNT = 2000
WARM = 500


def bench(lab: Lab) -> None:
    """Measure writes with O_SYNC into a file that exists, and a file that grows."""
    for setup in lab.job.setups:
        with pool.pool(setup), nfsd.server(setup):
            for version in VERSIONS:
                with nfsd.client(version):
                    safe, warm = durable(COUNT), durable(COUNT, WARM)
                    lab.measure(f"NFSv{version}: 4 KiB, O_SYNC", setup.name, safe, warm=warm)
                    log.appended(lab, f"NFSv{version}: 4 KiB appended, fsync", setup.name, nfsd.MNT)
