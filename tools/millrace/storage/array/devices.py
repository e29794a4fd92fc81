# SPDX-License-Identifier: Apache-2.0
"""Kernel names of our arrays and of the drives under them. Kernel names change between boots, so nothing keeps them."""

import os
import re
from pathlib import Path

from millrace.plan.labels import array_path
from millrace.plan.model import Role
from millrace.storage.record.identity import BY_PARTUUID
from millrace.storage.record.model import Pool
from millrace.system import paths


def array_device(name: str) -> str | None:
    """Return the kernel's name (`md127`) of the array that the plan calls `name`; None where it is not assembled."""
    try:
        return Path(os.readlink(paths.ROOT / array_path(name).lstrip("/"))).name
    except OSError:
        return None


def partition_device(partuuid: str) -> str | None:
    """Return the kernel's name (`vda1`) of the partition with this GUID; None where it is not there."""
    try:
        return Path(os.readlink(paths.ROOT / f"{BY_PARTUUID}{partuuid}".lstrip("/"))).name
    except OSError:
        return None


def backend_drives(pool: Pool, role: Role | None = None) -> list[str]:
    """Return the kernel's names of the external devices under a pool that are there; of one role, or of all.

    None for a pool on arrays.
    """
    if pool.backend == "md":
        return []
    parts = [part.partuuid for drive in pool.drives for part in drive.partitions if role in (None, part.role)]
    found = [block(name).resolve().parent.name for one in parts if (name := partition_device(one))]
    return list(dict.fromkeys(found))


def block(device: str) -> Path:
    """Return the sysfs directory of a block device that is no partition."""
    return paths.ROOT / "sys/class/block" / device


def member_drives(device: str) -> set[str]:
    """Return the drives under an array, also through the legs of a raid0, without the partitions between."""
    drives: set[str] = set()
    for slave in (block(device) / "slaves").glob("*"):
        if (block(slave.name) / "md").is_dir():
            drives |= member_drives(slave.name)
        elif (block(slave.name) / "partition").exists():
            drives.add(block(slave.name).resolve().parent.name)
        else:
            drives.add(slave.name)
    return drives


def requests(drive: str) -> list[str]:
    """Return the devices that queue a drive's requests: the drive, or each path to one that could have a second port.

    The kernel gives such a drive (nvme3n1) a block device for each path (nvme3c0n1), and itself no scheduler.
    """
    found = re.fullmatch(r"(nvme\d+)(n\d+)", drive)
    ways = (paths.ROOT / "sys/class/block").glob(f"{found[1]}c*{found[2]}") if found else ()
    return sorted(way.name for way in ways) or [drive]
