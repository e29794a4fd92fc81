# SPDX-License-Identifier: Apache-2.0
"""promtool is the host's, or comes from the host's package source once; without both there is none."""

import subprocess
from pathlib import Path

import pytest

from host import promtool
from host.layout import Caches

URI = "http://archive.invalid/debian"


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host without promtool, of the release bookworm."""
    monkeypatch.setattr(promtool.shutil, "which", lambda _: None)
    monkeypatch.setattr(promtool.apt, "archive_uri", lambda: URI)
    monkeypatch.setattr(promtool.platform, "freedesktop_os_release", lambda: {"VERSION_CODENAME": "bookworm"})


def test_the_one_of_the_host_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promtool.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert promtool.command(Caches(tmp_path)) == "/usr/bin/promtool"
    assert list(tmp_path.iterdir()) == []


def test_it_is_unpacked_once_and_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def run(argv: list[str], directory: Path) -> None:
        ran.append(argv)
        if argv[0] == "dpkg-deb":
            program = directory / promtool.PROGRAM
            program.parent.mkdir(parents=True)
            program.touch()
        elif argv[-1] == "prometheus":
            (directory / "prometheus.deb").touch()

    fetch = promtool.fetch
    monkeypatch.setattr(promtool, "fetch", lambda *where: fetch(*where, run))
    home = tmp_path / "promtool"
    for _ in range(2):
        assert promtool.command(Caches(tmp_path)) == str(home / promtool.PROGRAM)
    assert [argv[0] for argv in ran] == ["apt-get", "apt-get", "dpkg-deb"]
    assert [path.name for path in home.iterdir()] == ["usr"]


@pytest.mark.parametrize("uri", [None, URI])
def test_without_a_package_source_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str | None
) -> None:
    def fails(argv: list[str], directory: Path) -> None:
        raise subprocess.CalledProcessError(100, argv)

    fetch = promtool.fetch
    monkeypatch.setattr(promtool, "fetch", lambda *where: fetch(*where, fails))
    monkeypatch.setattr(promtool.apt, "archive_uri", lambda: uri)
    assert promtool.command(Caches(tmp_path)) is None
