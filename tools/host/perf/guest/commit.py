# SPDX-License-Identifier: Apache-2.0
"""5: what it takes until a client's write is safe."""

from collections.abc import Callable
from pathlib import Path

from host.perf.guest import nfsd, pool
from host.perf.guest.lab import Lab
from host.perf.guest.load import Outcome, fio

FILE = Path(nfsd.MNT) / "load"
COUNT = 1500
VERSIONS = ("3", "4.2")


def bench(lab: Lab) -> None:
    """Writes with O_SYNC into a file that exists, and a file that grows."""
    for setup in lab.job.setups:
        with pool.pool(setup), nfsd.server(setup):
            for version in VERSIONS:
                with nfsd.client(version):
                    lab.measure(f"NFSv{version}: 4 KiB, O_SYNC", setup.name, writes(sync=1, overwrite=1))
                    lab.measure(f"NFSv{version}: 4 KiB appended, fsync", setup.name, writes(fsync=1), gone)
                    gone()


def gone() -> None:
    """Every run writes a file of its own."""
    FILE.unlink(missing_ok=True)


def writes(**more: str | int) -> Callable[[], Outcome]:
    """4 KiB writes in order, one after the other."""
    options: dict[str, str | int] = {"filename": str(FILE), "ioengine": "psync", "rw": "write", "bs": "4k"}
    options |= {"size": COUNT * 4096, "fallocate": "none", **more}
    return lambda: fio(**options)
