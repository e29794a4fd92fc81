# SPDX-License-Identifier: Apache-2.0
"""Directories below each other, deeper than any path may be long."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def deep(top: Path, depth: int, beside: str = "") -> Iterator[int]:
    """Make `depth` directories `d` below `top`, each in the one before, with `beside` one in each; yield `top`, open.

    All below `top` is removed afterwards: shutil, and pytest with it, cannot.
    """
    at = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        make_deep(at, depth, beside)
        yield at
    finally:
        os.close(at)
        subprocess.run(["find", top, "-mindepth", "1", "-delete"], check=True)


def make_deep(at: int, depth: int, beside: str = "") -> None:
    """Make directories as `deep` does, below an open one."""
    place = os.dup(at)
    try:
        for _ in range(depth):
            os.mkdir("d", dir_fd=place)
            if beside:
                os.mkdir(beside, dir_fd=place)
            inner = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=place)
            os.dup2(inner, place, inheritable=False)
            os.close(inner)
    finally:
        os.close(place)
