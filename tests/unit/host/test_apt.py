# SPDX-License-Identifier: Apache-2.0
"""The image comes from the mirror that the build host uses; the repository names none."""

from pathlib import Path

import pytest

from host import apt
from host.apt import security_uri

LISTING = """\
Debian|bookworm-updates|main|http://mirror.example/debian/
Debian|bookworm-security|main|http://security.example/debian-security/
Debian|bookworm|contrib|http://mirror.example/contrib/
Vendor|bookworm|main|http://vendor.example/deb/
Debian|bookworm|main|http://mirror.example/debian/
"""


class Apt:
    """apt-get whose lists may not have been fetched yet."""

    def __init__(self, listing: str, fetched: bool = True) -> None:
        self.listing = listing
        self.fetched = fetched
        self.calls: list[str] = []

    def __call__(self, argv: list[str]) -> str:
        self.calls.append(argv[1])
        if argv[1] == "update":
            self.fetched = True
            return ""
        return self.listing if self.fetched else ""


@pytest.fixture(autouse=True)
def _no_override(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(apt.OVERRIDE, raising=False)


def test_debian_archive_is_neither_security_updates_nor_a_vendor() -> None:
    assert apt.archive_uri(Apt(LISTING)) == "http://mirror.example/debian/"


def test_a_fresh_host_fetches_its_lists_once() -> None:
    host = Apt(LISTING, fetched=False)
    assert apt.archive_uri(host) == "http://mirror.example/debian/"
    assert host.calls == ["indextargets", "update", "indextargets"]


def test_a_host_with_lists_is_left_alone() -> None:
    host = Apt(LISTING)
    apt.archive_uri(host)
    assert host.calls == ["indextargets"]


def test_a_host_without_debian_sources_has_none() -> None:
    assert apt.archive_uri(Apt("Ubuntu|noble|main|http://ubuntu.example/ubuntu/\n")) is None


def test_the_environment_overrides_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(apt.OVERRIDE, "http://pool.example/debian")
    host = Apt(LISTING)
    assert apt.archive_uri(host) == "http://pool.example/debian"
    assert host.calls == []


def test_the_source_has_no_debug_suite_and_is_signed() -> None:
    first, *_ = apt.sources("http://mirror.example/debian/").split("\n\n")
    lines = dict(line.split(": ", 1) for line in first.splitlines())
    assert lines["Suites"] == "forky forky-updates"
    assert lines["Components"] == "main non-free-firmware"
    assert lines["Signed-By"].endswith("debian-archive-keyring.gpg")
    assert lines["URIs"] == "http://mirror.example/debian/"


def test_backports_give_the_web_console_and_nothing_else() -> None:
    _, second = apt.sources("http://mirror.example/debian/").split("\n\n")
    assert "Suites: trixie-backports" in second
    pins = apt.preferences().split("\n\n")
    assert [pin.splitlines()[0] for pin in pins] == ["Package: *", "Package: cockpit cockpit-*"]
    assert "Pin-Priority: -1" in pins[0]
    assert "Pin-Priority: 500" in pins[1]


class Archives:
    """Which archives have the security suite of the release; `asked` are the files that were asked for."""

    def __init__(self, *archives: str) -> None:
        self.present = {f"{archive}/dists/forky-security/InRelease" for archive in archives}
        self.asked: list[str] = []

    def __call__(self, url: str) -> bool:
        self.asked.append(url)
        return url in self.present


BESIDE = "http://mirror.example/debian-security"


def test_security_suite_takes_part_from_the_day_that_it_is_there() -> None:
    beside = security_uri("http://mirror.example/debian/", Apt(""), Archives(BESIDE))
    assert beside == f"{BESIDE}/"
    *others, last = apt.sources("http://mirror.example/debian/", beside).split("\n\n")
    assert "Suites: forky-security\nComponents: main non-free-firmware\n" in last and f"URIs: {beside}" in last
    assert "\n\n".join(others) + "\n" == apt.sources("http://mirror.example/debian/")
    # no pin names it, so a newer version wins
    assert "security" not in apt.preferences()


def test_build_without_a_security_suite_has_the_sources_of_before() -> None:
    uri = "http://mirror.example/debian"
    archives = Archives()
    assert security_uri(uri, Apt(""), archives) is None
    assert archives.asked == [f"{BESIDE}/dists/forky-security/InRelease"]
    assert apt.files(uri, None) == apt.files(uri)
    assert "security" not in apt.files(uri)[apt.SOURCES]
    assert security_uri(None, Apt(LISTING), archives) is None


def test_security_archive_of_the_host_comes_before_one_beside_the_archive() -> None:
    own = "http://security.example/debian-security"
    uri = "http://mirror.example/debian/"
    assert security_uri(uri, Apt(LISTING), Archives(own, BESIDE)) == f"{own}/"
    assert security_uri(uri, Apt(LISTING), Archives(BESIDE)) == f"{BESIDE}/"


def test_chosen_archive_has_its_security_suite_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(apt.OVERRIDE, "http://pool.example/debian")
    host = Apt(LISTING)
    archives = Archives("http://security.example/debian-security")
    assert security_uri("http://pool.example/debian", host, archives) is None
    assert host.calls == []


def test_file_of_an_archive_is_asked_for_as_apt_reaches_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "InRelease").write_text("Codename: forky-security\n")
    helper = tmp_path / "apt-helper"
    helper.write_text('#!/bin/sh\nshift 5\ncp "${1#file:}" "$2"\n')
    helper.chmod(0o755)
    monkeypatch.setattr(apt, "HELPER", str(helper))
    assert apt.has(f"file:{tmp_path}/InRelease")
    assert not apt.has(f"file:{tmp_path}/none")
    monkeypatch.setattr(apt, "HELPER", "/none/apt-helper")
    assert not apt.has(f"file:{tmp_path}/InRelease")
