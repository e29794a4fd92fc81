# SPDX-License-Identifier: Apache-2.0
"""A kept state comes back on another boot drive: files with their modes, accounts, databases; nothing else."""

import fcntl
import os
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.lifecycle.adopt import restore
from millrace.lifecycle.keep.model import Manifest, ManifestMember
from millrace.serve.certificate import files as certificate
from millrace.serve.config import store
from millrace.serve.config.model import first_config
from millrace.serve.render import rendered
from millrace.system import paths
from millrace.system.errors import BadInput, Failed
from millrace.system.run import Result
from tests.fakes.accounts import Accounts
from tests.fakes.commands import Commands
from tests.unit.lifecycle.adopt import states
from tests.unit.lifecycle.adopt.states import manifest


class Tools(Commands):
    """The tools of a boot drive without users of shares."""

    TAKEN: ClassVar = (
        "tdbrestore *",
        "getent passwd anna 3000",
        "getent group anna 3000",
        "chpasswd --encrypted",
        "systemctl try-restart *",
        "hostnamectl --static",
    )

    def __init__(self) -> None:
        super().__init__()
        self.accounts = Accounts(paths.ROOT, {"passwd": {"admin": 1000}, "group": {}})

    def _hostnamectl(self, words: list[str], _: str) -> Result:
        read = ["systemctl", "try-restart", "systemd-hostnamed.service"] in self.calls
        return Result(0, "millrace-9c7214\n" if read else "millrace-fresh\n", "")

    def _getent(self, words: list[str], _: str) -> Result:
        return Result(2, "", "")

    def _chpasswd(self, words: list[str], stdin: str) -> Result:
        self.accounts.set_passwords(dict(line.split(":", 1) for line in stdin.splitlines()))
        return Result(0, "", "")

    def _tdbrestore(self, words: list[str], stdin: str) -> Result:
        Path(words[0]).write_text(f"database of {stdin}")
        return Result(0, "", "")


@pytest.fixture
def contents(root: Path) -> dict[str, bytes]:
    (root / "proc/sys/kernel").mkdir(parents=True)
    (root / "proc/sys/kernel/hostname").write_text("millrace-fresh")
    return states.kept()


def with_member(contents: dict[str, bytes], member: ManifestMember) -> Manifest:
    found = manifest(contents)
    return found.model_copy(update={"members": [*found.members, member]})


def test_files_accounts_and_identities_come_back_and_pool_json_does_not_yet(
    root: Path, contents: dict[str, bytes]
) -> None:
    tools = Tools()
    assert restore.restore(manifest(contents), contents, {}, tools) == []
    assert store.read().config.serial == 7
    key = root / "var/lib/millrace/nfs-handles.key"
    assert (key.read_bytes(), key.stat().st_mode & 0o777) == (b"key", 0o600)
    assert (root / "var/lib/samba/private/secrets.tdb").read_text() == "database of SID"
    assert (root / "proc/sys/kernel/hostname").read_text() == "filer"
    assert rendered.load().quotas == {"/srv/pool/data": "1 1G"}
    assert not paths.pool_file().exists()
    passwords = tools.stdin[tools.calls.index(["chpasswd", "--encrypted"])]
    assert passwords == "admin:$y$admin\nanna:$y$anna\n"
    assert tools.accounts["passwd"] == {"admin": 1000, "anna": 3000}


def test_server_on_which_nothing_was_decided_comes_back_as_a_new_one(contents: dict[str, bytes]) -> None:
    """It has no config.json before the first change."""
    del contents[states.CONFIG]
    del contents["accounts/shadow"]
    assert restore.restore(manifest(contents), contents, {}, Tools()) == []
    assert store.read().config == first_config()


@pytest.mark.parametrize(
    ("problem", "change"),
    [(f"{states.CONFIG}: it cannot be read", ""), ("", "var/lib/millrace/config-history/000001.json")],
    ids=["not kept", "lost after a change"],
)
def test_desired_state_that_is_lost_is_not_taken_for_none(
    contents: dict[str, bytes], problem: str, change: str
) -> None:
    del contents[states.CONFIG]
    if change:
        contents[change] = b"{}"
    of = manifest(contents, problems=[problem] if problem else [])
    with pytest.raises(BadInput):
        restore.config_of(of, contents)


