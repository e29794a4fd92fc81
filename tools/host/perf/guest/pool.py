# SPDX-License-Identifier: Apache-2.0
"""Arrays and a file system, made by the commands of a setup and taken apart again."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from host.perf.guest.job import DATA, Setup
from host.perf.guest.shell import run, write

MOUNTPOINT = "/srv/pool"
# The bitmap's daemon wakes every 5 s and clears in two rounds; time in which nothing happens costs nothing here.
QUIET_SECONDS = 20
# Entries of a stripe cache that holds next to nothing.
FEWEST_STRIPES = 256
# XFS pushes old metadata to the drives by a timer, every 30 s as it comes: where that fell into a measurement of 0.4 s,
# whole stripes "read" 60 blocks of 4 KiB. Two hours is the longest (kernel 7.2, xfs_globals.c).
METADATA_TIMER = ("/proc/sys/fs/xfs/xfssyncd_centisecs", 720_000)


def kernel_name(device: str) -> str:
    """Return the kernel's name of an array (md127) by its name in /dev/md."""
    return Path(os.path.realpath(device)).name


@contextmanager
def arrays(setup: Setup) -> Iterator[None]:
    """Make the arrays of a setup, without their first resync: memory full of zeroes is in sync."""
    devices = [argv[argv.index("--create") + 1] for argv in setup.arrays]
    for argv in setup.arrays:
        run(*argv)
    try:
        for name, attributes in setup.md.items():
            for attribute, value in attributes.items():
                write(f"/sys/block/{kernel_name('/dev/md/' + name)}/md/{attribute}", value)
        if setup.read_ahead is not None:
            write(f"/sys/block/{kernel_name(DATA)}/queue/read_ahead_kb", setup.read_ahead)
        for key, value in setup.sysctl.items():
            write("/proc/sys/" + key.replace(".", "/"), value)
        quiet()
        yield
    finally:
        for device in reversed(devices):
            run("mdadm", "--stop", device)


@contextmanager
def pool(setup: Setup) -> Iterator[None]:
    """Make arrays and file system and mount it."""
    with arrays(setup):
        run(*setup.mkfs)
        mount(setup)
        try:
            quiet()
            yield
        finally:
            run("umount", MOUNTPOINT)


def mount(setup: Setup) -> None:
    """Mount the file system of a setup."""
    options = ["-o", setup.mount] if setup.mount else []
    run("modprobe", "xfs")
    write(*METADATA_TIMER)
    run("mount", "-t", "xfs", *options, setup.device, MOUNTPOINT)


def remount(setup: Setup) -> None:
    """Forget everything that is cached of the file system, and of nothing else."""
    run("umount", MOUNTPOINT)
    mount(setup)


def leg_of(setup: Setup, drive: str) -> str:
    """Return the array that a drive is a member of."""
    return next(argv[argv.index("--create") + 1] for argv in setup.arrays if drive in argv)


def forget_stripes(setup: Setup) -> None:
    """Empty the stripe caches: what was read or written before is in none."""
    for leg, knobs in setup.md.items():
        hold_stripes(f"/dev/md/{leg}", int(knobs["stripe_cache_size"]))


def hold_stripes(array: str, entries: int) -> None:
    """Give an array a stripe cache of so many entries, of which next to none is filled.

    md batches no stripe that it finds in the cache: each of its blocks is a request of its own (kernel 7.2, raid5.c).
    """
    attribute = f"/sys/block/{kernel_name(array)}/md/stripe_cache_size"
    for number in (FEWEST_STRIPES, entries):
        write(attribute, number)


def quiet() -> None:
    """Wait until everything is on the drives and the kernel has nothing left to write."""
    os.sync()
    time.sleep(QUIET_SECONDS)
