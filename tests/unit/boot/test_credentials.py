# SPDX-License-Identifier: Apache-2.0
"""A server with a pool takes the credentials that it was set up with and those on a list, and no others."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from host.layout import REPO
from tests.unit.boot.units import settings

INITRD = REPO / "mkosi.initrd.conf/mkosi.extra/usr/lib"
SCRIPT = INITRD / "millrace/credentials"
GENERATOR = INITRD / "systemd/system-environment-generators/millrace-credentials"
UNITS = INITRD / "systemd/system"
AGENT = "systemd.extra-unit.agent.service"


class Boot:
    """The initrd of one boot: what came from outside, and the root that it mounted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = root / "sysroot/var/lib/millrace"
        self.given = root / "run/credentials"
        shutil.rmtree(self.given, ignore_errors=True)
        (root / "run/millrace-credentials-confined").unlink(missing_ok=True)

    def brings(self, name: str, text: str = "a", where: str = "@system") -> "Boot":
        (self.given / where).mkdir(parents=True, exist_ok=True)
        (self.given / where / name).write_text(text)
        return self

    def run(self, what: str) -> str:
        done = subprocess.run([SCRIPT, what, self.root], check=True, capture_output=True, text=True)
        assert done.stdout == ""
        return done.stderr

    def left(self, where: str = "@system") -> list[str]:
        return sorted(path.name for path in (self.given / where).glob("*") if path.name != ".held")

    def confined(self, where: str = "@system") -> list[str]:
        self.run("hold")
        self.run("confine")
        assert not (self.given / where / ".held").exists()
        return self.left(where)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    (tmp_path / "sysroot/var").mkdir(parents=True)
    return tmp_path


def provisioned(root: Path) -> None:
    (root / "sysroot/var/lib/millrace/pool.json").touch()


def test_the_initrd_sees_no_credential_but_those_that_open_root(root: Path) -> None:
    boot = Boot(root).brings(AGENT).brings("tmpfiles.extra").brings("cryptsetup.tpm2-pin")
    boot.run("hold")
    assert boot.left() == ["cryptsetup.tpm2-pin"]


def test_a_server_without_a_pool_gets_all_back_as_they_were(root: Path) -> None:
    boot = Boot(root).brings(AGENT, "unit").brings("millrace.provision", "auto\n")
    boot.brings("login.issue", "x", "@encrypted")
    assert boot.confined() == ["millrace.provision", AGENT]
    assert boot.left("@encrypted") == ["login.issue"]
    assert (boot.given / "@system" / AGENT).read_text() == "unit"


def test_a_server_with_a_pool_takes_what_it_was_set_up_with(root: Path) -> None:
    Boot(root).brings(AGENT, "unit").confined()
    provisioned(root)
    assert Boot(root).brings(AGENT, "unit").confined() == [AGENT]


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("systemd.extra-unit.other.service", "unit", "@system"),
        (AGENT, "another", "@system"),
        (AGENT, "unit", "@encrypted"),
        ("tmpfiles.extra", "", "@system"),
        ("-rf", "", "@system"),
        ("a b*", "", "@system"),
        (".hidden", "", "@system"),
        (".held", "", "@system"),
    ],
)
def test_a_server_with_a_pool_removes_what_is_new_or_altered(root: Path, name: str, text: str, where: str) -> None:
    Boot(root).brings(AGENT, "unit").confined()
    provisioned(root)
    assert Boot(root).brings(name, text, where).confined(where) == []


def test_a_removed_credential_is_named(root: Path) -> None:
    Boot(root).confined()
    (root / "sysroot/var/lib/millrace").mkdir(parents=True, exist_ok=True)
    provisioned(root)
    assert "fstab.extra was removed" in Boot(root).brings("fstab.extra").run("confine")


def test_addresses_may_be_given_at_any_time(root: Path) -> None:
    Boot(root).confined()
    provisioned(root)
    assert Boot(root).brings("network.network.50-data0").confined() == ["network.network.50-data0"]


@pytest.mark.parametrize("name", ["millrace.admin-password", "passwd.plaintext-password.root", "millrace.provision"])
def test_what_was_used_is_removed_and_never_recorded(root: Path, name: str) -> None:
    boot = Boot(root).brings(name, "secret")
    assert boot.confined() == [name]
    assert (boot.state / "credentials.sha256").read_text() == ""
    provisioned(root)
    assert Boot(root).brings(name, "secret").confined() == []


def test_only_root_reads_the_record(root: Path) -> None:
    boot = Boot(root).brings(AGENT)
    boot.confined()
    assert (boot.state / "credentials.sha256").stat().st_mode & 0o777 == 0o600


def test_a_pool_of_an_earlier_version_keeps_what_its_first_boot_brings(root: Path) -> None:
    (root / "sysroot/var/lib/millrace").mkdir(parents=True)
    provisioned(root)
    assert Boot(root).brings(AGENT).confined() == [AGENT]
    assert Boot(root).brings("tmpfiles.extra").confined() == []


def test_the_record_is_of_the_last_boot_without_a_pool(root: Path) -> None:
    Boot(root).brings("login.motd").confined()
    Boot(root).brings(AGENT).confined()
    provisioned(root)
    assert Boot(root).brings("login.motd").brings(AGENT).confined() == [AGENT]


def test_a_root_that_takes_no_record_goes_on_without_what_is_not_listed(root: Path) -> None:
    (root / "sysroot/var/lib").write_text("no directory")
    boot = Boot(root).brings(AGENT)
    assert "could not be recorded" in boot.run("confine")
    # there is no pool on such a root either
    assert boot.left() == [AGENT]


def test_a_reload_of_the_initrd_takes_nothing_away_again(root: Path) -> None:
    boot = Boot(root).brings(AGENT)
    boot.confined()
    boot.run("hold")
    assert boot.left() == [AGENT]


def test_a_server_without_credentials_needs_none(root: Path) -> None:
    boot = Boot(root)
    assert boot.run("hold") + boot.run("confine") == ""


def test_they_are_put_aside_before_generators_run_and_come_back_before_the_initrd_is_left() -> None:
    assert GENERATOR.stat().st_mode & SCRIPT.stat().st_mode & 0o111 == 0o111
    assert GENERATOR.read_text().splitlines()[-1] == "exec /usr/lib/millrace/credentials hold >&2"
    unit = settings((UNITS / "millrace-credentials.service").read_text())
    assert "sysroot.mount" in unit["After"][0] and "initrd-root-fs.target" in unit["Before"][0]
    link = UNITS / "initrd.target.wants/millrace-credentials.service"
    assert link.resolve() == UNITS / "millrace-credentials.service"


def names(text: str) -> set[str]:
    return set(re.findall(r"^    ([a-z.*_| -]+)\) ;;$", text, re.MULTILINE))


def test_the_manual_has_the_lists_of_the_script() -> None:
    manual = (REPO / "docs/security.md").read_text().partition("### After a pool was made")[2].partition("\n## ")[0]
    script = SCRIPT.read_text()
    for row, function in (("always taken", "listed()"), ("removed once used", "used()")):
        body = script.partition(f"{function} {{")[2].partition("\n}\n")[0]
        wanted = {name for line in names(body) for name in line.split(" | ")}
        [line] = [one for one in manual.splitlines() if one.startswith(f"| {row} |")]
        assert wanted and set(re.findall(r"`([^`]+)`", line)) == wanted
