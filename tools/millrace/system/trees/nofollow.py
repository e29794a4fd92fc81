# SPDX-License-Identifier: Apache-2.0
"""Work of root in directories that clients write: by descriptors, never by a name that may have become a link.

A client that can write a directory can put a link in place of anything in it at any moment, also between a check and an
action (path_resolution(7), symlink(7)).
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from millrace.system.errors import Failed

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def directory(name: str | Path, at: int | None = None) -> Iterator[int]:
    """Open a directory by its name in the directory descriptor `at`. Failed: it is something else, a link too."""
    try:
        descriptor = os.open(name, _DIRECTORY, dir_fd=at)
    except NotADirectoryError as error:
        raise Failed(f"{name} is not a directory") from error
    except OSError as error:
        raise Failed(f"{name} cannot be opened: {error.strerror}") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def make_directory(name: str, mode: int, at: int, owner: tuple[int, int] | None = None) -> bool:
    """Create a directory in the directory descriptor `at` for `owner` (uid, gid); return whether it was missing.

    Failed: something else is in its place.
    """
    mask = os.umask(0)
    try:
        # In one step: a power cut between mkdir and chmod would leave a wrong mode.
        os.mkdir(name, mode, dir_fd=at)
        made = True
    except FileExistsError:
        made = False
    finally:
        os.umask(mask)
    with directory(name, at) as descriptor:
        # not a directory of another user that was moved there meanwhile
        if made and owner is not None and os.fstat(descriptor).st_uid == os.getuid():
            os.fchown(descriptor, *owner)
    return made


def require_private(where: Path, others: int = 0) -> None:
    """Verify that a directory of ours on the pool, if there is one, is of this user alone and no link.

    `others` are bits of the mode that others may have. Failed: it is not; the writer of adopted drives decided what is
    there.
    """
    try:
        status = where.lstat()
    except FileNotFoundError:
        return
    private = status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077 & ~others
    if not stat.S_ISDIR(status.st_mode) or not private:
        raise Failed(f"{where} is not a directory of root alone: examine it and remove it")


def make_file(name: str, size: int, at: int, owner: tuple[int, int] | None = None) -> bool:
    """Create a file of `size` zero bytes for `owner` (uid, gid) in the directory descriptor `at`.

    Return False, and do nothing, where anything of this name exists.
    """
    try:
        descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=at)
    except FileExistsError:
        return False
    try:
        os.ftruncate(descriptor, size)
        if owner is not None:
            os.fchown(descriptor, *owner)
    finally:
        os.close(descriptor)
    return True


def replace_file(name: str, content: bytes, at: int, mode: int, owner: tuple[int, int]) -> None:
    """Put a file of `owner` (uid, gid) in place of what has this name in the directory descriptor `at`, in one step.

    Failed: it cannot be written; what was there stays.
    """
    new = f".{name}.new"
    try:
        with suppress(FileNotFoundError):
            os.unlink(new, dir_fd=at)
        with open(os.open(new, _NEW_FILE, 0o600, dir_fd=at), "wb") as file:
            file.write(content)
            file.flush()
            os.fchown(file.fileno(), *owner)
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.rename(new, name, src_dir_fd=at, dst_dir_fd=at)
        os.fsync(at)
    except OSError as error:
        raise Failed(f"{name} cannot be written: {error.strerror}") from error


def read_file(path: Path, largest: int, at: int | None = None) -> bytes:
    """Return a file of another user, at most `largest` bytes; its name may be that of anything else by now.

    `path` is below the directory descriptor `at`, where one is given.

    FileNotFoundError: there is none. Failed: it is no plain file, it is larger, or it cannot be read.
    """
    try:
        # a pipe would be waited for
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Failed(f"{path} is no plain file")
            content = file.read(largest + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Failed(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > largest:
        raise Failed(f"{path} has more than {largest >> 20} MiB")
    return content
