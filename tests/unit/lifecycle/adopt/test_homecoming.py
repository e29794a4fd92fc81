# SPDX-License-Identifier: Apache-2.0
"""The state of a pool that comes home replaces that of this boot drive, and what it does not have is removed."""

import shutil
from pathlib import Path
from typing import ClassVar

import pytest
from click.testing import CliRunner

from millrace.lifecycle.adopt import adopt, adoption_journal, homecoming, verbs
from millrace.lifecycle.keep import generation_store, home
from millrace.lifecycle.keep.model import Forgotten, KeepStatus
from millrace.serve.account import accounts
from millrace.serve.config import store
from millrace.serve.config.model import User
from millrace.storage.record.pool_file import load_pool, save_pool
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes.commands import GOOD
from tests.fakes.drives.hardware import PowerCut
from tests.fakes.jobs import shown
from tests.fakes.mounts import mount, unmount_all
from tests.fakes.samples import pool
from tests.unit.lifecycle.adopt import states
from tests.unit.lifecycle.adopt.test_restore import Tools

WHERE = "srv/pool/.millrace/keep"


class Accounts(Tools):
    """The accounts of a server with users."""

    TAKEN: ClassVar = (
        *Tools.TAKEN,
        "smbpasswd -c /dev/null -x *",
        "loginctl terminate-user *",
        "ip -j addr",
        "systemctl start --no-block millrace-readd.service millrace-serving.target",
        "systemctl show --property=Id,ActiveState,Job millrace-*.service...",
    )

    def __init__(self) -> None:
        super().__init__()
        self.accounts.reset(
            {"passwd": {"admin": 1000, "bert": 3001, "anna": 3005}, "group": {"bert": 3001, "anna": 3005}}
        )
        self.ends_sessions = True

    @property
    def users(self) -> set[str]:
        """Those besides the administrator."""
        return set(self.accounts["passwd"]) - {"admin"}

    def log_in(self, name: str) -> None:
        """Start a program of a user."""
        status = paths.ROOT / "proc/4711/status"
        status.parent.mkdir()
        status.write_text(f"Name:\tcockpit-bridge\nUid:\t{self.accounts['passwd'][name]}\t0\t0\t0\n")

    def log_out(self) -> None:
        """End it."""
        shutil.rmtree(paths.ROOT / "proc/4711")

    def _systemctl(self, words: list[str], _: str) -> Result:
        return shown(words[2:]) if words[0] == "show" else GOOD

    def _loginctl(self, words: list[str], _: str) -> Result:
        # nobody can log in again in between
        assert self.accounts.row("shadow", words[-1])[1].startswith("!")
        assert self.accounts.row("shadow", words[-1])[7] == "1"
        if self.ends_sessions:
            self.log_out()
        return GOOD


