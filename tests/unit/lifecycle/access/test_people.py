# SPDX-License-Identifier: Apache-2.0
"""Several people manage this server, and no change locks the last administrator out."""

from collections.abc import Callable

import pytest

from millrace.lifecycle.access import people
from millrace.serve.account import account_paths, edit
from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.revision.replace import rollback
from millrace.system.errors import BadInput, MillraceError, Refused
from tests.fakes.appliance import Appliance

SECRET = "correct: horse 9 battery"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDtp3oVJyKl5xGkNVHtgmiVCcUuhmO1Eq9JZSdlIxkOE bob@laptop"


@pytest.fixture
def staffed(appliance: Appliance) -> Appliance:
    """A server with the administrators admin and bob, the operator otto and the viewer vera."""
    appliance.accounts.set_passwords({"admin": "$y$of$admin"})
    for name, role in (("bob", "administrator"), ("otto", "operator"), ("vera", "viewer")):
        people.create(name, role, "", SECRET, appliance)  # type: ignore[arg-type]
    return appliance


def lines(name: str) -> str:
    path = account_paths.ssh_keys_dir() / name
    return path.read_text() if path.exists() else ""


def test_key_of_an_administrator_is_where_sshd_reads_it(staffed: Appliance) -> None:
    report = people.add_key("bob", f"  {KEY}\n", staffed)
    assert report.person is not None and [key.comment for key in report.person.keys] == ["bob@laptop"]
    assert lines("bob") == f"{KEY}\n"
    people.remove_key("bob", report.person.keys[0].fingerprint, staffed)
    assert lines("bob") == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no public SSH key"),
        ("hello", "no public SSH key"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "private key"),
        (f'command="rm -rf /" {KEY}', "options in front of a key"),
        (KEY[:60], "damaged or cut off"),
        (KEY.replace("ssh-ed25519 ", "ssh-rsa "), "damaged or cut off"),
        ("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQE=", "less than 2048 bits|damaged"),
        ("ssh-dss AAAAB3NzaC1kc3MAAACBAP", "DSA keys"),
    ],
)
def test_text_that_is_no_key_is_refused(staffed: Appliance, text: str, words: str) -> None:
    before = store.load()
    with pytest.raises(BadInput, match=words):
        people.add_key("bob", text, staffed)
    assert store.load() == before and lines("bob") == ""


def test_key_is_there_once(staffed: Appliance) -> None:
    people.add_key("bob", KEY, staffed)
    with pytest.raises(BadInput, match="there already"):
        people.add_key("bob", KEY.replace("bob@laptop", "again"), staffed)


@pytest.mark.parametrize("name", ["otto", "vera"])
def test_ssh_is_for_administrators_only(staffed: Appliance, name: str) -> None:
    with pytest.raises(Refused, match="ssh is for administrators only"):
        people.add_key(name, KEY, staffed)
    assert lines(name) == ""


def test_lower_role_and_lock_end_the_sessions(staffed: Appliance) -> None:
    people.change("bob", staffed, role="operator")
    people.lock("vera", staffed)
    assert ["loginctl", "terminate-user", "bob"] in staffed.calls
    assert ["loginctl", "terminate-user", "vera"] in staffed.calls
    assert "bob" not in staffed.accounts.members("sudo")
    staffed.calls.clear()
    people.change("bob", staffed, role="administrator")
    people.change("bob", staffed, full_name="Bob Miller")
    assert not staffed.called("loginctl")


def test_locked_person_has_no_valid_password_until_the_lock_is_lifted(staffed: Appliance) -> None:
    before = staffed.accounts.row("shadow", "vera")
    people.lock("vera", staffed)
    after = staffed.accounts.row("shadow", "vera")
    assert after[1] == f"!{before[1]}" and after[7] == "1"
    people.lock("vera", staffed, locked=False)
    assert staffed.accounts.row("shadow", "vera") == before


