# SPDX-License-Identifier: Apache-2.0
"""A lock that one process holds; the kernel frees it with the process."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millrace.errors import Refused


@contextmanager
def held(path: Path, refusal: str | None = None) -> Iterator[None]:
    """Hold the lock at `path`, waiting for it.

    Refused: the caller is not root, or, with `refusal` as the sentence, another process holds the lock.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except PermissionError as error:
        raise Refused("changing this server requires root; run this command with sudo") from error
    try:
        _acquire(descriptor, refusal)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, refusal: str | None) -> None:
    if refusal is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Refused(refusal) from error
