# SPDX-License-Identifier: Apache-2.0
"""Every file of a tree that clients write, by descriptors: they rename directories into links while this goes on."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from millrace.system.text import printable


def regular_files(top: Path, skipped: str) -> Iterator[tuple[str | None, os.stat_result | None]]:
    """Yield each regular file below `top`, its printable name relative to it; None where a directory cannot be read.

    Without the directory `skipped` at the top, and without what is mounted below it.
    """
    lost: list[OSError] = []
    device = top.stat().st_dev
    for directory, inner, files, descriptor in os.fwalk(top, onerror=lost.append):
        for name in files:
            try:
                held = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(held.st_mode):
                yield _printable_name(os.path.relpath(os.path.join(directory, name), top)), held
        own = skipped if directory == os.fspath(top) else None
        inner[:] = [name for name in inner if name != own and _is_on_device(device, name, descriptor)]
    if lost:
        yield None, None


def _is_on_device(device: int, name: str, descriptor: int) -> bool:
    try:
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_dev == device
    except OSError:
        return False


def _printable_name(name: str) -> str:
    """One line of text, whatever bytes a client has chosen."""
    return printable(os.fsencode(name).decode(errors="backslashreplace"))
