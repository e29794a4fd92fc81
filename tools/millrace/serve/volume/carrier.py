# SPDX-License-Identifier: Apache-2.0
"""The file that carries a volume: allocated as a whole, aligned to the stripes of the array, with a quota of its own.

Unwritten extents and not zeros: they are allocated in seconds, read as zeros, and belong to the volume, so that no
other user of the pool can take them. Not a loop device, which would be another queue and another cache above the same
file; not a logical volume, which would take its place from the shares for good.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from millrace.plan.model import Filesystem
from millrace.system import reflink
from millrace.system.text import MIB

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
BLOCK = 4096
"""Bytes of a logical block: nvmet takes those of the file system, which are 4096 on every pool."""


@dataclass(frozen=True)
class Xfs:
    """What only XFS does with an open file, for tests: allocate, align, count to a project, share blocks."""

    allocate: Callable[[int, int, int], None] = os.posix_fallocate
    align: Callable[[int, int], None] = reflink.set_extent_size
    set_project: Callable[[int, int], None] = reflink.set_file_project
    share: Callable[[int, int], None] = reflink.clone


XFS = Xfs()


def unit(filesystem: Filesystem) -> int:
    """Return the bytes that every volume is a multiple of: a full stripe of the array, 1 MiB at least."""
    stripe = filesystem.stripe_unit * max(filesystem.stripe_width, 1)
    return stripe if stripe >= MIB else MIB


def rounded(size: int, filesystem: Filesystem) -> int:
    """Return the size of a volume that holds `size` bytes."""
    step = unit(filesystem)
    return -(-size // step) * step


def limit(size: int) -> int:
    """Return the quota in bytes of a volume of `size` bytes: its blocks, those that list its extents, its identity."""
    return size + size // 256 + 64 * MIB


@contextmanager
def created(path: Path, project: int, filesystem: Filesystem, xfs: Xfs) -> Iterator[int]:
    """Create an empty carrier and yield it open; afterwards it is on disk. OSError: the pool refuses it."""
    descriptor = os.open(path, _NEW, 0o600)
    try:
        # XFS changes both only while the file has no extent
        xfs.set_project(descriptor, project)
        xfs.align(descriptor, unit(filesystem))
        yield descriptor
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """Open a carrier; what was changed is on disk afterwards. OSError: it cannot be opened."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        yield descriptor
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def size(path: Path) -> int:
    """Return the bytes of a volume. OSError: its file is gone."""
    return path.stat().st_size


def allocated(path: Path) -> int:
    """Return the bytes that the pool holds for a volume, at most its size. OSError: its file is gone."""
    found = path.stat()
    return min(found.st_blocks * 512, found.st_size)


def grow(descriptor: int, wanted: int, xfs: Xfs) -> None:
    """Allocate a carrier up to `wanted` bytes, holes included. OSError: the pool is full; the carrier is as it was.

    XFS sets the new size when everything is allocated: a power cut leaves the old one or the new one.
    """
    before = os.fstat(descriptor).st_size
    try:
        xfs.allocate(descriptor, 0, wanted)
    except OSError:
        # frees what lies behind its end
        os.ftruncate(descriptor, before)
        raise
