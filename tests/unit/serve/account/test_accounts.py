# SPDX-License-Identifier: Apache-2.0
"""A user of the web console can read and cannot change anything."""

import subprocess

import pytest

from host.layout import REPO
from millrace.serve.account import edit
from millrace.serve.account.accounts import CONSOLE_SHELL
from millrace.serve.config import store
from millrace.serve.config.model import User
from millrace.serve.share.edit import create_shares, set_share
from millrace.system.errors import Refused
from millrace.system.roles import CONSOLE
from tests.fakes.appliance import Appliance

SECRET = "correct: horse 9 battery"
EXTRA = REPO / "mkosi.extra"


@pytest.fixture
def served(appliance: Appliance) -> Appliance:
    edit.create_user("ann", [], SECRET, appliance)
    edit.create_user("vera", [], SECRET, appliance, "viewer")
    create_shares(["models"], {"smb_users": ("ann",)}, appliance.server)
    return appliance


@pytest.mark.parametrize("make", [True, False], ids=["create", "set"])
def test_share_does_not_name_a_console_user(served: Appliance, make: bool) -> None:
    before = store.load()
    with pytest.raises(Refused, match=r"^vera manages this server and opens no share: choose another user"):
        if make:
            create_shares(["more"], {"smb_users": ("ann", "vera")}, served.server)
        else:
            set_share("models", {"smb_users": ("vera",)}, served.server)
    assert store.load() == before


def test_verbs_of_share_users_do_not_change_a_person(served: Appliance) -> None:
    for change in (lambda: edit.set_user("vera", [], served), lambda: edit.remove_user("vera", served)):
        with pytest.raises(Refused, match=r"^vera manages this server as viewer: millrace access list$"):
            change()
    assert "vera" in store.load().people


def test_console_user_of_an_earlier_release_is_a_viewer() -> None:
    user = User.model_validate({"name": "vera", "uid": 2001, "console": True})
    assert user.role == "viewer"
    assert User.model_validate({"name": "ann", "uid": 2002, "console": False}).role is None


def test_shell_answers_the_question_of_cockpit_and_runs_nothing() -> None:
    shell = str(EXTRA / CONSOLE_SHELL.lstrip("/"))
    assert subprocess.run([shell, "-c", "exit 71;"], check=False).returncode == 71
    for words in ([], ["-c", "id"], ["-i"], ["-c", "exit 71; id"]):
        done = subprocess.run([shell, *words], capture_output=True, text=True, input="id\n", check=False)
        assert (done.returncode, done.stdout) == (1, "") and "has no shell" in done.stderr


def test_group_is_refused_at_the_pool_before_shares_are_served() -> None:
    lines = (EXTRA / "usr/lib/tmpfiles.d/millrace-console.conf").read_text().splitlines()
    assert any(line.split() == ["a+", "/srv/pool", "-", "-", "-", "-", f"group:{CONSOLE}:---"] for line in lines)
    unit = (REPO / "units/millrace-share.service").read_text()
    assert "ExecStartPre=/usr/bin/systemd-tmpfiles --create --prefix=/srv/pool millrace-console.conf" in unit
