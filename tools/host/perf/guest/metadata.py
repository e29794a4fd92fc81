# SPDX-License-Identifier: Apache-2.0
"""16: metadata and small files on a mirror beside the stripes, with the RAID as the realtime device of XFS."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from host.perf.guest import pool
from host.perf.guest.iocache import drop
from host.perf.guest.job import Setup
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import Outcome, fio
from host.perf.guest.log import appended
from host.perf.guest.newfiles import buffered, grown, new_files
from host.perf.guest.pool import MOUNTPOINT
from host.perf.guest.shell import run

FILES, SMALL, BIG = 2000, 4096, 64
# project of the directory whose quota is tried, and its limit in MiB
PROJECT, LIMIT = 42, 8


def bench(lab: Lab) -> None:
    """Measure trees of small files, appends and streams with each setup, and what works on it."""
    for setup in lab.job.setups:
        with pool.pool(setup):
            # with the RAID as realtime device new directories are on it, this one is not
            small, large = Path(MOUNTPOINT, "small"), Path(MOUNTPOINT, "large")
            for directory in (small, large):
                directory.mkdir()
            if setup.realtime:
                run("xfs_io", "-c", "chattr -t", str(small))
            trees(lab, setup, small)
            for kind, directory in (("", small), (", in a directory of large files", large)):
                appended(lab, f"4 KiB appended, fsync{kind}", setup.name, str(directory))
            lab.measure("4 KiB appended to 8 files, fsync", setup.name, grown(str(small)))
            lab.measure("1 MiB direct, new file", setup.name, new_files(str(large), 1))
            lab.measure("1 MiB direct, 4 new files", setup.name, new_files(str(large), 4))
            lab.measure("1 MiB buffered, new file", setup.name, buffered(str(large)))
            read(lab, setup, large / "wide")
            lab.note("works", setup.name, **works(large))


def trees(lab: Lab, setup: Setup, directory: Path) -> None:
    """Measure how fast small files are made, looked up and removed, with the last of it on the drives."""

    def each(work: Callable[[Path], None]) -> Load:
        def load(number: int) -> Outcome:
            place = directory / str(number)
            return timed([place / str(file) for file in range(FILES)], work)

        return load

    def make(path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(SMALL))

    lab.measure("small files made", setup.name, each(make))

    def look(path: Path) -> None:
        path.stat()

    # of those that were made
    numbers = sorted(int(path.name) for path in directory.iterdir())

    def again(work: Callable[[Path], None]) -> Load:
        left = iter(numbers)
        return lambda _: each(work)(next(left))

    lab.measure("small files looked up", setup.name, again(look), before=cold(setup))
    lab.measure("small files removed", setup.name, again(Path.unlink), before=cold(setup))


def cold(setup: Setup) -> Callable[[], None]:
    """Return what forgets everything that is cached of the file system."""
    return lambda: pool.remount(setup)


def timed(paths: list[Path], work: Callable[[Path], None]) -> Outcome:
    """Do something with each path; the last of it is on the drives at the end."""
    begin = time.monotonic()
    for path in paths:
        work(path)
    run("sync", "-f", MOUNTPOINT)
    return Outcome(len(paths), len(paths) * SMALL, time.monotonic() - begin, 0.0)


def read(lab: Lab, setup: Setup, path: Path) -> None:
    """Measure reads of a file in order, four blocks at a time, past the page cache."""
    fio(filename=str(path), ioengine="psync", rw="write", bs="1m", size=f"{BIG}m", end_fsync=1)
    options: dict[str, str | int] = {"ioengine": "libaio", "bs": "1m", "direct": 1, "iodepth": 4, "size": f"{BIG}m"}
    lab.measure(
        "1 MiB reads", setup.name, lambda _: fio(filename=str(path), rw="read", **options), before=lambda: drop(path)
    )


def works(directory: Path) -> dict[str, float]:
    """Return what works in a directory of large files: 1 or 0 for clones by reflink and for quotas."""
    source = directory / "wide"
    cloned = succeeds("cp", "--reflink=always", str(source), f"{source}.copy")
    limited = directory / "limited"
    limited.mkdir()
    run("xfs_quota", "-x", "-c", f"project -s -p {limited} {PROJECT}", MOUNTPOINT, check=False)
    run("xfs_quota", "-x", "-c", f"limit -p bhard={LIMIT}m rtbhard={LIMIT}m {PROJECT}", MOUNTPOINT, check=False)
    refused = False
    try:
        with (limited / "file").open("wb") as file:
            for _ in range(2 * LIMIT):
                file.write(bytes(1 << 20))
                os.fsync(file.fileno())
    except OSError:
        refused = True
    return {"reflink": float(cloned), "quota": float(refused)}


def succeeds(*argv: str) -> bool:
    """Run a command and return whether it succeeded."""
    try:
        run(*argv)
    except RuntimeError:
        return False
    return True
