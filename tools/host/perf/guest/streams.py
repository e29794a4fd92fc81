# SPDX-License-Identifier: Apache-2.0
"""13: files read in order by one reader or many, by how far ahead the kernel reads; whole and with a drive dead."""

from pathlib import Path

from host.perf.guest import nfsd, pool
from host.perf.guest.bitmap import take_out
from host.perf.guest.iocache import drop
from host.perf.guest.job import DATA, Setup
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import fio
from host.perf.guest.pool import MOUNTPOINT
from host.perf.guest.shell import write

# How many readers, and the MiB that each reads of its file: much more than is read ahead of one, as those who end later
# have the drives for themselves; of all twice what the stripe cache holds, which answers where a drive is dead.
STREAMS = {1: 256, 4: 64, 16: 32, 64: 24}
# KiB; 128 is the kernel's default
SIZES = {"128 KiB": 128, "512 KiB": 512, "1 MiB": 1 << 10, "8 MiB": 8 << 10}


def bench(lab: Lab) -> None:
    """Measure every number of readers with every size, on the server and over NFS."""
    (setup,) = lab.job.setups
    with pool.pool(setup), nfsd.server(setup):
        # the first files are the longest
        for streams in reversed(STREAMS):
            fio(**options(MOUNTPOINT, streams), ioengine="psync", rw="write", bs="1m", end_fsync=1)
        loads(lab, setup, "whole")
        take_out()
        loads(lab, setup, "a drive dead")


def loads(lab: Lab, setup: Setup, state: str) -> None:
    """Measure both places in one state of the array."""
    for streams in STREAMS:
        for name, kib in (*SIZES.items(), ("planned", setup.read_ahead)):
            write(f"/sys/block/{pool.kernel_name(DATA)}/queue/read_ahead_kb", kib)
            test = f"{state}: {streams} at once"
            lab.measure(test, name, readers(MOUNTPOINT, streams), forget, first(MOUNTPOINT))
            with nfsd.client("4.2"):
                lab.measure(f"{test} over NFS", name, readers(nfsd.MNT, streams), forget, first(nfsd.MNT))


def options(directory: str, streams: int) -> dict[str, str | int]:
    """Return options for as many jobs as streams, each with a file of its own."""
    size = STREAMS[streams] << 20
    return {"directory": directory, "numjobs": streams, "size": size, "filename_format": "load.$jobnum"}


def readers(directory: str, streams: int) -> Load:
    """Read the files through the page cache."""
    return lambda _: fio(**options(directory, streams), ioengine="psync", rw="read", bs="1m", invalidate=1)


def first(directory: str) -> Load:
    """Read a little, which brings programs into memory."""
    few: dict[str, str | int] = {**options(directory, 1), "io_size": 4 << 20}
    return lambda _: fio(**few, ioengine="psync", rw="read", bs="1m", invalidate=1)


def forget() -> None:
    """Let the server forget the files."""
    for path in Path(MOUNTPOINT).glob("load.*"):
        drop(path)