LAST: dict[str, Callable[[Appliance], object]] = {
    "demote": lambda server: people.change("bob", server, role="operator"),
    "viewer": lambda server: people.change("bob", server, role="viewer"),
    "lock": lambda server: people.lock("bob", server),
    "remove": lambda server: people.remove("bob", server),
}


@pytest.mark.parametrize("end", LAST.values(), ids=LAST)
def test_last_administrator_stays(staffed: Appliance, end: Callable[[Appliance], object]) -> None:
    people.lock("admin", staffed)
    before, shadow = store.load(), staffed.accounts.row("shadow", "bob")
    with pytest.raises(MillraceError, match="the last administrator who can sign in: make another one first"):
        end(staffed)
    assert store.load() == before and staffed.accounts.row("shadow", "bob") == shadow
    assert staffed.accounts.members("sudo") == ["bob"]


def test_administrator_without_a_password_does_not_count(staffed: Appliance) -> None:
    staffed.accounts.set_passwords({"bob": "!"})
    with pytest.raises(Refused, match="the last administrator who can sign in"):
        people.lock("admin", staffed)
    assert not store.load().admin.locked


def test_rollback_never_removes_the_last_administrator(staffed: Appliance) -> None:
    before = store.load().serial
    people.create("carol", "administrator", "", SECRET, staffed)
    people.lock("admin", staffed)
    people.remove("bob", staffed)
    now = store.load()
    # in that state admin is not locked, so it is fine; without a password of admin nobody could sign in
    staffed.accounts.set_passwords({"admin": "*"})
    with pytest.raises(Refused, match="the last administrator who can sign in"):
        rollback(before, staffed, staffed.server)
    assert store.load() == now and "carol" in staffed.accounts.members("sudo")


@pytest.mark.parametrize("end", LAST.values(), ids=LAST)
def test_nobody_takes_rights_from_the_own_account(
    staffed: Appliance, end: Callable[[Appliance], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_USER", "bob")
    before = store.load()
    with pytest.raises(Refused, match=r"^this takes rights from bob, who runs it"):
        end(staffed)
    assert store.load() == before


@pytest.mark.parametrize("role", ["operator", "viewer"])
def test_admin_keeps_its_role_and_is_not_removed(staffed: Appliance, role: str) -> None:
    with pytest.raises(Refused, match="lock it instead"):
        people.change("admin", staffed, role=role)  # type: ignore[arg-type]
    with pytest.raises(Refused, match="lock it instead"):
        people.remove("admin", staffed)
    assert "admin" in store.load().administrators


@pytest.mark.parametrize("name", ["root", "sudo", "millrace-operator", "admin"])
def test_name_of_a_system_account_is_refused(staffed: Appliance, name: str) -> None:
    before = store.load()
    with pytest.raises(MillraceError, match=r"is a system|already exists"):
        people.create(name, "viewer", "", SECRET, staffed)
    assert store.load() == before


def test_full_name_with_a_colon_makes_no_account(staffed: Appliance) -> None:
    with pytest.raises(BadInput, match="a full name has at most 80"):
        people.create("eve", "viewer", "x:0:0", SECRET, staffed)
    assert "eve" not in staffed.accounts["passwd"]


def test_person_who_is_removed_leaves_no_key_and_no_second_factor(staffed: Appliance) -> None:
    people.add_key("bob", KEY, staffed)
    account_paths.second_factor_dir().mkdir(parents=True)
    (account_paths.second_factor_dir() / "bob").write_text("SECRET\n")
    people.remove("bob", staffed)
    assert lines("bob") == "" and not (account_paths.second_factor_dir() / "bob").exists()
    assert "bob" not in staffed.accounts["passwd"]


def test_user_of_shares_is_no_person(staffed: Appliance) -> None:
    edit.create_user("ann", [], SECRET, staffed)
    with pytest.raises(Refused, match="'ann' is a user of shares without a role"):
        people.change("ann", staffed, role="administrator")
    assert "ann" not in staffed.accounts.members("sudo")


def test_state_of_an_earlier_release_has_admin() -> None:
    assert Config().administrators == ["admin"]
