# SPDX-License-Identifier: Apache-2.0
"""The packages that the modules are built from belong to one kernel."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from host.modules import environment
from millrace.system.errors import Failed
from tests.unit.host.modules_of import ABI, DAEMON, FILES, VERSION, answer, packages_of


def test_packages_name_their_kernel() -> None:
    one = packages_of()
    assert (one.abi, one.version, one.source) == (ABI, VERSION, "7.2")
    assert one.debian == Path("/packages") / FILES[4]
    assert one.daemon == (Path("/packages") / DAEMON, "3.5.7-1")


def test_headers_without_their_source_are_refused() -> None:
    newer = [*FILES[:5], "linux-source-7.2_7.2.13-1_all.deb"]
    with pytest.raises(Failed, match=r"kernel headers 7\.2\.12-1 and kernel source 7\.2\.13-1"):
        environment.packages(newer, Path())
    with pytest.raises(Failed, match="headers and source of one kernel"):
        environment.packages(FILES[2:], Path())
    with pytest.raises(Failed, match="linux-modules-7"):
        _ = environment.packages([*FILES[:4], *FILES[5:]], Path()).debian
    with pytest.raises(Failed, match="do not have ksmbd-tools"):
        _ = environment.packages(FILES[1:], Path()).daemon


def test_key_follows_the_content_of_packages(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).write_text(name)
    before = packages_of(tmp_path).key
    assert environment.packages(FILES[::-1], tmp_path).key == before
    (tmp_path / FILES[0]).write_text("rebuilt under the same version")
    assert packages_of(tmp_path).key != before


class Apt:
    """apt-get of a source that has FILES."""

    def __init__(self, update: tuple[int, str] = (0, "")) -> None:
        self.update = update
        self.directory = Path()

    def __call__(self, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        match [word for word in argv if word != "-o" and "::" not in word]:
            case ["apt-get", "update", "--quiet", "--error-on=any"]:
                return answer(argv, self.update[0], err=self.update[1])
            case ["apt-get", "install", "--print-uris", "-qq", *names]:
                assert not any(word == f"Dir::Cache::archives={self.directory}" for word in argv)
                files = [file for file in FILES if file != FILES[4] or f"linux-modules-{ABI}" in names]
                return answer(argv, out="".join(f"'http://mirror.example/{f}' {f} 1 MD5Sum:0\n" for f in files))
            case ["apt-get", "install", "--download-only", "--yes", "-qq", *names]:
                assert f"Dir::Cache::archives={self.directory}" in argv
                assert {*environment.PACKAGES, f"linux-modules-{ABI}"} == set(names)
                for file in FILES:
                    (self.directory / file).touch()
                return answer(argv)
        raise AssertionError(argv)


def test_packages_of_an_earlier_kernel_are_removed(tmp_path: Path) -> None:
    apt = Apt()
    apt.directory = tmp_path
    (tmp_path / "linux-source-7.1_7.1.8-1_all.deb").touch()
    assert environment.fetch(tmp_path, "http://mirror.example/", apt) == packages_of(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.deb")) == sorted(FILES)


def test_unreachable_sources_are_named(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"source cannot be fetched: Unable to connect\.$"):
        environment.fetch(tmp_path, "http://mirror.example/", Apt((100, "E: Unable to connect.\n")))
    with pytest.raises(Failed, match="set MILLRACE_APT_URI"):
        environment.fetch(tmp_path, None, Apt())
