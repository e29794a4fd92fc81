# SPDX-License-Identifier: Apache-2.0
"""A build looks whether the package sources have newer packages, and says so where it could not."""

import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from host import sources
from host.sources import Newer
from millrace.system.errors import Failed

URI = "http://mirror.example/debian/"
LISTED = """\
Listing...
openssl/testing 3.6.6-1 amd64 [upgradable from: 3.6.5-1]
bash/testing 5.3-4 amd64 [upgradable from: 5.3-4]
samba/testing 2:4.25.2+dfsg-1 amd64 [upgradable from: 2:4.25.1+dfsg-1]
"""


class Apt:
    """apt-get and apt, which know two command lines."""

    def __init__(self, update: tuple[int, str] = (0, "")) -> None:
        self.update = update
        self.options: dict[str, str] = {}
        self.sources = ""

    def __call__(self, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        given = dict(word.split("=", 1) for before, word in pairwise(argv) if before == "-o")
        assert self.options in ({}, given)
        self.options = given
        self.sources = (Path(given["Dir::Etc"]) / "sources.list.d/mkosi.sources").read_text()
        match [word for word in argv if word != "-o" and "::" not in word]:
            case ["apt-get", "update", "--quiet", "--error-on=any"]:
                status, err = self.update
                return subprocess.CompletedProcess(argv, status, "", err)
            case ["apt", "list", "--upgradable"]:
                return subprocess.CompletedProcess(argv, 0, LISTED, "WARNING: apt does not have a stable CLI")
        raise AssertionError(argv)


def test_newer_packages_are_those_with_another_version(tmp_path: Path) -> None:
    apt = Apt()
    assert sources.newer(tmp_path / "dpkg.status", URI, apt) == [
        Newer("openssl", "3.6.5-1", "3.6.6-1"),
        Newer("samba", "2:4.25.1+dfsg-1", "2:4.25.2+dfsg-1"),
    ]


def test_apt_compares_the_image_and_not_the_host(tmp_path: Path) -> None:
    apt = Apt()
    sources.newer(tmp_path / "dpkg.status", URI, apt)
    assert apt.options["Dir::State::status"] == str(tmp_path / "dpkg.status")
    assert not any(apt.options[key].startswith(("/etc", "/var")) for key in ("Dir::Etc", "Dir::State", "Dir::Cache"))
    assert URI in apt.sources


def test_sources_that_cannot_be_read_are_a_reason(tmp_path: Path) -> None:
    apt = Apt(
        update=(100, "W: something\nE: Failed to fetch InRelease  Could not resolve 'mirror.example'.\nE: more\n")
    )
    with pytest.raises(Failed, match=r"^Failed to fetch InRelease  Could not resolve 'mirror\.example'$"):
        sources.newer(tmp_path / "dpkg.status", URI, apt)
    with pytest.raises(Failed, match="set MILLRACE_APT_URI"):
        sources.newer(tmp_path / "dpkg.status", None, apt)


def test_a_few_packages_are_named() -> None:
    many = [Newer(f"p{number}", "1", "2") for number in range(7)]
    assert sources.in_words(many[:1]) == "1 package is newer: p0 1 → 2"
    assert sources.in_words(many).startswith("7 packages are newer: p0 1 → 2, ")
    assert sources.in_words(many).endswith("p4 1 → 2, …")
