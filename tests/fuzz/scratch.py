# SPDX-License-Identifier: Apache-2.0
"""Files for parsers that take a path: in memory, and gone with the process."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from millrace.system import paths

MEMORY = Path("/dev/shm")


@cache
def _directory() -> "TemporaryDirectory[str]":
    return TemporaryDirectory(prefix="millrace-fuzz-", dir=MEMORY if MEMORY.is_dir() else None)


def file(data: bytes) -> Path:
    """Return a file with this content; the next call overwrites it."""
    path = Path(_directory().name) / "input"
    path.write_bytes(data)
    return path


@contextmanager
def empty_root() -> Iterator[Path]:
    """Yield an empty directory, which is the root directory of Millrace meanwhile."""
    root = Path(_directory().name) / "root"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    with patch.object(paths, "ROOT", root):
        yield root
