# SPDX-License-Identifier: Apache-2.0
"""Write, sync and read back a file in the pool, as its clients would: `python3 -I -S heartbeat_daemon.py`.

millrace-heartbeat.service runs this and no other check touches the pool: where the pool hangs, so does this process,
which no signal ends, and only this one. It stays, because the start of its unit with a sandbox cost many times what a
heartbeat does; between heartbeats nothing of the pool is open. Only what Python has loaded already, or is built into
it, is imported: the unit takes 4 MB of memory.
"""

import errno
import fcntl
import os
import stat
import sys
import time

# What `socket` is made of: that would import half of the library.
from _socket import AF_UNIX, SOCK_DGRAM, socket

FILE, RECORDS = "heartbeat", "nfsdcld"
# As millrace.system.xfs has it, without the library: XFS_IOC_FSGEOMETRY, its size, and where the flags are.
_GEOMETRY, _SIZE, _FLAGS = 0x8100587E, 256, 92


def main(argv: list[str]) -> None:
    """Run `heartbeat MOUNTPOINT DIRECTORY RESULT REQUESTS`: a heartbeat now, and one for what is read from REQUESTS.

    DIRECTORY is Millrace's own in the pool. REQUESTS is a FIFO, which is made where there is none; what is written to
    it during a heartbeat asks for one more, not for as many.
    """
    mountpoint, directory, result, requests = argv
    try:  # noqa: SIM105  contextlib is a library
        os.mkfifo(requests, 0o600)
    except FileExistsError:
        pass
    # Open for writing, too: where nobody else has it open, reading waits.
    fifo = os.open(requests, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    record(mountpoint, directory, result)
    _ready(os.environ.get("NOTIFY_SOCKET"))
    while os.read(fifo, 1 << 16):
        record(mountpoint, directory, result)


def _ready(manager: str | None) -> None:
    """Tell systemd that there is a result (sd_notify(3))."""
    if manager:
        said = socket(AF_UNIX, SOCK_DGRAM)
        # a socket without a file has a null byte where systemd writes @
        said.sendto(b"READY=1", f"\0{manager[1:]}" if manager.startswith("@") else manager)
        said.close()


def record(mountpoint: str, directory: str, result: str) -> None:
    """Write the result of a heartbeat to the file RESULT, as JSON. A pool that fails is a result too."""
    outcome: dict[str, float | str | None] = {"problem": None, "error": None}
    try:
        outcome |= beat(mountpoint, directory)
    except OSError as error:
        outcome |= {"problem": os.strerror(error.errno or 0), "error": errno.errorcode.get(error.errno or 0, "")}
    # Seconds since boot: whatever happens to the clock.
    outcome["uptime"] = time.monotonic()
    beside = f"{result}.new"
    with open(beside, "w", encoding="ascii") as file:
        file.write("{" + ", ".join(f'"{name}": {_json(value)}' for name, value in outcome.items()) + "}")
    os.replace(beside, result)


def _json(value: float | str | None) -> str:
    """A number, or a message of libc's, which has no quotes and no backslashes."""
    return "null" if value is None else f'"{value}"' if isinstance(value, str) else f"{value}"


def beat(mountpoint: str, own: str) -> dict[str, int | None]:
    """Write, sync, read back from the drives; return the space in bytes, the inodes and the features of XFS.

    OSError: any of it fails.
    """
    pool = os.open(mountpoint, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if not _is_mounted(pool, mountpoint):
            raise OSError(errno.ENODEV, "nothing is mounted")
        directory = _directory(pool, own)
        try:
            _file(directory)
            records = _records_free(directory)
        finally:
            os.close(directory)
        space, features = os.fstatvfs(pool), _features(pool)
    finally:
        os.close(pool)
    block = space.f_frsize
    return {
        "size": space.f_blocks * block,
        "used": (space.f_blocks - space.f_bfree) * block,
        "free": space.f_bavail * block,
        "inodes": space.f_files,
        "inodes_free": space.f_favail,
        "features": features,
        "records_free": records,
    }


def _records_free(directory: int) -> int | None:
    """The bytes left to the records of NFS clients, 0 where they are read-only; None where they use the pool's."""
    try:
        records = os.open(RECORDS, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
    except FileNotFoundError:
        return None
    try:
        if os.fstat(records).st_dev == os.fstat(directory).st_dev:
            return None
        space = os.fstatvfs(records)
    finally:
        os.close(records)
    return 0 if space.f_flag & os.ST_RDONLY else space.f_bavail * space.f_frsize


def _features(pool: int) -> int | None:
    """XFS_FSOP_GEOM_FLAGS_*, from the memory of the kernel; None where it is not XFS."""
    try:
        found = fcntl.ioctl(pool, _GEOMETRY, bytes(_SIZE))
    except OSError:
        return None
    return int.from_bytes(found[_FLAGS : _FLAGS + 4], sys.byteorder)


def _is_mounted(pool: int, mountpoint: str) -> bool:
    return os.fstat(pool).st_dev != os.stat(os.path.dirname(mountpoint)).st_dev


def _directory(pool: int, own: str) -> int:
    """The directory of root alone; no other user may create or reach what root opens in it."""
    try:  # noqa: SIM105  contextlib is a library
        os.mkdir(own, 0o700, dir_fd=pool)
    except FileExistsError:
        pass
    directory = os.open(own, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=pool)
    status = os.fstat(directory)
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != 0o700:
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
