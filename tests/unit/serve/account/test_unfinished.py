# SPDX-License-Identifier: Apache-2.0
"""A change of accounts is cut at each of its steps: no account stays that the desired state does not have."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.serve.account import accounts, edit, unfinished
from millrace.serve.account.accounts import render
from millrace.serve.account.verbs import user as user_verb
from millrace.serve.config import store
from millrace.system import files
from millrace.system.errors import Failed
from tests.fakes.appliance import Appliance

SECRET = "correct: horse 9 battery"


class PowerCut(BaseException):
    """Nothing of the program runs any more."""


def cut(*_: object, **__: object) -> None:
    raise PowerCut


def read_only(path: Path, **_: object) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))


def cut_off(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object], where: object, name: str) -> None:
    """Let the power fail in a function: what a change would undo is not undone either."""
    with monkeypatch.context() as patch:
        patch.setattr(where, name, cut)
        patch.setattr("millrace.serve.render.reconcile._put_back", cut)
        with pytest.raises(PowerCut):
            change()


def boot(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.serve.account.verbs.attempt", appliance)
    assert CliRunner().invoke(user_verb, ["render"], catch_exceptions=False).exit_code == 0


@pytest.mark.parametrize("step", ["set_password", "_keep"])
def test_user_of_a_creation_that_was_cut_is_gone_after_the_boot(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    edit.create_group("ml", appliance)
    where = accounts if step == "set_password" else store
    cut_off(monkeypatch, lambda: edit.create_user("ann", ["ml"], SECRET, appliance), where, step)
    assert "ann" in appliance.accounts["passwd"] and store.load().users == []
    boot(appliance, monkeypatch)
    assert "ann" not in appliance.accounts["passwd"] and "ann" not in appliance.accounts["group"]
    assert appliance.smb_accounts == set() and "ml" in appliance.accounts["group"]
    assert not unfinished.record_file().exists()
    assert edit.create_user("ann", ["ml"], SECRET, appliance).name == "ann"


def test_boot_drive_that_is_read_only_keeps_no_account_from_being_rendered(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit.create_user("ann", [], SECRET, appliance)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", read_only)
        assert unfinished.finish(store.load(), appliance) == []
    assert unfinished.record_file().exists() and "ann" in appliance.accounts["passwd"]


def test_next_change_of_an_account_finds_what_a_kill_left_and_says_so(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off(monkeypatch, lambda: edit.create_user("ann", [], SECRET, appliance), store, "_keep")
    cut_off(monkeypatch, lambda: edit.create_group("ml", appliance), store, "_keep")
    assert "ann" not in appliance.accounts["passwd"]
    edit.create_user("ben", [], SECRET, appliance)
    assert set(appliance.accounts["passwd"]) == {"admin", "root", "ben"}
    assert "ml" not in appliance.accounts["group"]


def test_removal_that_was_cut_leaves_a_user_that_can_be_removed(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit.create_user("ann", [], SECRET, appliance)
    cut_off(monkeypatch, lambda: edit.remove_user("ann", appliance), store, "_keep")
    boot(appliance, monkeypatch)
    # the verb did not succeed: the user is as new, without a password
    assert [user.name for user in store.load().users] == ["ann"] and "ann" in appliance.accounts["passwd"]
    assert appliance.smb_accounts == set()
    edit.remove_user("ann", appliance)
    assert "ann" not in appliance.accounts["passwd"]


@pytest.mark.parametrize("after", range(4))
def test_removal_that_was_cut_between_the_files_ends_in_the_next_try(
    appliance: Appliance, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    edit.create_user("ann", [], SECRET, appliance)
    replaced: list[object] = []
    replace = files.Path.replace

    def stops(path: files.Path, target: files.Path) -> files.Path:
        if path.name.endswith("+"):
            if len(replaced) == after:
                raise PowerCut
            replaced.append(target)
        return replace(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(files.Path, "replace", stops)
        patch.setattr("millrace.serve.render.reconcile._put_back", cut)
        with pytest.raises(PowerCut):
            edit.remove_user("ann", appliance)
    edit.remove_user("ann", appliance)
    assert "ann" not in appliance.accounts["passwd"] and "ann" not in appliance.accounts["group"]


def test_accounts_of_changes_that_ended_stay(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    edit.create_user("ann", [], SECRET, appliance)
    edit.create_user("ben", [], SECRET, appliance)
    edit.remove_user("ann", appliance)
    # an administrator's own, with the name of one that is gone
    appliance.accounts["passwd"]["ann"] = 1234
    boot(appliance, monkeypatch)
    assert appliance.accounts["passwd"]["ann"] == 1234 and "ben" in appliance.accounts["passwd"]
    assert render(store.load(), appliance) == []


def test_user_whose_programs_run_is_tried_again(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    cut_off(monkeypatch, lambda: edit.create_user("ann", [], SECRET, appliance), store, "_keep")
    monkeypatch.setattr(accounts, "running", set)
    monkeypatch.setattr(accounts, "PAUSES", ())
    with pytest.raises(Failed, match="ann cannot be removed: programs of a locked user still run"):
        unfinished.finish(store.load(), appliance)
    monkeypatch.setattr(accounts, "running", lambda numbers: set())
    assert unfinished.finish(store.load(), appliance) == ["ann"]
