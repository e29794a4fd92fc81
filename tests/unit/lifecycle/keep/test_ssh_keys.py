# SPDX-License-Identifier: Apache-2.0
"""SSH keys of administrators are kept and come back, and nothing that a link in a home directory leads to."""

import os
import stat
from pathlib import Path

import pytest

from millrace.lifecycle.keep import generation, generation_store, ssh_keys
from millrace.system.errors import Failed
from tests.unit.lifecycle.keep.conftest import Server

PATH = "home/admin/.ssh/authorized_keys"
KEY = "ssh-ed25519 AAAA anna@desk\n"


def newest(server: Server) -> generation.Generation:
    return generation_store.read(server.where / server.kept()[-1])


def test_keys_are_kept_as_a_secret(server: Server) -> None:
    server.file(PATH, KEY, 0o644)
    server.keep()
    found = newest(server)
    assert found.readable()[PATH] == KEY.encode()
    # with a passphrase nobody can add a key to the state on the pool
    [member] = [one for one in found.manifest.members if one.path == PATH]
    assert (member.mode, member.secret) == (0o600, True)


def test_server_without_keys_keeps_none(server: Server) -> None:
    assert server.keep().unread == []
    assert PATH not in newest(server).readable()


@pytest.mark.parametrize("what", ["file", "directory", "second name"])
def test_what_is_not_the_users_own_is_not_kept_and_everything_else_is(server: Server, what: str) -> None:
    server.file("etc/hidden/authorized_keys", "a secret of root", 0o600)
    home = server.root / "home/admin"
    home.mkdir(parents=True)
    if what == "directory":
        (home / ".ssh").symlink_to(server.root / "etc/hidden")
    else:
        (home / ".ssh").mkdir()
        make = os.symlink if what == "file" else os.link
        make(server.root / "etc/hidden/authorized_keys", home / ".ssh/authorized_keys")
    status = server.keep()
    assert any(PATH in problem for problem in status.unread), status
    everything = newest(server).readable()
    assert b"a secret of root" not in b"".join(everything.values())
    assert "var/lib/millrace/config.json" in everything


def test_keys_come_back_beside_those_that_are_there(root_user: Path) -> None:
    (root_user / PATH).parent.mkdir(parents=True)
    (root_user / PATH).write_text("ssh-ed25519 BBBB new boot drive")
    for _ in range(2):
        ssh_keys.restore(PATH, KEY.encode())
        assert (root_user / PATH).read_text() == f"ssh-ed25519 BBBB new boot drive\n{KEY}"
    assert [path.name for path in (root_user / PATH).parent.iterdir()] == ["authorized_keys"]


def test_directory_of_keys_is_made_for_its_user_alone(root_user: Path) -> None:
    (root_user / "home/admin").mkdir(parents=True)
    ssh_keys.restore(PATH, KEY.encode())
    assert stat.S_IMODE((root_user / PATH).stat().st_mode) == 0o600
    assert stat.S_IMODE((root_user / PATH).parent.stat().st_mode) == 0o700
    assert (root_user / PATH).stat().st_uid == (root_user / "home/admin").stat().st_uid


def test_keys_are_written_through_no_link(root_user: Path) -> None:
    (root_user / "home/admin").mkdir(parents=True)
    (root_user / "etc/elsewhere").mkdir(parents=True)
    (root_user / "home/admin/.ssh").symlink_to(root_user / "etc/elsewhere")
    with pytest.raises(Failed, match=r"\.ssh"):
        ssh_keys.restore(PATH, KEY.encode())
    assert list((root_user / "etc/elsewhere").iterdir()) == []


def test_kill_while_keys_come_back_leaves_those_of_before(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root_user / PATH).parent.mkdir(parents=True)
    (root_user / PATH).write_text("ssh-ed25519 BBBB\n")
    with monkeypatch.context() as cut:
        cut.setattr("os.rename", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            ssh_keys.restore(PATH, KEY.encode())
    assert (root_user / PATH).read_text() == "ssh-ed25519 BBBB\n"
    ssh_keys.restore(PATH, KEY.encode())
    assert (root_user / PATH).read_text() == f"ssh-ed25519 BBBB\n{KEY}"


def test_home_that_is_missing_is_named(root_user: Path) -> None:
    with pytest.raises(Failed, match="home cannot be opened"):
        ssh_keys.restore(PATH, KEY.encode())
