# SPDX-License-Identifier: Apache-2.0
"""Users and groups have one number on NFS and SMB, and are created completely or not at all."""

import errno
import io

import pytest
from click.testing import CliRunner

from millrace.serve.account import edit
from millrace.serve.account.account_change import AccountChange, PasswordChange
from millrace.serve.account.accounts import CONSOLE_SHELL, render
from millrace.serve.account.sync import sync
from millrace.serve.account.verbs import user as user_verb
from millrace.serve.config import store
from millrace.serve.config.model import Group, User
from millrace.serve.render.reconcile import Reconciliation
from millrace.serve.render.registry import Change
from millrace.serve.share.edit import create_shares
from millrace.system import account_files, nfsd, roles
from millrace.system.errors import BadInput, Refused
from millrace.system.run import Result
from tests.fakes import read_only
from tests.fakes.accounts import MODES
from tests.fakes.appliance import ROLE_GROUPS, Appliance
from tests.fakes.tools import stand_in

SECRET = "correct: horse 9 battery"


def users() -> list[str]:
    return [one.name for one in store.load().users]


def test_a_user_is_made_for_both_protocols_with_one_number(appliance: Appliance) -> None:
    edit.create_group("ml", appliance)
    made = edit.create_user("ann", ["ml"], SECRET, appliance)
    assert appliance.accounts["passwd"]["ann"] == appliance.accounts["group"]["ann"] == made.uid
    rest = [str(made.uid), str(made.uid), "", "/nonexistent", "/usr/sbin/nologin"]
    assert appliance.accounts.row("passwd", "ann") == ["ann", "x", *rest]
    assert appliance.accounts.members("ml") == ["ann"] and appliance.accounts.row("gshadow", "ml") == [
        "ml",
        "!",
        "",
        "ann",
    ]
    assert appliance.smb_accounts == {"ann"}
    assert f"ann:{SECRET}\n" in appliance.stdin and f"{SECRET}\n{SECRET}\n" in appliance.stdin
    assert users() == ["ann"]


def test_a_person_has_the_shell_and_the_groups_of_its_role(appliance: Appliance) -> None:
    edit.create_user("ann", [], SECRET, appliance)
    edit.create_user("vera", [], SECRET, appliance, "viewer")
    edit.create_user("otto", [], SECRET, appliance, "operator")
    edit.create_user("bob", [], SECRET, appliance, "administrator", "Bob Miller")
    assert access(appliance, "ann") == ("/nonexistent", "/usr/sbin/nologin", set())
    assert access(appliance, "vera") == ("/nonexistent", CONSOLE_SHELL, {roles.CONSOLE})
    assert access(appliance, "otto") == ("/home/otto", "/bin/bash", {roles.CONSOLE, roles.OPERATORS})
    assert access(appliance, "bob") == ("/home/bob", "/bin/bash", {roles.ADMINISTRATORS})
    assert appliance.accounts.row("passwd", "bob")[4] == "Bob Miller"


def access(appliance: Appliance, name: str) -> tuple[str, str, set[str]]:
    """Home and shell of a user, and the groups of the user that a role gives."""
    groups = {group for group in ("sudo", *ROLE_GROUPS) if name in appliance.accounts.members(group)}
    return (*appliance.accounts.row("passwd", name)[5:7], groups)


def test_a_password_is_never_on_a_command_line_nor_in_the_state(appliance: Appliance) -> None:
    edit.create_user("ann", [], SECRET, appliance)
    edit.change_password("ann", SECRET + "!", appliance)
    assert not any(SECRET in word for call in appliance.calls for word in call)
    assert not any(SECRET in path.read_text() for path in appliance.root.rglob("*.json"))


@pytest.mark.parametrize("name", ["", "Ann", "a b", "größe", "../x", "root:x", "-r", "a" * 32, "a,b", "ann\n"])
def test_a_bad_name_changes_nothing(appliance: Appliance, name: str) -> None:
    with pytest.raises(BadInput, match="cannot be the name"):
        edit.create_user(name, [], SECRET, appliance)
    assert users() == [] and set(appliance.accounts["passwd"]) == {"admin", "root"}


@pytest.mark.parametrize("password", ["", "two\nlines", "tab\t", "x" * 201, "\x00"])
def test_a_password_that_could_not_be_typed_is_refused_without_repeating_it(
    appliance: Appliance, password: str
) -> None:
    with pytest.raises(BadInput, match="a password is one line") as error:
        edit.create_user("ann", [], password, appliance)
    assert appliance.calls == [] and (not password or password not in str(error.value))


