# SPDX-License-Identifier: Apache-2.0
"""Every file of a tree that clients write, by descriptors: they rename directories into links while this goes on."""

import os
import stat
from collections.abc import Callable, Container, Iterator
from functools import partial
from pathlib import Path

from millrace.system.text import printable_name

WRITTEN = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""How a file of a client is opened to write: nothing is followed, and no pipe is waited for."""


def regular_files(top: Path, skipped: str) -> Iterator[tuple[str | None, os.stat_result | None]]:
    """Yield each regular file below `top`, its printable name relative to it; None where a directory cannot be read.

    Without the directory `skipped` at the top, and without what is mounted below it.
    """
    for name, held, _ in _entries(top, skipped):
        yield name, held


def opened_files(top: Path, skipped: str, inodes: Container[int]) -> Iterator[tuple[str, int]]:
    """Yield each regular file below `top` that is one of these inodes: its printable name, and a descriptor to write.

    The descriptor is closed after the next step. A file that cannot be opened, or is another one meanwhile, is none.
    """
    for name, held, opened in _entries(top, skipped):
        if name is None or held is None or held.st_ino not in inodes:
            continue
        try:
            descriptor = opened()
        except OSError:
            continue
        try:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and (status.st_ino, status.st_dev) == (held.st_ino, held.st_dev):
                yield name, descriptor
        finally:
            os.close(descriptor)


def _nothing() -> int:
    raise FileNotFoundError


def _entries(top: Path, skipped: str) -> Iterator[tuple[str | None, os.stat_result | None, Callable[[], int]]]:
    lost: list[OSError] = []
    device = top.stat().st_dev
    for directory, inner, files, descriptor in os.fwalk(top, onerror=lost.append):
        for name in files:
            try:
                held = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(held.st_mode):
                shown = printable_name(os.fsencode(os.path.relpath(os.path.join(directory, name), top)))
                yield shown, held, partial(os.open, name, WRITTEN, dir_fd=descriptor)
        own = skipped if directory == os.fspath(top) else None
        inner[:] = [name for name in inner if name != own and _is_on_device(device, name, descriptor)]
    if lost:
        yield None, None, _nothing


def _is_on_device(device: int, name: str, descriptor: int) -> bool:
    try:
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_dev == device
    except OSError:
        return False
