# SPDX-License-Identifier: Apache-2.0
"""A lock is used only when each file is the one that it names."""

import hashlib
from pathlib import Path

import pytest

from host.locked import model
from host.locked.model import Deb, Lock, Package
from millrace.system.documents import write_model
from millrace.system.errors import BadInput

CONTENT = b"a package"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


def lock(file: str = "debs/mdadm_4.6-3_amd64.deb") -> Lock:
    deb = Deb(name="mdadm", version="4.6-3", architecture="amd64", file=file, sha256=DIGEST, used_in=["image"])
    left = Package(name="@a/b", version="1.0.0", file="npm/a-b-1.0.0.tgz", sha256=DIGEST, integrity="sha512-x")
    return Lock(
        image_name="millrace_1_x86-64",
        day="2026-11-23",
        tree=DIGEST,
        root_hash=DIGEST,
        image=DIGEST,
        debs=[deb],
        npm=[left],
        wheels=[],
    )


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    found = lock()
    for name in found.files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(CONTENT)
    write_model(tmp_path / model.LOCK, found)
    return tmp_path


def test_lock_is_read_with_the_digests_of_its_files(directory: Path) -> None:
    assert model.read(directory).files == {"debs/mdadm_4.6-3_amd64.deb": DIGEST, "npm/a-b-1.0.0.tgz": DIGEST}


def test_directory_without_a_lock_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"has no packages\.lock: name a directory that tools/build --lock wrote"):
        model.read(tmp_path)


def test_missing_file_is_named(directory: Path) -> None:
    (directory / "npm/a-b-1.0.0.tgz").unlink()
    with pytest.raises(BadInput, match=r"a-b-1\.0\.0\.tgz is missing"):
        model.read(directory)


def test_altered_file_is_named(directory: Path) -> None:
    (directory / "debs/mdadm_4.6-3_amd64.deb").write_bytes(CONTENT[:-1] + b"?")
    with pytest.raises(BadInput, match=r"mdadm_4\.6-3_amd64\.deb is not the file of the lock"):
        model.read(directory)


@pytest.mark.parametrize("file", ["../debs/a.deb", "debs/../a.deb", "/debs/a.deb", "debs/a/b.deb", "other/a.deb"])
def test_lock_names_no_file_outside_of_its_directory(file: str) -> None:
    with pytest.raises(ValueError, match="file"):
        lock(file)