@pytest.mark.parametrize("name", ["root", "admin"])
def test_a_user_of_the_system_is_not_taken_over(appliance: Appliance, name: str) -> None:
    with pytest.raises((Refused, BadInput)):
        edit.create_user(name, [], SECRET, appliance)
    assert appliance.accounts["passwd"][name] in (0, 1000)
    assert users() == [] and not appliance.called("chpasswd")


def test_a_user_that_exists_keeps_its_password(appliance: Appliance) -> None:
    edit.create_user("ann", [], SECRET, appliance)
    appliance.calls.clear()
    with pytest.raises(BadInput, match="user or group ann already exists"):
        edit.create_user("ann", [], "another", appliance)
    assert not appliance.called("chpasswd") and not appliance.called("smbpasswd")
    assert "ann" in appliance.accounts["passwd"]


BEGINS = {"chpasswd": "chpasswd", "smbpasswd": "smbpasswd -c /dev/null -s", "getent": "getent group ann"}


@pytest.mark.parametrize("tool", BEGINS)
def test_a_user_that_cannot_be_made_whole_is_not_made(appliance: Appliance, tool: str) -> None:
    appliance.broken[BEGINS[tool]] = Result(1, "", "no\n")
    with pytest.raises(Refused, match=r"; nothing was changed$"):
        edit.create_user("ann", [], SECRET, appliance)
    assert users() == [] and "ann" not in appliance.accounts["passwd"] and appliance.smb_accounts == set()
    appliance.broken.clear()
    assert edit.create_user("ann", [], SECRET, appliance).name == "ann"


def test_what_a_kill_left_half_made_is_finished_by_the_next_try(appliance: Appliance) -> None:
    appliance.accounts["group"]["ann"] = appliance.accounts["passwd"]["ann"] = store.load().next_id
    assert edit.create_user("ann", [], SECRET, appliance).uid == appliance.accounts["passwd"]["ann"]


def test_a_number_that_the_system_gave_out_is_passed_over(appliance: Appliance) -> None:
    appliance.accounts["passwd"]["stranger"] = 2000
    appliance.accounts["group"]["others"] = 2001
    assert edit.create_user("ann", [], SECRET, appliance).uid == 2002


def test_a_number_is_never_given_out_twice(appliance: Appliance) -> None:
    first = edit.create_user("ann", [], SECRET, appliance).uid
    edit.remove_user("ann", appliance)
    assert "ann" not in appliance.accounts["passwd"] and appliance.smb_accounts == set()
    assert edit.create_user("bob", [], SECRET, appliance).uid > first


def test_a_user_that_a_share_names_stays(appliance: Appliance) -> None:
    edit.create_user("ann", [], SECRET, appliance)
    create_shares(["train"], {"smb_users": ("ann",)}, appliance.server)
    with pytest.raises(Refused, match="the share train names ann"):
        edit.remove_user("ann", appliance)
    assert "ann" in appliance.accounts["passwd"]


def test_group_in_use_is_not_removed(appliance: Appliance) -> None:
    edit.create_group("ml", appliance)
    edit.create_user("ann", ["ml"], SECRET, appliance)
    with pytest.raises(Refused, match="the user ann names the group ml"):
        edit.remove_group("ml", appliance)
    edit.set_user("ann", [], appliance)
    assert appliance.accounts.members("ml") == []
    edit.remove_group("ml", appliance)
    assert "ml" not in appliance.accounts["group"]


@pytest.mark.parametrize("name", ["sudo", "root"])
def test_a_group_of_the_system_is_not_taken_over(appliance: Appliance, name: str) -> None:
    appliance.accounts["group"]["root"] = 0
    with pytest.raises(Refused, match="is a system group"):
        edit.create_group(name, appliance)


def test_accounts_that_are_gone_are_made_again_at_boot(appliance: Appliance) -> None:
    edit.create_group("ml", appliance)
    ann = edit.create_user("ann", ["ml"], SECRET, appliance)
    appliance.accounts.reset({"passwd": {}, "group": {}})
    assert [one.name for one in render(store.load(), appliance)] == ["ann"]
    assert appliance.accounts["passwd"] == {"ann": ann.uid}
    assert render(store.load(), appliance) == []


