# SPDX-License-Identifier: Apache-2.0
"""Whether a clone fits: into the pool, which gets inodes and no data, and into the quota of its target."""

import os

from millrace.serve.clone.clone_model import USUAL_RATE, CloneForecast, rate
from millrace.serve.clone.clone_place import ClonePlace
from millrace.serve.clone.clone_tree import Tally
from millrace.serve.share import quota
from millrace.system import paths
from millrace.system.run import Runner
from millrace.system.text import size

AN_ENTRY = 2 << 10
"""Bytes of the pool for an inode of 512 bytes, its name, its extended attributes and its extents."""
AN_EXTENT, EXTENT = 64, 1 << 20
"""Bytes of the pool for the records of one extent (map, reverse map, reference count), and of a usual one."""


def forecast(
    source: ClonePlace,
    target: ClonePlace,
    tally: Tally,
    project: int | None,
    limit: int | None,
    mountpoint: str,
    run: Runner,
) -> CloneForecast:
    """Return what a clone of what was counted needs.

    `project` is the quota project of the target where it has one, `limit` the size in bytes of a new share. Failed:
    quotas cannot be read.
    """
    metadata = needed(tally)
    known = rate()
    return CloneForecast(
        source=str(source),
        target=str(target),
        entries=tally.entries,
        charged=tally.bytes,
        metadata=metadata,
        seconds=round(tally.entries / (known or USUAL_RATE)),
        measured=known is not None,
        obstacle=_pool(tally, metadata, mountpoint) or _quota(target, tally, project, limit, mountpoint, run),
    )


def needed(tally: Tally) -> int:
    """Return the bytes of the pool that a clone of what was counted writes: metadata, and no data."""
    return tally.entries * AN_ENTRY + tally.bytes // EXTENT * AN_EXTENT


def _pool(tally: Tally, metadata: int, mountpoint: str) -> str | None:
    """What is missing on the pool, for whose clients a tenth of the free space is left."""
    found = os.statvfs(paths.ROOT / mountpoint.lstrip("/"))
    if found.f_bavail * found.f_frsize * 9 // 10 < metadata:
        return f"the clone writes about {size(metadata)} of metadata, and the pool has too little free space"
    # a file system without a limit of inodes has 0 of them
    if found.f_files and found.f_favail < tally.entries:
        return f"the clone has {tally.entries} files and directories, and the pool has {found.f_favail} free inodes"
    return None


def _quota(
    target: ClonePlace, tally: Tally, project: int | None, limit: int | None, mountpoint: str, run: Runner
) -> str | None:
    if limit is not None and limit < tally.bytes:
        return f"{target} would hold {size(tally.bytes)}, and its limit is {size(limit)}"
    if not project or not quota.enabled(mountpoint):
        return None
    room = quota.room(project, mountpoint, run)
    if room.bytes is not None and room.bytes < tally.bytes:
        return (
            f"{target} would hold {size(tally.bytes)}, which count against its quota although they share blocks, "
            f"and {size(room.bytes)} are left"
        )
    if room.inodes is not None and room.inodes < tally.entries:
        return f"{target} would have {tally.entries} files and directories, and its quota has {room.inodes} left"
    return None
