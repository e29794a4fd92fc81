# SPDX-License-Identifier: Apache-2.0
"""Each person has an own second factor; another person's is for administrators."""

from datetime import UTC, datetime

import pytest

from millrace.lifecycle.access import codes, people
from millrace.serve.account import account_paths, second_factor
from millrace.system import paths
from millrace.system.errors import Refused
from millrace.system.roles import Caller, Role
from tests.fakes.appliance import Appliance


@pytest.fixture
def staffed(appliance: Appliance) -> Appliance:
    paths.run_dir().mkdir(parents=True, exist_ok=True)
    for name in ("otto", "vera"):
        people.create(name, "operator", "", "correct: horse 9 battery", appliance)
    return appliance


def become(patch: pytest.MonkeyPatch, name: str, role: Role) -> None:
    patch.setattr(codes, "caller", lambda: Caller(2000, name, role))


def enrolled(server: Appliance, name: str) -> str:
    """Turn on the second factor of a person; return the secret."""
    secret = codes.enroll(name).secret
    codes.confirm(name, now(secret), server)
    return secret


def now(secret: str) -> str:
    return second_factor.code_at(secret, int(datetime.now(UTC).timestamp()) // 30)


def test_person_turns_on_the_own_second_factor(staffed: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    become(monkeypatch, "otto", "operator")
    secret = codes.enroll(None).secret
    assert staffed.accounts.members(second_factor.GROUP) == []
    report = codes.confirm(None, now(secret), staffed)
    assert report.name == "otto" and len(report.codes) == 8
    assert staffed.accounts.members(second_factor.GROUP) == ["otto"]


def test_person_does_not_change_that_of_another(staffed: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    become(monkeypatch, "otto", "operator")
    for change in (
        lambda: codes.enroll("vera"),
        lambda: codes.confirm("vera", "123456", staffed),
        lambda: codes.remove("vera", "123456", staffed),
        lambda: codes.enroll("../../etc/passwd"),
    ):
        with pytest.raises(Refused, match="by that person or by an administrator"):
            change()
    assert not account_paths.enrolment_dir().exists()


def test_own_second_factor_is_removed_with_a_code_only(staffed: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    become(monkeypatch, "otto", "operator")
    secret = enrolled(staffed, "otto")
    with pytest.raises(Refused, match=r"this code is wrong|a clock that is"):
        codes.remove(None, "000000" if now(secret) != "000000" else "000001", staffed)
    assert second_factor.is_on("otto")
    codes.remove(None, now(secret), staffed)
    assert not second_factor.is_on("otto") and staffed.accounts.members(second_factor.GROUP) == []


def test_administrator_removes_that_of_another(staffed: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    become(monkeypatch, "admin", "administrator")
    enrolled(staffed, "otto")
    assert codes.remove("otto", None, staffed).done == "otto signs in without a code."
    with pytest.raises(Refused, match="otto has no second factor"):
        codes.remove("otto", None, staffed)


def test_path_is_no_person_for_an_administrator_either(staffed: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    become(monkeypatch, "admin", "administrator")
    with pytest.raises(Refused, match="is no account that manages this server"):
        codes.enroll("../../../etc/cron.d/x")
    assert not account_paths.enrolment_dir().exists()