def test_boot_drive_that_is_read_only_has_all_accounts(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    edit.create_user("ann", [], SECRET, appliance)
    assert render(store.load(), appliance) == []
    read_only.boot_drive(appliance.root, monkeypatch)
    with store.config_lock():
        assert render(store.load(), appliance) == []
    with pytest.raises(OSError, match="Read-only file system"):
        render(store.load().model_copy(update={"groups": [Group(name="ml", gid=2999)]}), appliance)


def test_the_password_comes_from_standard_input(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, appliance)
    done = CliRunner().invoke(user_verb, ["create", "ann", "--password-stdin", "--json"], input=SECRET + "\n")
    assert done.exit_code == 0, done.output
    assert '"name": "ann"' in done.output and SECRET not in done.output
    assert f"ann:{SECRET}\n" in appliance.stdin


class TestPam:
    @pytest.fixture(autouse=True)
    def called_by_pam(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PAM_TYPE", "password")
        monkeypatch.setenv("PAM_USER", "ann")

    def test_a_password_changed_elsewhere_is_the_one_of_smb(self, appliance: Appliance) -> None:
        edit.create_user("ann", [], SECRET, appliance)
        assert sync(io.BytesIO(b"another one 7\0"), appliance)
        assert "another one 7\nanother one 7\n" in appliance.stdin

    def test_the_administrator_too(self, appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PAM_USER", "admin")
        assert sync(io.BytesIO(b"one of my own"), appliance)
        assert appliance.smb_accounts == {"admin"}

    def test_no_other_user_gets_an_smb_account(self, appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PAM_USER", "root")
        assert not sync(io.BytesIO(b"own"), appliance)
        assert appliance.calls == []

    def test_verb_is_refused_outside_pam(self, appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PAM_TYPE")
        with pytest.raises(BadInput, match="millrace user passwd"):
            sync(io.BytesIO(b"own"), appliance)


def test_change_of_groups_counts_over_nfs_at_once(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    edit.create_group("ml", appliance)
    edit.create_user("ann", [], SECRET, appliance)
    members: list[list[str]] = []
    monkeypatch.setattr(nfsd, "forget_groups", lambda: members.append(appliance.accounts.members("ml")))
    edit.set_user("ann", ["ml"], appliance)
    assert members == [["ann"]]
    # also where a change is taken back: the kernel may have asked in between
    config = store.load().model_copy(update={"users": [User(name="ann", uid=2001), User(name="bob", uid=2002)]})
    appliance.broken["chpasswd"] = Result(1, "", "no\n")
    with pytest.raises(Refused):
        Reconciliation([AccountChange(appliance), PasswordChange("bob", SECRET, appliance)])(store.load(), config)
    assert members == [["ann"], ["ann"]]


def test_kernel_that_keeps_old_groups_is_a_warning(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise PermissionError(1, "Operation not permitted")

    edit.create_group("ml", appliance)
    edit.create_user("ann", [], SECRET, appliance)
    monkeypatch.setattr(nfsd, "forget_groups", refuse)
    change = Change(
        store.load(), store.load().model_copy(update={"users": [User(name="ann", uid=2001, groups=["ml"])]})
    )
    AccountChange(appliance).finish(change)
    assert change.warnings == ["NFS keeps the old groups of users for up to half an hour: Operation not permitted"]


def test_a_user_that_cannot_be_changed_is_as_before(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    edit.create_group("ml", appliance)
    edit.create_user("ann", [], SECRET, appliance)
    before = {name: (appliance.root / "etc" / name).read_text() for name in MODES}
    monkeypatch.setattr(account_files, "replace_together", full)
    with pytest.raises(Refused, match=r"No space left on device.*; nothing was changed$"):
        edit.set_user("ann", ["ml"], appliance)
    assert {name: (appliance.root / "etc" / name).read_text() for name in MODES} == before
    assert store.load().user("ann") == User(name="ann", uid=2001)


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "/etc/group+")


def test_a_group_that_a_failed_change_made_is_removed(appliance: Appliance) -> None:
    edit.create_group("ml", appliance)
    before = store.load()
    edit.remove_group("ml", appliance)
    appliance.broken["chpasswd"] = Result(1, "", "no\n")
    wanted = before.model_copy(update={"users": [User(name="ann", uid=2005, groups=["ml"])]})
    parts = [AccountChange(appliance), PasswordChange("ann", SECRET, appliance)]
    with pytest.raises(Refused, match=r"; nothing was changed$"):
        Reconciliation(parts)(store.load(), wanted)
    assert "ml" not in appliance.accounts["group"] and "ann" not in appliance.accounts["passwd"]
