# SPDX-License-Identifier: Apache-2.0
"""An old QEMU is replaced by that of the host's backports, and only in the cache."""

import fcntl
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from host import debs, qemu
from host.layout import Caches

URI = "http://archive.invalid/debian"


def program(path: Path, version: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho 'QEMU emulator version {version} (Debian 1:{version})'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host whose own QEMU is the program that is returned."""
    own = tmp_path / "bin" / "qemu"
    monkeypatch.setattr(qemu, "QEMU", str(own))
    monkeypatch.setattr(qemu.apt, "archive_uri", lambda: URI)
    return own


def unpacks(version: str) -> debs.Run:
    def run(argv: list[str], directory: Path) -> None:
        if argv[0] == "dpkg-deb":
            program(directory / qemu.PROGRAM, version)
        elif argv[-1] != "update":
            (directory / "qemu.deb").touch()

    return run


@pytest.mark.parametrize("version", ["8.1.0", "10.0.2"])
def test_a_new_enough_one_of_the_host_is_taken(host: Path, tmp_path: Path, version: str) -> None:
    program(host, version)
    assert qemu.command(Caches(tmp_path / "cache")) == str(host)
    assert not (tmp_path / "cache").exists()


def test_an_old_one_is_replaced_once(host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(host, "7.2.22")
    caches = Caches(tmp_path / "cache")
    fetched = []

    def fetch(home: Path, uri: str | None, codename: str) -> None:
        fetched.append((uri, codename))
        program(home / qemu.PROGRAM, "10.0.2")

    monkeypatch.setattr(qemu, "fetch", fetch)
    monkeypatch.setattr(qemu.platform, "freedesktop_os_release", lambda: {"VERSION_CODENAME": "bookworm"})
    for _ in range(2):
        assert qemu.command(caches) == str(caches.root / "qemu" / qemu.PROGRAM)
    assert fetched == [(URI, "bookworm")]


def test_a_build_that_runs_meanwhile_is_not_waited_for(
    host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(host, "7.2.22")
    caches = Caches(tmp_path / "cache")

    def fetch(home: Path, uri: str | None, codename: str) -> None:
        with caches.lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        program(home / qemu.PROGRAM, "10.0.2")

    monkeypatch.setattr(qemu, "fetch", fetch)
    assert qemu.command(caches) == str(caches.root / "qemu" / qemu.PROGRAM)


def test_what_another_process_fetched_meanwhile_is_taken(
    host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(host, "7.2.22")
    caches = Caches(tmp_path / "cache")
    fetched = caches.root / "qemu" / qemu.PROGRAM

    @contextmanager
    def held(path: Path, waiting: str) -> Iterator[None]:
        program(fetched, "10.0.2")
        yield

    monkeypatch.setattr(qemu.lock, "held", held)
    monkeypatch.setattr(qemu, "fetch", lambda *_: pytest.fail("fetched twice"))
    assert qemu.command(caches) == str(fetched)


def test_without_backports_the_old_one_is_used_and_that_is_said(
    host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program(host, "7.2.22")
    monkeypatch.setattr(qemu.apt, "archive_uri", lambda: None)
    assert qemu.command(Caches(tmp_path / "cache")) == str(host)
    assert "older than 8.1" in capsys.readouterr().err


def test_what_is_unpacked_takes_its_place_whole(tmp_path: Path) -> None:
    home = tmp_path / "qemu"
    (home / "old").mkdir(parents=True)
    qemu.fetch(home, URI, "bookworm", unpacks("10.0.2"))
    assert qemu.version(str(home / qemu.PROGRAM)) == (10, 0)
    assert [path.name for path in home.iterdir()] == ["usr"]
    assert [path.name for path in tmp_path.iterdir()] == ["qemu"]


@pytest.mark.parametrize("found", ["7.2.22", "none"])
def test_what_does_not_help_does_not_replace_anything(tmp_path: Path, found: str) -> None:
    home = tmp_path / "qemu"
    (home / "old").mkdir(parents=True)
    with pytest.raises(OSError, match="does not run"):
        qemu.fetch(home, URI, "bookworm", unpacks(found))
    assert (home / "old").is_dir()
