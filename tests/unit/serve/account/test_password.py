# SPDX-License-Identifier: Apache-2.0
"""Weak passwords are refused, and guessing locks the account."""

import configparser

import pytest

from host.layout import REPO
from millrace.serve.account import edit
from millrace.serve.account.accounts import SMB_LOCKOUT, render
from millrace.serve.account.password import LONGEST, SHORTEST
from millrace.serve.config import store
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Result
from tests.fakes.appliance import Appliance

SECRET = "correct: horse 9 battery"
EXTRA = REPO / "mkosi.extra/etc/security"


def settings(name: str) -> dict[str, str]:
    parser = configparser.ConfigParser(allow_no_value=True, interpolation=None)
    parser.read_string("[settings]\n" + (EXTRA / name).read_text())
    return {key: value or "" for key, value in parser["settings"].items()}


@pytest.mark.parametrize("password", ["secret", "x" * (SHORTEST - 1), "x" * (LONGEST + 1), "", "ann's password"])
def test_weak_password_changes_nothing_and_is_not_repeated(appliance: Appliance, password: str) -> None:
    with pytest.raises(BadInput, match=r"^(a password is one line|this password is easy to guess)") as error:
        edit.create_user("ann", [], password, appliance)
    assert not password or password not in str(error.value)
    assert store.load().users == [] and not appliance.called("useradd") and not appliance.called("chpasswd")


def test_password_with_the_user_name_is_refused_with_the_reason(appliance: Appliance) -> None:
    edit.create_user("ann", [], SECRET, appliance)
    before = len(appliance.called("chpasswd"))
    with pytest.raises(BadInput, match=r"choose another: the password contains the user name in some form$"):
        edit.change_password("ann", "the-ann-of-2026", appliance)
    assert len(appliance.called("chpasswd")) == before


def test_password_is_checked_on_standard_input(appliance: Appliance) -> None:
    edit.create_user("ann", [], SECRET, appliance)
    assert appliance.called("pwscore") == ["pwscore ann"]
    assert appliance.stdin[appliance.calls.index(["pwscore", "ann"])] == f"{SECRET}\n"


@pytest.mark.parametrize("answer", [Result(127, "", "pwscore is not installed"), Result(4, "", "")])
def test_password_that_cannot_be_checked_is_not_set(appliance: Appliance, answer: Result) -> None:
    appliance.broken["pwscore"] = answer
    with pytest.raises(Failed, match=r"^pwscore cannot check the password: (pwscore is not|status 4)"):
        edit.create_user("ann", [], SECRET, appliance)
    assert store.load().users == [] and not appliance.called("chpasswd")


def test_dialogs_and_pam_have_the_same_minimum() -> None:
    assert int(settings("pwquality.conf.d/50-millrace.conf")["minlen"]) == SHORTEST


def test_smb_locks_an_account_like_the_console(appliance: Appliance) -> None:
    render(store.load(), appliance)
    said = [line.removeprefix("pdbedit -s /dev/null -P ") for line in appliance.called("pdbedit") if " -C " in line]
    assert said == ["bad lockout attempt -C 10", "lockout duration -C 15", "reset count minutes -C 15"]
    console = {key: int(value) for key, value in settings("faillock.conf").items() if key != "dir"}
    assert console == {
        "deny": SMB_LOCKOUT["bad lockout attempt"],
        "unlock_time": SMB_LOCKOUT["lockout duration"] * 60,
        "fail_interval": SMB_LOCKOUT["reset count minutes"] * 60,
    }


def test_lockout_that_is_set_already_writes_nothing(appliance: Appliance) -> None:
    for policy, value in SMB_LOCKOUT.items():
        shown = f'account policy "{policy}" description: so\naccount policy "{policy}" value is: {value}\n'
        appliance.broken[f"pdbedit -s /dev/null -P {policy}"] = Result(0, shown, "")
    render(store.load(), appliance)
    assert len(appliance.called("pdbedit")) == len(SMB_LOCKOUT)


def test_lockout_that_cannot_be_set_is_an_error(appliance: Appliance) -> None:
    appliance.broken["pdbedit -s /dev/null -P"] = Result(1, "", "tdb is locked")
    with pytest.raises(Failed, match=r"tdb is locked"):
        render(store.load(), appliance)


def test_smb_account_does_not_expire_in_2036(appliance: Appliance) -> None:
    edit.create_user("ann", [], SECRET, appliance)
    assert appliance.everlasting == {"ann"}


def test_new_password_repairs_an_account_that_an_earlier_release_let_expire(appliance: Appliance) -> None:
    edit.create_user("ann", [], SECRET, appliance)
    appliance.everlasting.clear()
    edit.change_password("ann", SECRET, appliance)
    assert appliance.everlasting == {"ann"}


def test_smb_account_that_would_expire_is_an_error(appliance: Appliance) -> None:
    appliance.broken["pdbedit -s /dev/null -r"] = Result(255, "", "Unable to modify entry!\n")
    with pytest.raises(Refused, match=r"Unable to modify entry.*; nothing was changed$"):
        edit.create_user("ann", [], SECRET, appliance)
    assert store.load().users == []
