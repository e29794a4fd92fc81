# SPDX-License-Identifier: Apache-2.0
"""An archive of files, compressed with zstd, that is written completely or not at all."""

import errno
import io
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from millrace.system.errors import Failed, Refused
from millrace.system.run import attempt, must

LONGEST_NAME = 255
NAME = 200
"""Bytes of the name that a file beside it takes over."""


@dataclass(frozen=True)
class ArchiveEntry:
    """One file, link or (neither) directory of an archive; `path` is relative to its root."""

    path: str
    content: bytes | None = None
    link: str | None = None


@contextmanager
def new_archive(file: Path) -> Iterator[Path]:
    """Keep an empty file beside `file` for `write_archive`, so that it is known beforehand whether it can be written.

    Refused: `file` exists, or its directory does not. Failed: it cannot be written.
    """
    if os.path.lexists(file):
        raise Refused(f"{file} already exists; choose another file")
    if len(os.fsencode(file.name)) > LONGEST_NAME:
        raise Failed(f"{file} cannot be written: {os.strerror(errno.ENAMETOOLONG)}")
    directory = file.absolute().parent
    try:
        made = tempfile.NamedTemporaryFile(prefix=f".{file.name[:NAME]}.", dir=directory)  # noqa: SIM115
    except FileNotFoundError as error:
        raise Refused(f"{file} cannot be made: {directory} does not exist; create it first") from error
    except OSError as error:
        raise Failed(f"{file} cannot be written: {error.strerror}") from error
    with made:
        yield Path(made.name)


def write_archive(content: Mapping[str, ArchiveEntry], packed: Path, file: Path, level: int = 19) -> None:
    """Write the entries to `packed`, and compressed to `file`, readable by its owner alone.

    `level` is that of zstd. Failed: it cannot be written.
    """
    try:
        with tarfile.open(packed, "w", format=tarfile.PAX_FORMAT) as archive:
            for path, entry in sorted(content.items()):
                _add(archive, path, entry)
        compressed = packed.with_name(f"{packed.name}.zst")
        try:
            must(attempt, ["zstd", "--quiet", f"-{level}", "-o", str(compressed), str(packed)])
            compressed.chmod(0o600)
            # a link that came there meanwhile is replaced, not followed
            os.replace(compressed, file)
        finally:
            compressed.unlink(missing_ok=True)
    except OSError as error:
        raise Failed(f"{file} cannot be written: {error.strerror}") from error


def _add(archive: tarfile.TarFile, path: str, entry: ArchiveEntry) -> None:
    member = tarfile.TarInfo(path)
    member.mode = 0o755 if entry.content is None else 0o644
    if entry.link is not None:
        member.type, member.linkname = tarfile.SYMTYPE, entry.link
    elif entry.content is None:
        member.type = tarfile.DIRTYPE
    else:
        member.size = len(entry.content)
    archive.addfile(member, io.BytesIO(entry.content or b""))
