# SPDX-License-Identifier: Apache-2.0
"""A build is there as a whole or not at all, and its checksums are those of sha256sum."""

import hashlib
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

import pytest

from host import artefacts
from millrace.system.errors import Failed


@pytest.fixture
def built(tmp_path: Path) -> Path:
    output = tmp_path / "output" / ".building"
    output.mkdir(parents=True)
    (output / "image.raw").write_bytes(b"image")
    (output / "image").symlink_to("image.raw")
    (output / "build.log").write_text("log")
    artefacts.write_sums(output)
    (output / artefacts.KEY).write_text("key\n")
    return output


def test_sha256sum_accepts_the_checksums(built: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", artefacts.SUMS], cwd=built, check=True)
    assert (built / artefacts.SUMS).read_text() == f"{hashlib.sha256(b'image').hexdigest()}  image.raw\n"


def test_a_published_build_replaces_the_old_one_and_is_up_to_date(built: Path) -> None:
    output = built.parent
    (output / "old.raw").write_bytes(b"old")
    (output / "client").mkdir()
    artefacts.publish(built, output, keep=(".building", "client"))
    assert sorted(p.name for p in output.iterdir()) == [
        ".key",
        "SHA256SUMS",
        "build.log",
        "client",
        "image",
        "image.raw",
    ]
    assert artefacts.up_to_date(output, "key", ["image.raw"])


@pytest.mark.parametrize("lost", ["image.raw", artefacts.SUMS, artefacts.KEY])
def test_a_build_that_lost_something_is_not_up_to_date(built: Path, lost: str) -> None:
    (built / lost).unlink()
    assert not artefacts.up_to_date(built, "key", ["image.raw"])


def test_another_key_is_not_up_to_date(built: Path) -> None:
    assert not artefacts.up_to_date(built, "another", ["image.raw"])


def test_the_holes_of_an_image_survive_a_move_to_another_file_system(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (built / "sparse.raw").open("wb") as file:
        file.seek(64 << 20)
        file.write(b"end")
    before = artefacts.sha256(built / "sparse.raw")

    def other_file_system(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr("os.rename", other_file_system)
    artefacts.publish(built, tmp_path / "elsewhere")
    moved = tmp_path / "elsewhere" / "sparse.raw"
    assert artefacts.sha256(moved) == before
    assert moved.stat().st_blocks * 512 < 16 << 20
    assert (tmp_path / "elsewhere" / "image").is_symlink()


def test_no_disk_space_is_one_sentence_before_anything_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10 << 30, 9 << 30, 1 << 30))
    with pytest.raises(Failed, match=r"1\.0 GiB free and 8 GiB are needed"):
        artefacts.need_space(tmp_path / "not" / "made", 8 << 30)
    assert not (tmp_path / "not").exists()
