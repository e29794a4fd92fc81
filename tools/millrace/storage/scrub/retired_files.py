# SPDX-License-Identifier: Apache-2.0
"""The files of the server that hold retired blocks, and the files of clients that are reached by their inode."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from millrace.storage.array.area import Area, merged
from millrace.storage.record.model import Pool
from millrace.storage.scrub import file_names
from millrace.storage.scrub.lost_rows import LostRows, Owner
from millrace.system import paths


@contextmanager
def directory(pool: Pool) -> Iterator[Path]:
    """Yield the directory of the files that hold retired blocks, each named by its first sector."""
    directory = paths.ROOT / pool.filesystem.mountpoint.lstrip("/") / paths.POOL_OWN / "retired"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    yield directory


def sweep(directory: Path) -> None:
    """Remove what a run that was killed has left."""
    for one in directory.glob("*.new"):
        one.unlink()


def held(directory: Path) -> dict[int, Path]:
    """Return the files that hold retired blocks, by inode."""
    return {one.stat().st_ino: one for one in directory.iterdir() if one.suffix != ".new"}


def areas(found: Sequence[LostRows]) -> list[Area]:
    """Return the areas of all arrays on the device of XFS."""
    return merged([area for one in found for area in one.areas])


def files(pool: Pool, wanted: Mapping[int, list[Owner]]) -> Iterator[tuple[str, int, list[Owner]]]:
    """Yield each of these files once, however many names it has."""
    top, seen = paths.ROOT / pool.filesystem.mountpoint.lstrip("/"), set[int]()
    for name, file in file_names.opened(top, wanted) if wanted else ():
        inode = os.fstat(file).st_ino
        if inode not in seen:
            seen.add(inode)
            yield name, file, wanted[inode]


@contextmanager
def created(path: Path) -> Iterator[int]:
    """Yield a new file in the place of one that may be there. OSError: it cannot be made."""
    path.unlink(missing_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        yield file
    finally:
        os.close(file)


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """Yield a file of the server to read. OSError: it is gone."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)
