# SPDX-License-Identifier: Apache-2.0
"""Write, sync and read back a file in the pool, as its clients would: `python3 -m millrace.health.heartbeat`.

millrace-heartbeat.service runs this and no other check touches the pool: where the pool hangs, so does this process,
which no signal ends, and only this one. It imports next to nothing, because it runs every 30 seconds.
"""

import errno
import json
import os
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

from millrace import paths

DIRECTORY, FILE = paths.POOL_OWN, "heartbeat"


def main(argv: list[str]) -> None:
    """Run `heartbeat MOUNTPOINT RESULT`: write the result to the file RESULT; a pool that fails is a result too."""
    mountpoint, result = Path(argv[0]), Path(argv[1])
    found: dict[str, object] = {"problem": None, "error": None}
    try:
        found |= beat(mountpoint)
    except OSError as error:
        found |= {"problem": os.strerror(error.errno or 0), "error": errno.errorcode.get(error.errno or 0, "")}
    # Seconds since boot: whatever happens to the clock.
    found["uptime"] = time.monotonic()
    beside = result.with_name(f".{result.name}")
    beside.write_text(json.dumps(found))
    beside.replace(result)


def beat(mountpoint: Path) -> dict[str, int]:
    """Write, sync, read back from the drives; return the space in bytes and the inodes. OSError: any of it fails."""
    pool = os.open(mountpoint, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if not _is_mounted(pool, mountpoint):
            raise OSError(errno.ENODEV, "nothing is mounted")
        directory = _directory(pool)
        try:
            _file(directory)
        finally:
            os.close(directory)
        space = os.fstatvfs(pool)
    finally:
        os.close(pool)
    block = space.f_frsize
    return {
        "size": space.f_blocks * block,
        "used": (space.f_blocks - space.f_bfree) * block,
        "free": space.f_bavail * block,
        "inodes": space.f_files,
        "inodes_free": space.f_favail,
    }


def _is_mounted(pool: int, mountpoint: Path) -> bool:
    return os.fstat(pool).st_dev != os.stat(mountpoint.parent).st_dev


def _directory(pool: int) -> int:
    """The directory of root alone; no other user may create or reach what root opens in it."""
    with suppress(FileExistsError):
        os.mkdir(DIRECTORY, 0o700, dir_fd=pool)
    directory = os.open(DIRECTORY, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=pool)
    found = os.fstat(directory)
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) != 0o700:
        os.close(directory)
        raise OSError(errno.EPERM, "not root's alone")
    return directory


def _file(directory: int) -> None:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(FILE, flags, 0o600, dir_fd=directory)
    try:
        written = f"{time.time():.6f}\n".encode()
        os.pwrite(file, written, 0)
        os.ftruncate(file, len(written))
        os.fsync(file)
        # What is in memory says nothing about the drives.
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        if os.pread(file, len(written) + 1, 0) != written:
            raise OSError(errno.EUCLEAN, "another content")
    finally:
        os.close(file)


if __name__ == "__main__":
    main(sys.argv[1:])
