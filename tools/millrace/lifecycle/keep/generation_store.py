# SPDX-License-Identifier: Apache-2.0
"""The generations on the pool: written beside and renamed, 30 of them, read from the newest that is not damaged.

Reading needs nothing but the directory of a mounted pool: a new boot drive reads it from one that it mounted read-only.
"""

import errno
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from millrace import __version__
from millrace.lifecycle.keep import spares
from millrace.lifecycle.keep.generation import LARGEST_ALL, Generation, unpack
from millrace.lifecycle.keep.model import Seal
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, LaterRelease
from millrace.system.files import sync, write_bytes
from millrace.system.text import one_line

KEPT = 30
LEFT = 3
"""So many stay where a full pool has older ones written over."""
DIRECTORY = f"{paths.POOL_OWN}/keep"

_NUMBERED = re.compile(r"state-(\d{6,9})\.tar\.gz")


class LaterState(LaterRelease):
    """A generation, by its file, that a later release wrote. It is not damaged, and no older one stands for it."""

    def __init__(self, path: Path, release: str | None) -> None:
        which = f"Millrace {one_line(release)}" if release else "a version of Millrace"
        image = f"{which} or later" if release else "that version"
        super().__init__(
            f"{path.name}, a kept state on the pool, was written by {which}, later than this one ({__version__}): boot "
            f"an image of {image}",
            release,
        )
        self.path = path


@dataclass(frozen=True)
class Newest:
    """The newest generation that can be read, and the newer ones that cannot, with the reason."""

    number: int
    generation: Generation
    damaged: dict[Path, str]


def directory(mountpoint: Path) -> Path:
    """Return where generations are on the pool that is mounted at `mountpoint`."""
    return mountpoint / DIRECTORY


def make_directory(mountpoint: Path, name: str = "keep") -> Path:
    """Create a directory of root alone in the pool's own, durably. Failed: other users could reach into it."""
    for where in (mountpoint / paths.POOL_OWN, mountpoint / paths.POOL_OWN / name):
        try:
            where.mkdir(mode=0o700)
            sync(where.parent)
        except FileExistsError:
            pass
        status = where.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise Failed(f"{where} is not a directory of root alone: examine it and remove it")
    return where


def numbers(where: Path) -> list[int]:
    """Return the numbers of the generations in a directory, the newest first; none where it is missing."""
    names = os.listdir(where) if where.is_dir() else []
    return sorted((int(match[1]) for match in map(_NUMBERED.fullmatch, names) if match), reverse=True)


def file(where: Path, number: int) -> Path:
    """Return the file of a generation."""
    return where / f"state-{number:06}.tar.gz"


def write(where: Path, number: int, data: bytes) -> Path:
    """Write a generation completely or not at all, and read it back. Failed: it is damaged at once.

    On a full pool it is written over a spare file. OSError: there is none that is large enough, either.
    """
    path = file(where, number)
    try:
        write_bytes(path, data, 0o600)
    except OSError as error:
        if error.errno != errno.ENOSPC or not spares.write_over(where, _old(where), path, data):
            raise
    try:
        read(path)
    except BadInput as error:
        raise Failed(str(error)) from error
    return path


def read(path: Path) -> Generation:
    """Return a generation. BadInput: it cannot be read; names file and reason. LaterState: a later release wrote it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_ALL:
                raise BadInput(f"{path} is not a kept state")
            # What is in memory says nothing about the drives.
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            data = opened.read()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    try:
        return unpack(data)
    except LaterRelease as error:
        raise LaterState(path, error.release) from error
    except BadInput as error:
        raise BadInput(f"{path} is damaged: {error}") from error


def newest(where: Path) -> Newest | None:
    """Return the newest generation that can be read; None where there is none at all. BadInput: none can be read.

    LaterState: a later release wrote the newest that is not damaged; what an older one has is not the state of now.
    """
    if where.is_symlink() or where.parent.is_symlink():
        raise BadInput(f"{where} leads elsewhere: it is not a kept state")
    damaged: dict[Path, str] = {}
    for number in numbers(where):
        path = file(where, number)
        try:
            return Newest(number, read(path), damaged)
        except LaterState:
            raise
        except BadInput as error:
            damaged[path] = str(error)
    if damaged:
        raise BadInput("; ".join(damaged.values()))
    return None


def _old(where: Path) -> list[Path]:
    """The generations that a full pool may do without, the oldest first."""
    return [file(where, number) for number in reversed(numbers(where)[LEFT:])]


def prune(where: Path) -> None:
    """Remove all but the newest 30 generations, and what interrupted writes left; make spare files for a full pool."""
    for number in numbers(where)[KEPT:]:
        file(where, number).unlink(missing_ok=True)
    for path in where.glob(".state-*"):
        path.unlink(missing_ok=True)
    spares.make(where, max((file(where, number).stat().st_size for number in numbers(where)[:1]), default=0))
    sync(where)


def remove_others(where: Path, seal: Seal) -> None:
    """Remove all generations whose secrets are not sealed in this way."""
    for number in numbers(where):
        path = file(where, number)
        try:
            is_other = read(path).manifest.seal != seal
        except BadInput:
            is_other = True
        if is_other:
            path.unlink(missing_ok=True)
    # a power cut may have left an old generation in one
    spares.remove(where)
    sync(where)
