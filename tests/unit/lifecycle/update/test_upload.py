# SPDX-License-Identifier: Apache-2.0
"""An archive that a browser sends is verified while it arrives: nothing of a hostile or cut one stays."""

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from millrace.lifecycle.update import layout, release, update_paths, upload
from millrace.lifecycle.update.model import Release
from millrace.system.errors import BadInput, MillraceError, Refused
from millrace.system.jobs import job_paths
from tests.unit.lifecycle.update.conftest import ROOTHASH, Server, make_release, sign

FIRST = (layout.SUMS, layout.SIGNATURE, layout.RELEASE, layout.NEWS)
USR = layout.file_name("usr", "0.2.0", ROOTHASH)


def packed(directory: Path, first: tuple[str, ...] = FIRST, kind: bytes = tarfile.REGTYPE) -> bytes:
    """The archive as the build makes it: what is verified first comes first."""
    made = io.BytesIO()
    rest = sorted(path.name for path in directory.iterdir() if path.name not in first)
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in (*first, *rest):
            entry = tarfile.TarInfo(name)
            entry.size = (directory / name).stat().st_size
            entry.type = kind if name == USR else tarfile.REGTYPE
            archive.addfile(entry, io.BytesIO((directory / name).read_bytes()))
    return made.getvalue()


def receive(server: Server, data: bytes, size: int | None = None) -> tuple[Release, list[int]]:
    said: list[int] = []
    found = upload.receive(io.BytesIO(data), len(data) if size is None else size, said.append, server)
    return found, said


def test_archive_is_staged_and_verified_while_it_arrives(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload, "SAID", 1024)
    data = packed(make_release(tmp_path / "new"))
    found, said = receive(server, data)
    assert found.version == "0.2.0" and release.staged(server) == found
    assert said[-1] == len(data) and said == sorted(set(said)) and len(said) > 3


def altered(made: Path) -> bytes:
    (made / USR).write_bytes((made / USR).read_bytes()[:-1] + b"!")
    return packed(made)


def signed_by_another(made: Path) -> bytes:
    sign(made, "another key")
    return packed(made)


def larger(made: Path) -> bytes:
    (made / USR).write_bytes((made / USR).read_bytes() + b"!")
    return packed(made)


def more(made: Path) -> bytes:
    (made / "zz").write_bytes(b"more")
    return packed(made)


def stranger(made: Path) -> bytes:
    (made / "millrace_0").write_bytes(b"first")
    return packed(made)


def missing(made: Path) -> bytes:
    (made / USR).unlink()
    return packed(made)


def large_first(made: Path) -> bytes:
    (made / layout.SUMS).write_bytes(b"x" * (layout.SMALL + 1))
    return packed(made)


def negative(made: Path) -> bytes:
    """A size below zero, in the form that GNU has for sizes of 8 GiB and more."""
    head = bytearray(tarfile.TarInfo(layout.SUMS).tobuf(tarfile.GNU_FORMAT))
    head[124:136] = b"\xff" * 12
    head[148:156] = b"%06o\0 " % (256 + sum(head[:148]) + sum(head[156:512]))
    return bytes(head) + packed(made)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (altered, "checksum is another one"),
        (signed_by_another, "signed by a key that this server does not accept"),
        (larger, "larger than the 297 bytes"),
        (more, "more files than a release"),
        (stranger, "or has other files"),
        (missing, "the archive lacks"),
        (large_first, "SHA256SUMS is larger than"),
        (lambda made: packed(made, first=(layout.NEWS,)), "lacks SHA256SUMS at its place"),
        (lambda made: packed(made, kind=tarfile.SYMTYPE), "not the archive of a release"),
        (lambda made: packed(made, kind=tarfile.XHDTYPE), "not the archive of a release"),
        (lambda made: b"PK\3\4" + os.urandom(2000), "not the archive of a release"),
        (negative, "not the archive of a release"),
        (lambda made: bytes(100), "not the archive of a release"),
        (lambda made: packed(made)[:3000], "larger|not the archive"),
    ],
)
def test_archive_that_is_none_is_refused_and_nothing_stays(
    server: Server, tmp_path: Path, spoil: Callable[[Path], bytes], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        receive(server, spoil(make_release(tmp_path / "new")))
    assert not update_paths.staged_dir().exists() and not job_paths.update_progress_file().exists()


@pytest.mark.parametrize("at", [0, 100, 600, 3000, 5000])
def test_upload_that_ends_early_says_how_much_arrived(server: Server, tmp_path: Path, at: int) -> None:
    data = packed(make_release(tmp_path / "new"))
    with pytest.raises(BadInput, match=rf"^the upload was cut: {at} of {len(data)} bytes"):
        receive(server, data[:at], len(data))
    assert not update_paths.staged_dir().exists()


def test_signature_and_room_come_before_the_files(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = packed(make_release(tmp_path / "new"))
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=1, f_frsize=4096))
    stream = io.BytesIO(data)
    with pytest.raises(Refused, match="the boot drive has"):
        upload.receive(stream, len(data), lambda done: None, server)
    head = data.index(USR.encode(), data.index(b"usr" * 9) - 600)
    assert stream.tell() <= head + 1024


@pytest.mark.parametrize("size", [0, -1, upload.LARGEST + 1])
def test_size_of_no_release_is_refused_before_anything_is_read(server: Server, size: int) -> None:
    with pytest.raises(MillraceError, match="an archive of a release has"):
        receive(server, b"", size)
