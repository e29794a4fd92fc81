# SPDX-License-Identifier: Apache-2.0
"""A boot drive that is read-only: each change below /etc and /var of a fake server fails, reading goes on."""

import errno
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = ("mkdir", "unlink", "rmdir", "rename", "replace", "symlink", "link", "chmod", "chown", "utime", "truncate")


def boot_drive(root: Path, patch: pytest.MonkeyPatch) -> None:
    """Let no test below `root` write to its boot drive any more."""
    places = [str(root / name) for name in ("etc", "var")]

    def refuse(path: object) -> None:
        text = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
        if any(text == place or text.startswith(f"{place}/") for place in places):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), text)

    opened = os.open

    def open_(path: Any, flags: int, *more: Any, **named: Any) -> int:
        # an existing directory or file that is opened for reading is no change
        if flags & _WRITES:
            refuse(path)
        return opened(path, flags, *more, **named)

    def refusing(real: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(real)
        def change(path: Any, *more: Any, **named: Any) -> Any:
            # what is not there cannot be removed: the kernel says so first
            if real.__name__ in ("mkdir", "symlink") or os.path.lexists(path):
                for each in (path, *more[:1]):
                    refuse(each)
            return real(path, *more, **named)

        return change

    patch.setattr(os, "open", open_)
    for name in _CHANGES:
        patch.setattr(os, name, refusing(getattr(os, name)))
