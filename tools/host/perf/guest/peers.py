# SPDX-License-Identifier: Apache-2.0
"""17: the same drives under md and XFS by default, as Millrace plans them, and under ZFS."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from host.perf.guest import pool
from host.perf.guest.bitmap import MEMBER, take_out
from host.perf.guest.iocache import drop
from host.perf.guest.job import Setup
from host.perf.guest.lab import Lab, Load
from host.perf.guest.load import fio
from host.perf.guest.log import appended
from host.perf.guest.newfiles import grown, new_files
from host.perf.guest.pool import MOUNTPOINT
from host.perf.guest.shell import run

ZFS = Path("/millrace-guest/zfs")
POOL = "tank"
# A record of 1 MiB suits streams, the default of 128 KiB small blocks.
RECORDS = ("1M", "128K")
# Bytes: data are read from drives, not from memory, and the guest's memory is the drives' as well.
ARC = 512 << 20
DRIVES, LOGS = 10, 2
LARGE, SPREAD = 64, 512
# operations of each load of small blocks: ZFS reads a whole record for each
SMALL = 1000
WIDE = Path(MOUNTPOINT, "wide")
# ZFS allocates in the blocks of the drives
SECTOR_SHIFT = 12


@dataclass(frozen=True)
class Peer:
    """A pool that is mounted; of md and XFS by a setup, of ZFS without one."""

    name: str
    setup: Setup | None

    def cold(self) -> None:
        """Forget what is cached of the large file and of the drives."""
        if self.setup is not None:
            drop(WIDE)
            pool.forget_stripes(self.setup)
            return
        zpool("export", POOL)
        zpool("import", "-d", "/dev", POOL)

    def lose_drive(self) -> None:
        """Take out a drive."""
        if self.setup is not None:
            take_out()
        else:
            zpool("offline", POOL, f"{MEMBER}p1")


def bench(lab: Lab) -> None:
    """Measure streams, small blocks and appends, and reads and writes with a drive dead."""
    for setup in lab.job.setups:
        with pool.pool(setup):
            loads(lab, Peer(setup.name, setup))
    run("insmod", str(ZFS / "modules/spl.ko"))
    run("insmod", str(ZFS / "modules/zfs.ko"), f"zfs_arc_max={ARC}")
    for record in RECORDS:
        with raidz(record):
            loads(lab, Peer(f"ZFS, records of {record}", None))


def loads(lab: Lab, peer: Peer) -> None:
    """Measure one pool; the order is that of a server's life: it is filled, used, and loses a drive."""
    lab.measure("1 MiB buffered, new file, fsync", peer.name, stream("write", "psync", end_fsync=1))
    lab.measure("1 MiB direct, new file", peer.name, new_files(MOUNTPOINT, 1))
    lab.measure("1 MiB direct, 4 new files", peer.name, new_files(MOUNTPOINT, 4))
    appended(lab, "4 KiB appended, fsync", peer.name, MOUNTPOINT)
    lab.measure("4 KiB appended to 8 files, fsync", peer.name, grown(MOUNTPOINT))
    run("fallocate", "-l", f"{SPREAD}m", str(WIDE), check=False)
    fio(filename=str(WIDE), ioengine="psync", rw="write", bs="1m", size=f"{SPREAD}m", end_fsync=1)
    for state in ("whole", "a drive dead"):
        if state != "whole":
            peer.lose_drive()
        for name, load in (
            ("1 MiB buffered reads", part("read", "psync")),
            ("1 MiB direct reads", part("read", "libaio", direct=1, iodepth=4)),
            ("1 MiB direct writes", part("write", "libaio", direct=1, iodepth=4)),
            ("4 KiB random reads, 1 at a time", small("randread", 1)),
            ("4 KiB random reads, 16 at a time", small("randread", 16)),
            ("4 KiB random writes, 16 at a time", small("randwrite", 16)),
            ("4 KiB written over, fdatasync", small("randwrite", 1, direct=0, ioengine="psync", fdatasync=1)),
        ):
            lab.measure(f"{state}: {name}", peer.name, load, before=peer.cold)


def stream(rw: str, engine: str, **more: str | int) -> Load:
    """Return a load of 1 MiB blocks in order on a new file."""
    options: dict[str, str | int] = {"ioengine": engine, "rw": rw, "bs": "1m", "size": f"{LARGE}m", **more}
    return lambda number: fio(filename=f"{MOUNTPOINT}/stream.{number}", fallocate="none", **options)


def part(rw: str, engine: str, **more: str | int) -> Load:
    """Return a load of 1 MiB blocks in order on a part of the large file, another one in each run."""
    options: dict[str, str | int] = {"ioengine": engine, "rw": rw, "bs": "1m", "size": f"{LARGE}m", **more}
    return lambda number: fio(
        filename=str(WIDE), overwrite=1, offset=f"{number % (SPREAD // LARGE) * LARGE}m", **options
    )


def small(rw: str, depth: int, **more: str | int) -> Load:
    """Return a load of 4 KiB blocks all over the large file, elsewhere in each run."""
    options: dict[str, str | int] = {"ioengine": "libaio", "rw": rw, "bs": "4k", "direct": 1, "iodepth": depth}
    options |= {"size": f"{SPREAD}m", "io_size": SMALL * 4096, "overwrite": 1, **more}
    return lambda number: fio(filename=str(WIDE), randseed=number, **options)


@contextmanager
def raidz(record: str) -> Iterator[None]:
    """Make raidz2 of the data drives with a mirror of the log drives, as an administrator with this load would."""
    drives = [f"/dev/nullb{number}p1" for number in range(DRIVES + LOGS)]
    for number in range(DRIVES + LOGS):
        run("sh", "-c", f"echo 'start=1MiB' | sfdisk --quiet --label gpt /dev/nullb{number}")
    options = [f"recordsize={record}", "compression=off", "atime=off", "xattr=sa", f"mountpoint={MOUNTPOINT}"]
    settings = [word for option in options for word in ("-O", option)]
    devices = ["raidz2", *drives[:DRIVES], "log", "mirror", *drives[DRIVES:]]
    zpool("create", "-f", "-o", f"ashift={SECTOR_SHIFT}", "-o", "cachefile=none", *settings, POOL, *devices)
    pool.quiet()
    try:
        yield
    finally:
        zpool("destroy", POOL)


def zpool(*words: str) -> None:
    """Run zpool with the libraries that came with it."""
    run("env", f"LD_LIBRARY_PATH={ZFS / 'lib'}", str(ZFS / "bin/zpool"), *words)
