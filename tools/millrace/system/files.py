# SPDX-License-Identifier: Apache-2.0
"""Files that are written completely or not at all."""

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from millrace.system import paths


def write_text(path: Path, text: str, mode: int = 0o644) -> bool:
    """Write `text` to `path` atomically and durably; return False if the file has this text already.

    The directory is synced too: after a power cut the old or the new file is there.
    """
    return write_bytes(path, text.encode(), mode)


def write_bytes(path: Path, content: bytes, mode: int = 0o644) -> bool:
    """Write `content` to `path` as `write_text` does."""
    if path.is_file() and path.read_bytes() == content:
        return False
    write_blocks(path, [content], mode)
    return True


def write_blocks(path: Path, blocks: Iterable[bytes], mode: int = 0o644, owner: tuple[int, int] | None = None) -> None:
    """Write what `blocks` yields to `path` as `write_text` does; an error of theirs leaves `path` as it was.

    `owner` is a user and a group, by their numbers; without, they are those of this process.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for block in blocks:
                file.write(block)
            file.flush()
            if owner is not None:
                os.fchown(file.fileno(), *owner)
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync(path.parent)


def replace_together(contents: Mapping[Path, bytes]) -> None:
    """Replace several files one after the other; each keeps its mode and owner, and its old content in `FILE-`.

    All new contents are on the drive before the first file is replaced: a full drive changes none of them, and a power
    cut leaves each file old or new. OSError: a file cannot be written.
    """
    made: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            status = path.stat()
            # the names of shadow's tools, for both: what a power cut leaves is written again by the next change
            made[path] = path.with_name(f"{path.name}+")
            for target, data in ((path.with_name(f"{path.name}-"), path.read_bytes()), (made[path], content)):
                write_blocks(target, [data], stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid))
        for path, new in made.items():
            new.replace(path)
    finally:
        for new in made.values():
            new.unlink(missing_ok=True)
        for directory in {path.parent for path in contents}:
            sync(directory)


def append_line(path: Path, line: str, mode: int = 0o644) -> None:
    """Add a line to `path` durably. A power cut may leave a part of it; it is not joined with the next one.

    OSError: the line is not there, or a part of it.
    """
    made = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_DSYNC | os.O_CLOEXEC, mode)
    try:
        size = os.fstat(descriptor).st_size
        torn = size and os.pread(descriptor, 1, size - 1) != b"\n"
        left = f"{chr(10) if torn else ''}{line}\n".encode()
        while left:
            # a file system that becomes full takes a part of it, and says so with the next one
            left = left[os.write(descriptor, left) :]
    finally:
        os.close(descriptor)
    if made:
        sync(path.parent)


@contextmanager
def secret_file(text: str, prefix: str = paths.VERIFY_PREFIX) -> Iterator[str]:
    """Keep `text` in a file of /run/millrace that only root reads; return its path, remove the file afterwards."""
    paths.run_dir().mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=prefix, dir=paths.run_dir())
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        yield name
    finally:
        Path(name).unlink(missing_ok=True)


def replace_link(path: Path, target: str) -> None:
    """Make `path` a symbolic link to `target`, atomically and durably, in place of what was there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f".{path.name}")
    made.unlink(missing_ok=True)
    made.symlink_to(target)
    made.replace(path)
    sync(path.parent)


def sync(directory: Path) -> None:
    """Make the names in a directory survive a power cut."""
    _sync(directory, os.O_DIRECTORY)


def rename(path: Path, target: Path) -> None:
    """Give a file another name; after a power cut all of it is there under one of the two.

    On VFAT the new name may be that of an empty file if the power goes before this returns. OSError: it is not durable.
    """
    _sync(path)
    sync_renamed(path.rename(target))


def sync_renamed(path: Path) -> None:
    """Make a file under its new name survive a power cut, on VFAT, too.

    VFAT keeps the size of a file in its directory. A rename writes 0 there until the file itself is written
    (fs/fat/namei_vfat.c), so syncing the directory alone leaves an empty file after a power cut.
    """
    _sync(path)
    _sync(path.parent, os.O_DIRECTORY)


def _sync(path: Path, flags: int = 0) -> None:
    descriptor = os.open(path, os.O_RDONLY | flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def describe(error: Exception) -> str:
    """Return an error for a sentence: of the operating system with its file, any other one in its own words.

    The pool's file system may have shut down.
    """
    if not isinstance(error, OSError):
        return str(error)
    # Python gives the descriptor where a call has no path.
    is_named = error.filename and not isinstance(error.filename, int)
    where = f"{error.filename} fails" if is_named else "an operation of this server fails"
    return f"{where} ({error.strerror or error}): millrace health says what is wrong"
