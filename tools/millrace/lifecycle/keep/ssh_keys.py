# SPDX-License-Identifier: Apache-2.0
"""SSH keys that are allowed to sign in: in a home directory, where its user can put a link in place of anything."""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import PurePosixPath

from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.trees import nofollow

LARGEST = 1 << 20
"""Bytes of such a file."""

MODE = 0o600


def read(path: str) -> bytes | None:
    """Return the keys in a file, by its path from the root directory; None where there are none.

    Failed: the file or a directory above it is a link, or it belongs to another user than the home directory.
    """
    if not os.path.lexists(paths.ROOT / path):
        return None
    home, where = _home(path)
    with _opened(*home) as at, nofollow.directory(where.parent.name, at) as keys:
        return _content(where.name, keys, os.fstat(at).st_uid)


def restore(path: str, kept: bytes) -> None:
    """Add keys to those that a file allows, complete or not at all; those that are there stay.

    Failed: the home directory is missing, a link is in the way, or the file cannot be written.
    """
    home, where = _home(path)
    with _opened(*home) as at:
        status = os.fstat(at)
        owner = (status.st_uid, status.st_gid)
        nofollow.make_directory(where.parent.name, 0o700, at, owner)
        with nofollow.directory(where.parent.name, at) as keys:
            there = (_content(where.name, keys, status.st_uid) or b"").splitlines()
            lines = [*there, *(line for line in kept.splitlines() if line not in there)]
            nofollow.replace_file(where.name, b"".join(line + b"\n" for line in lines), keys, MODE, owner)


def remove(path: str) -> None:
    """Remove the keys that a file allows. Failed: a link is in the way."""
    if not os.path.lexists(paths.ROOT / path):
        return
    home, where = _home(path)
    with _opened(*home) as at, nofollow.directory(where.parent.name, at) as keys:
        os.unlink(where.name, dir_fd=keys)


def _home(path: str) -> tuple[list[str], PurePosixPath]:
    where = PurePosixPath(path)
    return list(where.parent.parent.parts), where


@contextmanager
def _opened(*names: str) -> Iterator[int]:
    with ExitStack() as stack:
        at = stack.enter_context(nofollow.directory(paths.ROOT))
        for name in names:
            at = stack.enter_context(nofollow.directory(name, at))
        yield at


def _content(name: str, at: int, uid: int) -> bytes | None:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Failed(f"{name} cannot be opened: {error.strerror}") from error
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        # sshd takes no other file either; a second name may be that of a file which the user cannot read
        if not stat.S_ISREG(status.st_mode) or status.st_uid not in (0, uid) or status.st_nlink != 1:
            raise Failed(f"{name} is no file of its user")
        if status.st_size > LARGEST:
            raise Failed(f"{name} has more than {LARGEST >> 20} MiB")
        return file.read()