@pytest.fixture
def came_home(root: Path) -> Path:
    """A server with its past, and a newer state of another boot drive on its pool."""
    unmount_all(root)
    mount(root, "/dev/md127", "/srv/pool", "xfs", "rw,noatime")
    (root / "proc/sys/kernel").mkdir(parents=True)
    (root / "proc/sys/kernel/hostname").write_text("filer")
    (root / WHERE).mkdir(parents=True, mode=0o700)
    save_pool(pool())
    write_model(paths.keep_file(), KeepStatus(directory=f"/{WHERE}", generation=1))
    past = [User(name="anna", uid=3005), User(name="bert", uid=3001)]
    store.change("admin", "user create bert", lambda old: old.model_copy(update={"users": past}))
    for name in ("etc/millrace/ssh-enabled", "var/lib/millrace/alert/routes.json", "var/lib/millrace/removed.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("{}")
    generation_store.write(root / WHERE, 5, states.packed(states.kept(), generation=5, writer="ab" * 16))
    return root


def test_state_of_the_pool_replaces_that_of_the_boot_drive(came_home: Path) -> None:
    tools = Accounts()
    adoption = homecoming.begin(tools, "admin", "2026-11-28T07:00:00+00:00", None)
    assert adoption.again and adoption_journal.is_under_way() and not paths.pool_file().exists()
    done = adopt.finish(adoption, tools)
    assert done.generation == 5 and load_pool() == pool()
    assert [(user.name, user.uid) for user in store.read().config.users] == [("anna", 3000)]
    # anna of now has another number than the one of before
    assert [call[-1] for call in tools.calls if call[0] == "smbpasswd"] == ["anna", "bert"]
    assert tools.accounts["passwd"] == {"admin": 1000, "anna": 3000}
    for name in ("etc/millrace/ssh-enabled", "var/lib/millrace/alert/routes.json", "var/lib/millrace/removed.json"):
        assert not (came_home / name).exists(), name
    assert home.elsewhere(came_home / WHERE, pool().filesystem_uuid) is None


def test_user_who_is_logged_in_is_removed_too(came_home: Path) -> None:
    tools = Accounts()
    tools.log_in("anna")
    adopt.finish(homecoming.begin(tools, "admin", "2026-11-28T07:00:00+00:00", None), tools)
    assert tools.accounts["passwd"]["anna"] == 3000 and "bert" not in tools.users
    assert tools.called("loginctl") == ["loginctl terminate-user anna"]


def test_user_who_cannot_be_removed_stops_the_adoption_until_it_is_repeated(
    came_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "PAUSES", ())
    tools = Accounts()
    tools.log_in("anna")
    tools.ends_sessions = False
    begun = homecoming.begin(tools, "admin", "2026-11-28T07:00:00+00:00", None)
    with pytest.raises(Failed, match=r"^anna cannot be removed: programs of a locked user still run \(ps -u anna\)$"):
        adopt.finish(begun, tools)
    # the others are removed nevertheless, and who was a user is still known
    assert tools.users == {"anna"} and [user.name for user in store.read().config.users] == ["anna", "bert"]
    adoption = adoption_journal.under_way()
    assert adoption is not None and "still run" in (adoption.problem or "")
    tools.log_out()
    adopt.finish(adoption, tools)
    assert tools.accounts["passwd"]["anna"] == 3000 and load_pool() == pool()


def test_power_cut_in_an_adoption_goes_on_with_it(came_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = Accounts()
    begun = homecoming.begin(tools, "admin", "2026-11-28T07:00:00+00:00", None)

    def cut(*_: object) -> None:
        raise PowerCut

    with monkeypatch.context() as patch:
        patch.setattr(adopt, "save_pool", cut)
        with pytest.raises(PowerCut):
            adopt.finish(begun, tools)
    adoption = adoption_journal.under_way()
    assert adoption is not None and adoption.again
    adopt.finish(adoption, tools)
    assert load_pool() == pool() and not paths.adoption_file().exists()


def test_without_a_newer_state_there_is_nothing_to_adopt(came_home: Path) -> None:
    home.settle(5)
    with pytest.raises(Refused, match="has a pool already"):
        homecoming.begin(Accounts(), "admin", "2026-11-28T07:00:00+00:00", None)
    assert paths.pool_file().exists() and not paths.adoption_file().exists()


def test_verb_refuses_another_pool_and_a_server_with_nothing_to_decide(
    came_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verbs, "attempt", Accounts())
    with pytest.raises(Refused, match="nothing was written"):
        CliRunner().invoke(verbs.adopt, ["11111111-2222-3333-4444-555555555555", "--yes"], catch_exceptions=False)
    home.settle(5)
    with pytest.raises(Refused, match="has a pool already"):
        CliRunner().invoke(verbs.adopt, ["--yes"], catch_exceptions=False)


def test_time_in_a_state_is_shown_on_one_line(came_home: Path) -> None:
    state = states.packed(states.kept(), generation=6, writer="ab" * 16, written="May\x1b[2J\nyours")
    generation_store.write(came_home / WHERE, 6, state)
    one = home.elsewhere(came_home / WHERE, pool().filesystem_uuid)
    assert one is not None and one.written == "May\\x1b[2J\\nyours"
    assert home.sentence(one).endswith("on May\\x1b[2J\\nyours")


def test_state_without_people_is_adopted_as_such(came_home: Path) -> None:
    forgotten = Forgotten(by="admin", at="2026-11-28T07:00:00+00:00")
    state = states.packed(states.kept(), generation=6, writer="ab" * 16, forgotten=forgotten)
    generation_store.write(came_home / WHERE, 6, state)
    tools = Accounts()
    done = adopt.finish(homecoming.begin(tools, "admin", "2026-11-28T07:00:00+00:00", None), tools)
    assert any("forgot users" in line for line in done.missing)


def test_what_the_state_lets_in_is_shown_before_it_is_taken_over(
    came_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = states.kept() | {"etc/millrace/update-keys.pgp": b"a key"}
    generation_store.write(came_home / WHERE, 6, states.packed(contents, generation=6, writer="ab" * 16))
    monkeypatch.setattr(verbs, "attempt", Accounts())
    monkeypatch.setattr(verbs, "only_root", lambda: None)
    # there is no terminal to confirm it
    said = CliRunner().invoke(verbs.adopt, []).stderr
    assert "the password of the last server opens this one: admin\n" in said
    assert "a key of the last server signs updates: SHA-256 of the file: " in said and "--without" not in said
