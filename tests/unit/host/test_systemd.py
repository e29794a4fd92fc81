# SPDX-License-Identifier: Apache-2.0
"""systemd of the image's version verifies the units: each kind of fault is found, and nothing passes by accident."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from host import systemd
from host.layout import REPO, Caches, caches
from millrace.system.errors import Failed

URI = "http://archive.invalid/debian"


@pytest.fixture(scope="module")
def home() -> Path:
    return systemd.unpacked(caches())


@pytest.fixture
def units(tmp_path: Path) -> Path:
    return Path(shutil.copytree(REPO / "units", tmp_path / "units", symlinks=True))


def complaints(home: Path, units: Path) -> list[str]:
    return systemd.complaints(home, units, REPO / "mkosi.extra", systemd.PACKAGED)


# file, what is replaced, by what, and what systemd says of it
FAULTS = {
    "a setting that there is not": (
        "millrace-tune.service",
        "[Service]",
        "[Service]\nProtectClok=yes",
        "'ProtectClok'",
    ),
    "a section that there is not": ("millrace-tune.service", "[Service]", "[Servce]", "'Servce'"),
    "a group of system calls": (
        "millrace-tune.service",
        "[Service]",
        "[Service]\nSystemCallFilter=@systm-service",
        "@systm-service",
    ),
    "a system call": ("millrace-tune.service", "[Service]", "[Service]\nSystemCallFilter=raed", "raed"),
    "a calendar": ("millrace-upkeep@.timer", "OnCalendar=", "OnCalendar=everyday ", "everyday"),
    "a program": ("millrace-tune.service", "[Service]", "[Service]\nExecStartPre=/usr/bin/milrace tune", "milrace"),
    "a drop-in of an instance": (
        "millrace-upkeep@trim.timer.d/10-trim.conf",
        "Unit=",
        "Unit=millrace-keep.service\nUnit=",
        "Multiple units",
    ),
    "a cycle": (
        "millrace-upkeep@volumes.timer.d/10-volumes.conf",
        "Unit=millrace-again@millrace-volumes.service",
        "Unit=millrace-volumes.service",
        "ordering cycle",
    ),
    "a drop-in": ("millrace-.service.d/10-sandbox.conf", "ProtectClock=yes", "ProtectClock=perhaps", "perhaps"),
}


def test_units_of_the_tree_are_in_order(home: Path) -> None:
    assert complaints(home, REPO / "units") == []


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_in_a_unit_is_found(home: Path, units: Path, fault: str) -> None:
    name, before, after, said = FAULTS[fault]
    text = (units / name).read_text()
    assert before in text
    (units / name).write_text(text.replace(before, after, 1))
    found = complaints(home, units)
    assert any(said in line for line in found), found


def test_setting_of_a_later_systemd_is_known(home: Path) -> None:
    """Units have settings that Debian 12's systemd 252 does not know: one that is as old would find faults here."""
    used = [
        path for path in (REPO / "units").rglob("*") if path.is_file() and "PrivateTmp=disconnected" in path.read_text()
    ]
    assert used and systemd.version(home) >= systemd.NEEDED


def test_program_that_no_unit_starts_is_named(home: Path, units: Path) -> None:
    packaged = {*systemd.PACKAGED, "/usr/bin/no-unit-has-it"}
    found = systemd.complaints(home, units, REPO / "mkosi.extra", packaged)
    assert found == ["no unit starts /usr/bin/no-unit-has-it: remove it"]


def test_systemd_that_says_nothing_but_fails_is_a_complaint(
    home: Path, units: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systemd, "analyze", lambda home: ["/bin/false"])
    assert "systemd-analyze ended with exit status 1" in systemd.complaints(home, units, REPO / "mkosi.extra", set())


def test_programs_of_packages_are_those_of_a_built_image() -> None:
    assert all(re.fullmatch(r"/usr/s?bin/[\w.-]+", name) for name in systemd.PACKAGED)
    assert not [name for name in systemd.PACKAGED if (REPO / f"mkosi.extra{name}").exists()]


class Archive:
    """A package source with a systemd of a version; apt-get and dpkg-deb are this class."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.ran: list[str] = []

    def run(self, argv: list[str], directory: Path) -> None:
        self.ran.append(argv[0])
        if argv[-len(systemd.PACKAGES) :] == list(systemd.PACKAGES):
            (directory / "systemd.deb").touch()
        elif argv[0] == "dpkg-deb":
            (directory / "version").write_text(str(self.version))

    def found(self, home: Path) -> int:
        return int((home / "version").read_text()) if (home / "version").exists() else 0


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> Archive:
    source, fetch = Archive(systemd.NEEDED), systemd.fetch
    monkeypatch.setattr(systemd, "version", source.found)
    monkeypatch.setattr(systemd.apt, "archive_uri", lambda: URI)
    monkeypatch.setattr(systemd, "fetch", lambda home, uri: fetch(home, uri, source.run, source.found))
    return source


def test_systemd_is_fetched_once_and_again_when_a_later_one_is_needed(
    tmp_path: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        home = systemd.unpacked(Caches(tmp_path))
    assert (archive.found(home), archive.ran) == (systemd.NEEDED, ["apt-get", "apt-get", "dpkg-deb"])
    archive.version = systemd.NEEDED + 1
    monkeypatch.setattr(systemd, "NEEDED", systemd.NEEDED + 1)
    assert archive.found(systemd.unpacked(Caches(tmp_path))) == systemd.NEEDED


def test_systemd_that_is_too_old_or_cannot_be_had_is_an_error(
    tmp_path: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.version = 252
    with pytest.raises(Failed, match="cannot be had: what was unpacked is version 252"):
        systemd.unpacked(Caches(tmp_path))

    def offline(argv: list[str], directory: Path) -> None:
        raise subprocess.CalledProcessError(100, argv)

    monkeypatch.setattr(archive, "run", offline)
    with pytest.raises(Failed, match="cannot be had"):
        systemd.unpacked(Caches(tmp_path))
    monkeypatch.setattr(systemd.apt, "archive_uri", lambda: None)
    with pytest.raises(Failed, match="no Debian package source"):
        systemd.unpacked(Caches(tmp_path))


def test_version_of_what_is_not_there_is_none(tmp_path: Path) -> None:
    assert systemd.version(tmp_path) == 0
