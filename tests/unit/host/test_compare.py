# SPDX-License-Identifier: Apache-2.0
"""Where two builds differ, the file is named."""

import json
import os
from pathlib import Path

import pytest

from host import compare

NAME = "millrace_1_x86-64"
SUFFIXES = (".raw", ".roothash", ".efi", ".esp.raw", ".usr-x86-64.raw", ".usr-x86-64-verity.raw")


def manifest(**versions: str) -> str:
    found = [{"name": name, "version": version, "architecture": "amd64"} for name, version in versions.items()]
    return json.dumps({"packages": found})


def output(path: Path) -> Path:
    path.mkdir()
    for suffix in SUFFIXES:
        (path / (NAME + suffix)).write_bytes(b"same")
    (path / f"{NAME}.manifest").write_text(manifest(samba="1", bash="2"))
    return path


@pytest.fixture
def builds(tmp_path: Path) -> tuple[Path, Path]:
    return output(tmp_path / "one"), output(tmp_path / "other")


def test_equal_builds_have_nothing_to_say(builds: tuple[Path, Path], tmp_path: Path) -> None:
    assert compare.compare(*builds, NAME, tmp_path) == ""


def test_another_package_version_is_named_first(builds: tuple[Path, Path], tmp_path: Path) -> None:
    (builds[1] / f"{NAME}.manifest").write_text(manifest(samba="1.1", bash="2"))
    (builds[1] / f"{NAME}.raw").write_bytes(b"other")
    assert compare.compare(*builds, NAME, tmp_path) == "packages samba (amd64)"


def test_an_image_that_differs_outside_of_usr_names_the_part(builds: tuple[Path, Path], tmp_path: Path) -> None:
    for suffix in (".raw", ".efi"):
        (builds[1] / (NAME + suffix)).write_bytes(b"other")
    assert compare.compare(*builds, NAME, tmp_path) == f"in the image: {NAME}.efi"


def test_files_are_compared_by_all_that_the_image_keeps_of_them(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name / "etc").mkdir(parents=True)
        for file in ("same", "content", "mode", "time"):
            (tmp_path / name / "etc" / file).write_text("x")
            os.utime(tmp_path / name / "etc" / file, (1, 1))
        (tmp_path / name / "etc/link").symlink_to(name)
        os.utime(tmp_path / name / "etc/link", (1, 1), follow_symlinks=False)
    (tmp_path / "other/etc/content").write_text("y")
    os.utime(tmp_path / "other/etc/content", (1, 1))
    (tmp_path / "other/etc/mode").chmod(0o600)
    os.utime(tmp_path / "other/etc/time", (2, 2))
    (tmp_path / "one/etc/hostid").write_text("x")
    for name in ("one", "other"):
        os.utime(tmp_path / name / "etc", (1, 1))
    assert compare.trees(tmp_path / "one", tmp_path / "other") == [
        "etc/content (content)",
        "etc/hostid (only in the first)",
        "etc/link (target)",
        "etc/mode (mode -rw-r--r-- and -rw-------)",
        "etc/time (time 1 and 2)",
    ]
