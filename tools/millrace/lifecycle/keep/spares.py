# SPDX-License-Identifier: Apache-2.0
"""Spare files for generations on a full pool: their blocks are allocated, and writing over them takes none.

A file that is removed first gives its blocks to users who write at this moment. So a generation is written over a spare
file, which then gets its name: neither takes a block, an inode or more of the directory.
"""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from millrace.system.files import sync

COUNT = 4
LEAST = 1 << 20
"""Bytes of a spare file; twice those of a generation where that is more."""
MOST = 16 << 20

_MIB = 1 << 20


def make(where: Path, newest: int) -> None:
    """Make the spare files that are missing, for generations like the newest one of so many bytes.

    A pool without room takes none; health shows that it is full. OSError: any other reason.
    """
    wanted = min(max(LEAST, -(-2 * newest // _MIB) * _MIB), MOST)
    for path in _files(where):
        if not path.exists() or _room(path) < wanted:
            try:
                _allocate(path, wanted)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                return


def write_over(where: Path, old: Sequence[Path], path: Path, data: bytes) -> bool:
    """Write `data` into a spare file, or over the first of the `old` files that is large enough, and name it `path`.

    Return False where none is. OSError: it cannot be written; `path` is not there then.
    """
    first = _files(where)[0]
    fits = next((file for file in (*_files(where), *old) if file.exists() and _room(file) >= len(data)), None)
    if fits is None:
        return False
    if fits in old:
        # half of it would be a damaged generation
        fits = fits.replace(first)
        sync(where)
    descriptor = os.open(fits, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        left, at = memoryview(data), 0
        while at < len(left):
            at += os.pwrite(descriptor, left[at:], at)
        os.ftruncate(descriptor, len(data))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    fits.replace(path)
    sync(where)
    return True


def remove(where: Path) -> None:
    """Remove the spare files. OSError: one cannot be removed."""
    for path in _files(where):
        path.unlink(missing_ok=True)


def _files(where: Path) -> list[Path]:
    return [where / f".spare-{number}" for number in range(COUNT)]


def _room(path: Path) -> int:
    """The bytes that a file can have without another block."""
    status = path.lstat()
    return status.st_blocks * 512 if status.st_size else 0


def _allocate(path: Path, size: int) -> None:
    """Allocate all blocks of a file, or leave none."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, size)
        os.fsync(descriptor)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
