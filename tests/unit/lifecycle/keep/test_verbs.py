# SPDX-License-Identifier: Apache-2.0
"""`millrace keep …` in text and as JSON; a passphrase is on no command line and in no output."""

import json
import logging
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millrace.lifecycle.keep import keeping, nfs_client_room, seal, verbs
from millrace.lifecycle.keep.verbs import keep
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Result as Answer
from tests.fakes.mounts import unmount_all
from tests.unit.lifecycle.keep.conftest import Server

PASSPHRASE = "correct horse battery"


@pytest.fixture(autouse=True)
def quick(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "quickly", server.run)
    monkeypatch.setattr(keeping, "keep", partial(keeping.keep, pause=lambda seconds: None))
    monkeypatch.setattr(keeping, "wait_for_more", lambda: None)


def say(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(keep, words, input=stdin, catch_exceptions=False)


def test_before_the_first_generation_the_command_for_one_is_named() -> None:
    assert "no kept state yet: millrace keep now" in say("status").output
    assert "no kept state yet: millrace keep now" in say("list").output
    assert json.loads(say("status", "--json").output)["generation"] is None


def test_generation_is_written_shown_and_listed(server: Server) -> None:
    assert "generation 1 in /srv/pool/.millrace/keep" in say("now").output
    server.rename("second")
    assert "secrets are not encrypted: millrace keep passphrase" in say("now").output
    (server.where / "state-000001.tar.gz").write_bytes(b"torn")
    found = json.loads(say("list", "--json").output)["generations"]
    assert [one["generation"] for one in found] == [2, 1]
    assert found[0]["host"] == "millrace-1a2b3c" and found[0]["members"] > 8
    assert "state-000001.tar.gz is damaged" in found[1]["problem"]
    assert "secrets not encrypted" in say("list").output


def test_pool_that_does_not_take_it_fails_the_command_and_not_the_service(server: Server) -> None:
    unmount_all(server.root)
    with pytest.raises(Failed, match="not kept on the pool: /srv/pool is not mounted"):
        say("now")
    done = say("run")
    assert done.exit_code == 0 and "the state is not kept: /srv/pool is not mounted" in done.output


def test_passphrase_comes_by_standard_input_and_is_in_no_output_log_or_command_line(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    done = say("passphrase", "--stdin", stdin=f"{PASSPHRASE}\n")
    assert "secrets are encrypted" in done.output
    assert PASSPHRASE not in done.output + caplog.text + repr(server.run.calls)
    files = [path for path in server.root.rglob("*") if path.is_file()]
    assert [path for path in files if PASSPHRASE.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("typed", ["short\n", "", "with a\ttab in it and long\n"])
def test_passphrase_that_is_too_short_or_not_one_line_changes_nothing(typed: str) -> None:
    with pytest.raises(BadInput, match="12 to 1000 printable characters"):
        say("passphrase", "--stdin", stdin=typed)
    assert not paths.keep_key_file().exists()


def test_passphrase_is_not_read_without_a_terminal() -> None:
    with pytest.raises(BadInput, match="--stdin"):
        say("passphrase")


def test_passphrase_is_removed() -> None:
    seal.choose(PASSPHRASE)
    assert "not encrypted" in say("passphrase", "--remove").output
    assert not paths.keep_key_file().exists()
    assert say("passphrase", "--remove", "--stdin").exit_code == 2


def test_only_root_changes_and_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    for words in (["now"], ["list"], ["passphrase", "--remove"]):
        with pytest.raises(Refused, match="root"):
            say(*words)


def test_server_without_a_pool_keeps_nothing() -> None:
    paths.pool_file().unlink()
    for words in (["status"], ["now"], ["list"], ["passphrase", "--stdin"], ["records"]):
        with pytest.raises(Refused, match="no pool yet"):
            say(*words, stdin=f"{PASSPHRASE}\n")
    assert not paths.keep_key_file().exists()


def test_directory_of_lock_records_is_prepared(server: Server) -> None:
    found = json.loads(say("records", "--json").output)
    assert (found["clients"], found["moved"]) == (0, 0)
    assert Path(found["directory"]) == server.root / "srv/pool/.millrace/nfsdcld"


def test_room_of_lock_records_is_only_released_where_that_is_said(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path] = []
    monkeypatch.setattr(nfs_client_room, "release", lambda mountpoint, _: seen.append(mountpoint))
    assert say("room", "--release").output == ""
    assert seen == [server.root / "srv/pool"] and not (server.root / "srv/pool/.millrace/nfsdcld.img").exists()


def test_what_could_not_be_kept_is_a_warning(server: Server) -> None:
    server.run.broken["tdbdump"] = Answer(1, "", "Failed to open it")
    assert "not kept: var/lib/samba/private/secrets.tdb" in say("now").output
