# SPDX-License-Identifier: Apache-2.0
"""A lock that one process holds; the kernel frees it with the process."""

import errno
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from millrace.system.errors import Refused
from millrace.system.wait import wait_until


class Busy(Refused):
    """Another process holds the lock."""


@contextmanager
def held(path: Path, refusal: str | Callable[[], str] | None = None, note: str = "") -> Iterator[None]:
    """Hold the lock at `path`, waiting for it. `note` is what `doing` returns for others as long as it is held.

    Refused: the caller is not root. Busy, with `refusal` as the sentence: another process holds the lock.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _opened(path)
    except PermissionError as error:
        raise Refused("changing this server requires root; run this command with sudo") from error
    try:
        _acquire(descriptor, refusal)
        if os.fstat(descriptor).st_size:
            # the note of a holder that was killed
            _write(descriptor, "")
        if not note:
            yield
            return
        _write(descriptor, note)
        try:
            yield
        finally:
            _write(descriptor, "")
    finally:
        os.close(descriptor)


@contextmanager
def shared_with_tools(path: Path, pauses: Iterable[float], refusal: str) -> Iterator[None]:
    """Hold a lock of fcntl(2), as tools of the system take it; try again after each of `pauses`, in seconds.

    Busy, with `refusal` as the sentence: another process holds it for longer.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if not wait_until(lambda: _is_taken(descriptor), bool, pauses):
            raise Busy(refusal)
        yield
    finally:
        os.close(descriptor)


def doing(path: Path) -> str:
    """Return the note of the process that holds the lock at `path`; empty where it has none."""
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        # A boot drive that is read-only has it from an earlier boot: what is only read under it goes on.
        if error.errno != errno.EROFS or not path.exists():
            raise
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _write(descriptor: int, note: str) -> None:
    # A lock without its note is a lock: nothing that is done under it depends on the room for a line.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, note.encode(), 0)


def _is_taken(descriptor: int) -> bool:
    with suppress(OSError):
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _acquire(descriptor: int, refusal: str | Callable[[], str] | None) -> None:
    if refusal is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Busy(refusal if isinstance(refusal, str) else refusal()) from error
