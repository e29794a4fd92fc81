# SPDX-License-Identifier: Apache-2.0
"""The image comes from the mirror that the build host uses; the repository names none."""

import pytest

from host import apt

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
