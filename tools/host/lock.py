# SPDX-License-Identifier: Apache-2.0
"""What one process of this host does at a time."""

import fcntl
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from host.layout import Caches


@contextmanager
def held(path: Path, waiting: str) -> Iterator[None]:
    """Hold the lock `path`; where another process has it, print a sentence with what is `waiting`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(waiting, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def building(caches: Caches) -> AbstractContextManager[None]:
    """Hold the lock of the build caches, so that two builds never run at once."""
    return held(caches.lock, "Another build is running; waiting for it.")