def test_name_of_the_machine_id_is_the_one_that_the_next_boot_gives(root: Path, contents: dict[str, bytes]) -> None:
    """Samba's SID and the certificate belong to the host name; a question mark in it stands for a digit."""
    named = {**contents, "etc/hostname": b"millrace-??????\n"}
    restore.restore(manifest(named), named, {}, Tools())
    assert (root / "etc/hostname").read_bytes() == named["etc/hostname"]
    assert (root / "proc/sys/kernel/hostname").read_text() == "millrace-9c7214"


def test_no_certificate_is_renewed_between_its_files_and_the_host_name(contents: dict[str, bytes]) -> None:
    """The new /etc/hostname starts a renewal, which waits for the lock of a change."""
    held = {}

    def look(at: str) -> None:
        descriptor = os.open(certificate.directory() / ".lock", os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held[at] = False
        except BlockingIOError:
            held[at] = True
        finally:
            os.close(descriptor)

    tools = Tools()
    named = {**contents, "etc/hostname": b"millrace-??????\n"}
    renewal = "systemctl try-restart millrace-certificate.service"
    for command in ("hostnamectl --static", renewal):
        tools.before[command] = partial(look, command)
    restore.restore(manifest(named), named, {}, tools)
    assert held == {"hostnamectl --static": True, renewal: False}


def test_it_can_be_repeated(contents: dict[str, bytes]) -> None:
    for _ in range(2):
        assert restore.restore(manifest(contents), contents, {}, Tools()) == []
    assert store.read().config.serial == 7


@pytest.mark.parametrize(
    "path",
    [
        "etc/passwd",
        "../etc/passwd",
        "etc/millrace/../passwd",
        "/etc/hostname",
        "root/.ssh",
        # others than `keep.trust` has among what lets somebody in, and the same file
        "etc/millrace//update-keys.pgp",
        "etc/millrace/./ssh-enabled",
        "var/lib/millrace/alert/routes.json/",
    ],
)
def test_file_that_is_not_kept_stops_all_of_it(root: Path, contents: dict[str, bytes], path: str) -> None:
    strange = ManifestMember(path=path, mode=0o644, secret=False, size=0, sha256="")
    with pytest.raises(BadInput, match="which is not kept by this release"):
        restore.restore(with_member(contents, strange), {**contents, path: b"x"}, {}, Tools())
    assert not (root / "var/lib/millrace/nfs-handles.key").exists()


@pytest.mark.parametrize(("mode", "restored"), [(0o4755, 0o755), (0o2640, 0o640), (1 << 70 | 0o600, 0o600)])
def test_no_file_comes_back_with_the_rights_of_another_user(
    root: Path, contents: dict[str, bytes], mode: int, restored: int
) -> None:
    of = manifest(contents)
    members = [each.model_copy(update={"mode": mode}) if each.path == "etc/hostname" else each for each in of.members]
    restore.restore(of.model_copy(update={"members": members}), contents, {}, Tools())
    assert (root / "etc/hostname").stat().st_mode & 0o7777 == restored


@pytest.mark.parametrize("link", ["/etc/shadow", "../../../../etc/shadow"])
def test_link_that_leads_elsewhere_stops_all_of_it(contents: dict[str, bytes], link: str) -> None:
    path = "var/lib/millrace/certificate/current"
    strange = ManifestMember(path=path, mode=0o777, secret=False, size=0, sha256="", link=link)
    with pytest.raises(BadInput, match="leads elsewhere"):
        restore.restore(with_member(contents, strange), {**contents, path: b""}, {}, Tools())


@pytest.mark.parametrize("verb", ["verify", "restore"])
def test_file_behind_a_link_stops_all_of_it(root: Path, contents: dict[str, bytes], verb: str) -> None:
    link = ManifestMember(path="etc/millrace/a", mode=0o777, secret=False, size=0, sha256="", link=".")
    key = ManifestMember(path="etc/millrace/a/update-keys.pgp", mode=0o644, secret=False, size=1, sha256="")
    state = manifest(contents)
    state = state.model_copy(update={"members": [*state.members, link, key]})
    with pytest.raises(BadInput, match=r"etc/millrace/a/update-keys\.pgp, which is behind a link"):
        if verb == "verify":
            restore.verify(state, contents)
        else:
            restore.restore(state, {**contents, link.path: b"", key.path: b"k"}, {}, Tools())
    assert not (root / "etc/millrace").exists()


def zone(target: str | None) -> ManifestMember:
    return ManifestMember(path="etc/localtime", mode=0o777, secret=False, size=0, sha256="", link=target)


@pytest.mark.parametrize("target", ["/usr/share/zoneinfo/Europe/Berlin", "../usr/share/zoneinfo/Etc/GMT+3"])
def test_time_zone_comes_back(root: Path, contents: dict[str, bytes], target: str) -> None:
    restore.restore(with_member(contents, zone(target)), {**contents, "etc/localtime": b""}, {}, Tools())
    assert str((root / "etc/localtime").readlink()) == target


@pytest.mark.parametrize("target", ["/etc/shadow", "../usr/share/zoneinfo/../../../etc/shadow", "../../usr/x", None])
def test_time_zone_that_leads_elsewhere_stops_all_of_it(contents: dict[str, bytes], target: str | None) -> None:
    with pytest.raises(BadInput, match="no link to a time zone"):
        restore.restore(with_member(contents, zone(target)), {**contents, "etc/localtime": b""}, {}, Tools())


def test_what_is_encrypted_and_not_opened_is_named(contents: dict[str, bytes]) -> None:
    opened = {path: data for path, data in contents.items() if path != "accounts/shadow"}
    found = manifest(contents)
    sealed = [one.model_copy(update={"sealed": one.path == "accounts/shadow"}) for one in found.members]
    missing = restore.restore(found.model_copy(update={"members": sealed}), opened, {}, Tools())
    assert missing == ["accounts/shadow is encrypted and does not come back without the passphrase"]


def test_what_could_not_be_kept_is_named(contents: dict[str, bytes]) -> None:
    found = manifest(contents).model_copy(update={"problems": ["etc/krb5.keytab: Input/output error"]})
    assert restore.restore(found, contents, {}, Tools()) == ["etc/krb5.keytab could not be kept: it does not come back"]


def test_damaged_dump_leaves_the_database_that_was_there(root: Path, contents: dict[str, bytes]) -> None:
    database = root / "var/lib/samba/private/secrets.tdb"
    database.parent.mkdir(parents=True)
    database.write_text("the old one")
    tools = Tools()
    tools.broken["tdbrestore"] = Result(1, "", "parse error")
    with pytest.raises(Failed, match="tdbrestore"):
        restore.restore(manifest(contents), contents, {}, tools)
    assert [path.name for path in database.parent.iterdir()] == ["secrets.tdb"]
    assert database.read_text() == "the old one"


def test_ssh_keys_come_back_and_a_link_in_their_place_is_no_reason_not_to_serve(
    root: Path, contents: dict[str, bytes]
) -> None:
    keys = "home/admin/.ssh/authorized_keys"
    (root / "home/admin").mkdir(parents=True)
    more = contents | {keys: b"ssh-ed25519 AAAA\n"}
    assert restore.restore(manifest(more), more, {}, Tools()) == []
    assert (root / keys).read_text() == "ssh-ed25519 AAAA\n"
    (root / keys).unlink()
    (root / keys).symlink_to(root / "etc/hostname")
    [missing] = restore.restore(manifest(more), more, {}, Tools())
    assert missing.startswith(f"the SSH keys in /{keys} do not come back: ")
    assert (root / "etc/hostname").read_text() == "filer\n"


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("var/lib/samba/private/secrets.tdb.dump", b"\xff"),
        ("accounts/shadow", b"anna:\xff\n"),
        ("accounts/quotas.json", b"[]"),
        ("accounts/quotas.json", b"\xff"),
    ],
)
def test_damaged_file_is_refused_before_anything_is_written(
    root: Path, contents: dict[str, bytes], path: str, data: bytes
) -> None:
    damaged = {**contents, path: data}
    with pytest.raises(BadInput, match=path):
        restore.verify(manifest(damaged), damaged)
    with pytest.raises(BadInput, match=path):
        restore.restore(manifest(damaged), damaged, {}, Tools())
    assert not (root / "etc/hostname").exists()


@pytest.mark.parametrize("name", ["a\0b", "x" * 256])
def test_name_that_no_file_can_have_is_refused(contents: dict[str, bytes], name: str) -> None:
    hostile = {**contents, f"etc/millrace/{name}": b""}
    with pytest.raises(BadInput, match="a name that no file can have"):
        restore.verify(manifest(hostile), hostile)
