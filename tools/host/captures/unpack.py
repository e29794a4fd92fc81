# SPDX-License-Identifier: Apache-2.0
"""Unpack a capture, which comes from a stranger and may be made to overwrite files of the user who reads it.

All names are checked before the first file is made; no link exists while files are written; and the size is limited
before unpacking, not after: 1 KB of zstd can be 100 MB.
"""

import errno
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from millrace.system.errors import BadInput, Failed

MEMBERS = 200_000
TOTAL, LARGEST = 256 << 20, 16 << 20
"""Bytes of the archive, and of one file; a server with 24 drives and 256 processors has 20 MB in 15000 files."""
NAME = 100
"""Characters of a stranger's name that are shown."""
PIECE = 1 << 16


@contextmanager
def unpacked(file: Path) -> Iterator[Path]:
    """Unpack an archive into a temporary directory. Failed: zstd is not installed.

    BadInput: it is hostile or incomplete; nothing was created outside of the directory.
    """
    with tempfile.TemporaryDirectory(prefix="millrace-capture-") as name:
        directory = Path(name).resolve() / "tree"
        directory.mkdir()
        with _decompressed(file) as stream:
            extract(stream, directory, file)
        yield directory


def confine(directory: Path, shown: str) -> None:
    """Verify that reading in a directory cannot lead out of it, or wait for ever. BadInput: it can.

    Every link has to lead to something inside, so that no way through several can lead out either.
    """
    inside = os.path.realpath(directory)
    for where, directories, files in os.walk(directory):
        for name in (*directories, *files):
            path = os.path.join(where, name)
            entry = os.path.relpath(path, directory)[:NAME]
            if os.path.islink(path):
                if not f"{os.path.realpath(path)}/".startswith(f"{inside}/"):
                    raise BadInput(f"{shown}: the link {entry} leads out of the capture")
                if _is_endless(path):
                    raise BadInput(f"{shown}: the link {entry} leads to itself")
            elif not (os.path.isfile(path) or os.path.isdir(path)):
                raise BadInput(f"{shown}: {entry} is neither file nor directory nor link")


def _is_endless(link: str) -> bool:
    """Whether a link leads through more links than the kernel follows."""
    try:
        os.stat(link)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


class Readable(Protocol):
    """What an archive is read from."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most so many; none at the end."""
        ...


class _Bounded:
    """What zstd writes, up to a limit."""

    def __init__(self, pipe: IO[bytes], file: Path) -> None:
        self._pipe, self._file, self._left = pipe, file, TOTAL

    def read(self, size: int) -> bytes:
        """As a file does; BadInput beyond the limit."""
        piece = self._pipe.read(size)
        self._left -= len(piece)
        if self._left < 0:
            raise BadInput(f"{self._file}: it unpacks to more than {TOTAL >> 20} MiB, a capture does not")
        return piece


@contextmanager
def _decompressed(file: Path) -> Iterator[_Bounded]:
    try:
        with file.open("rb") as packed, tempfile.TemporaryFile() as said:
            argv = ["zstd", "--quiet", "--decompress", "--stdout"]
            process = subprocess.Popen(argv, stdin=packed, stdout=subprocess.PIPE, stderr=said)
            try:
                assert process.stdout is not None
                stream = _Bounded(process.stdout, file)
                yield stream
                while stream.read(PIECE):
                    pass
                status = process.wait()
            finally:
                process.kill()
                process.communicate()
            if status != 0:
                said.seek(0)
                words = said.read(1000).decode("utf-8", "replace").strip().rpartition(":")[2].strip(" .\n")
                raise BadInput(
                    f"{file}: the archive cannot be unpacked and is probably incomplete ({words or 'no message'})"
                )
    except FileNotFoundError as error:
        raise Failed("zstd is not installed") from error
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from error


def extract(stream: Readable, directory: Path, file: Path) -> None:
    """Extract an archive, which is not compressed, into an empty directory; `file` stands in errors.

    BadInput: it is hostile or incomplete.
    """
    seen: dict[PurePosixPath, str] = {}
    links: list[tuple[PurePosixPath, str]] = []
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:  # type: ignore[call-overload]
            for member in archive:
                path = _path(member, seen, file)
                if member.issym():
                    links.append((path, member.linkname))
                elif member.isreg():
                    content = archive.extractfile(member)
                    assert content is not None
                    _write(directory / path, content)
                else:
                    (directory / path).mkdir(parents=True, exist_ok=True)
        for path, target in links:
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).symlink_to(target)
    # what tarfile raises where a header was made to be wrong
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise BadInput(f"{file}: the archive is incomplete ({str(error)[:NAME]})") from error
    except OSError as error:
        raise BadInput(f"{file} cannot be unpacked: {error.strerror}") from error


def _path(member: tarfile.TarInfo, seen: dict[PurePosixPath, str], file: Path) -> PurePosixPath:
    """Where a member goes; BadInput where that, or what it is, is not of a capture. `seen` has those before it."""
    path, name = PurePosixPath(member.name), member.name[:NAME]
    kind = "link" if member.issym() else "directory" if member.isdir() else "file"
    if not (member.issym() or member.isdir() or member.isreg()) or member.issparse():
        raise BadInput(f"{file}: {name} is neither file nor directory nor link")
    if path.is_absolute() or ".." in path.parts:
        raise BadInput(f"{file}: {name} would be outside of the capture")
    if path in seen and (kind, seen[path]) != ("directory", "directory"):
        raise BadInput(f"{file}: {name} is in it twice")
    for parent in path.parents:
        if seen.setdefault(parent, "directory") != "directory":
            raise BadInput(f"{file}: {name} is below a {seen[parent]}")
    seen[path] = kind
    if len(seen) > MEMBERS:
        raise BadInput(f"{file}: it has more than {MEMBERS} files, a capture does not")
    if member.size > LARGEST:
        raise BadInput(f"{file}: {name} is larger than {LARGEST >> 20} MiB, no file of a capture is")
    return path


def _write(path: Path, content: IO[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        while piece := content.read(PIECE):
            out.write(piece)
