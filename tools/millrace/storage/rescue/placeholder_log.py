# SPDX-License-Identifier: Apache-2.0
"""A device in the place of the lost log, for what only reads.

The kernel mounts an XFS with an external log only with a device for it (xfs_mount.c: "specify logdev"), of the full
size, but reads nothing of it with norecovery (xfs_log.c, xfs_log_mount). xfs_repair and xfs_metadump want one as well.
A loop device over a file without blocks is one: it reads as zeros and takes no memory. It can be written, as kernels
open it for that; what would be written to it is lost.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millrace.storage.array.machine import System
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.files import write_text
from millrace.system.mounts import table
from millrace.system.run import must
from millrace.system.text import MIB

LARGEST = 2048 * MIB


def mount_point() -> Path:
    """Return where the pool is mounted to judge it."""
    return paths.run_dir() / f"{paths.VERIFY_PREFIX}rescue"


def clean_up(system: System) -> None:
    """Unmount and detach what a kill left behind. Failed: it is in use."""
    # the unit mounts it in a table of its own
    if any(mount.point == str(mount_point()) for mount in table(process="self")):
        must(system.attempt, ["umount", str(mount_point())])
    backing = _backing()
    if backing.exists():
        listed = must(system.attempt, ["losetup", "--associated", str(backing), "--noheadings", "--output", "NAME"])
        for device in listed.split():
            must(system.attempt, ["losetup", "--detach", device])
        backing.unlink()


@contextmanager
def stand_in(system: System, pool: Pool) -> Iterator[str]:
    """Yield the device in the place of the log. Failed: there is no loop device, or what uses it does not end."""
    clean_up(system)
    write_text(_backing(), "", 0o600)
    os.truncate(_backing(), pool.filesystem.log_size or LARGEST)
    must(system.attempt, ["modprobe", "loop"])
    device = must(system.attempt, ["losetup", "--find", "--show", str(_backing())]).strip()
    try:
        yield device
    finally:
        clean_up(system)


def _backing() -> Path:
    return paths.run_dir() / "rescue-log"
