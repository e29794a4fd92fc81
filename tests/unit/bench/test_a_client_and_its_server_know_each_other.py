# SPDX-License-Identifier: Apache-2.0
"""A client obeys whoever knows its token, a server believes such a client only, and neither sends the token."""

import json
import os
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner

from millrace import paths
from millrace.bench.plan import clients
from millrace.bench.run.remote import connection, register, tokens
from millrace.bench.run.remote.connection import Connection, Unreachable
from millrace.bench.verbs import bench
from millrace.errors import BadInput, Failed
from millrace_client import VERSION, listen, sealed
from millrace_client import bench as program
from millrace_client.sealed import Seal, Unsealed
from tests.unit.bench.remotes import FACTS, HERE, TOKEN, client, free_port, listening, tool

OTHER = "zzzz-zzzz-zzzz-zzzz-zzzz"
A, B = "a" * 32, "b" * 32


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


def test_every_token_is_new_and_taken_as_it_is_typed() -> None:
    made = {sealed.new_token() for _ in range(100)}
    assert len(made) == 100
    one = made.pop()
    assert sealed.plain_token(f" {one.upper()}\n") == sealed.plain_token(one.replace("-", ""))


@pytest.mark.parametrize("typed", ["", "abcd", TOKEN + "x", TOKEN.replace("a", "0"), "é" * 20, "a" * 100_000])
def test_what_is_no_token_is_one_sentence(root: Path, typed: str) -> None:
    with pytest.raises(BadInput, match="a token has 5 groups of 4 letters and digits"):
        register.add(HERE, typed)


def test_a_line_opens_once_in_its_place_for_the_same_token_and_direction() -> None:
    def pair(**other: Any) -> tuple[Seal, Seal]:
        said = {"token": TOKEN, "server": A, "client": B, "sender": sealed.SERVER}
        return Seal(**said), Seal(**{**said, **other})  # type: ignore[arg-type]

    mine, theirs = pair()
    first, second = mine.close(b"{}"), mine.close(b"{}")
    assert theirs.open(first) == b"{}"
    for wrong in (first, second.replace(b"{}", b"[]"), b"", b"{}", second[:-3]):
        with pytest.raises(Unsealed):
            pair()[1].open(wrong) if wrong is not first else theirs.open(wrong)
    for other in ({"token": OTHER}, {"server": B}, {"client": A}, {"sender": sealed.CLIENT}):
        mine, theirs = pair(**other)
        with pytest.raises(Unsealed):
            theirs.open(mine.close(b"{}"))
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        Seal(TOKEN, A, "x", sealed.SERVER)


def test_a_server_without_the_token_is_obeyed_in_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch) as calls:
        with pytest.raises(Unreachable, match=f"client {HERE} uses a different token"):
            register.add(HERE, OTHER)
        assert not clients.file().exists() and not tokens.file().exists()
        with pytest.raises(Unreachable, match="the token of client gpu1 is not known here"):
            Connection("gpu1", HERE, None)
    assert {call[0] for call in calls} == {"systemctl"}


@pytest.mark.parametrize(
    "said", [b'{"do": "release"}\n', b'{"nonce": "x"}\n', b"[]\n", b"\n", b"[" * 100_000 + b"\n", b"x" * (2 << 20)]
)
def test_a_stranger_at_the_clients_door_is_hung_up_on(monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    with listening(monkeypatch) as calls:
        with socket.create_connection((HERE, listen.PORT), 5) as stranger:
            stranger.recv(1000)
            try:
                stranger.sendall(said)
                assert stranger.recv(1000) == b""
            except ConnectionError:
                pass
        # the next one is served
        Connection("gpu1", HERE, TOKEN).close()
    assert {call[0] for call in calls} == {"systemctl"}


def answering(monkeypatch: pytest.MonkeyPatch, talk: Callable[[socket.socket], None]) -> Thread:
    """Something else than the program is at the client's port, for one connection."""
    monkeypatch.setattr(listen, "PORT", free_port())
    door = socket.create_server((HERE, listen.PORT))

    def serve() -> None:
        with door, door.accept()[0] as peer:
            try:
                talk(peer)
                peer.recv(1 << 16)
            except OSError:
                pass

    thread = Thread(target=serve, daemon=True)
    thread.start()
    return thread


def test_who_stands_in_for_a_client_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def talk(peer: socket.socket) -> None:
        peer.sendall(json.dumps({"program": VERSION, "nonce": B}).encode() + b"\n")
        peer.recv(1000)
        peer.sendall(Seal(OTHER, A, B, sealed.CLIENT).close(json.dumps(FACTS).encode()))

    thread = answering(monkeypatch, talk)
    with pytest.raises(Unreachable, match="client gpu1 uses a different token"):
        Connection("gpu1", HERE, TOKEN)
    thread.join(5)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (b"x" * 4000, r"client gpu1 sent an answer of more than 0 MiB"),
        (b"[" * 900 + b"\n", "it is not JSON"),
        (b"[1]\n", "client gpu1 sent an invalid reply"),
        (b'{"hello": "world"}\n', "is not the program of `millrace client bench`"),
        (b'{"program": 2, "nonce": 7}\n', "is not the program of `millrace client bench`"),
        (b'{"program": 1, "nonce": 7}\n', "runs another version of the program"),
    ],
)
def test_what_else_answers_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch, said: bytes, sentence: str) -> None:
    monkeypatch.setattr(connection, "LONGEST", 1000)
    thread = answering(monkeypatch, lambda peer: peer.sendall(said))
    with pytest.raises(Unreachable, match=sentence):
        Connection("gpu1", HERE, TOKEN)
    thread.join(5)


@pytest.mark.parametrize(
    "wrong", [{"fio": "x" * 300}, {"host": "a\x1b]0;b"}, {"kernel": "6\n7"}, {"cpus": 0}, {"memory": -1}]
)
def test_facts_of_a_client_cannot_be_anything(monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any]) -> None:
    with (
        listening(monkeypatch, {**FACTS, **wrong}),
        pytest.raises(Unreachable, match="is not the program of `millrace client bench`"),
    ):
        Connection("gpu1", HERE, TOKEN)


def test_words_of_a_client_are_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object) -> dict[str, Any]:
        raise listen.Wrong("x" * 100_000)

    with listening(monkeypatch), Connection("gpu1", HERE, TOKEN) as there:
        monkeypatch.setattr(listen.Client, "load", load)
        with pytest.raises(Failed) as why:
            there.ask("fio", job="")
    assert len(str(why.value)) < 400


def test_the_token_is_asked_for_and_kept_for_root_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["clients", "add", HERE, "--token-stdin", "--json"]
    with listening(monkeypatch):
        said = CliRunner().invoke(bench, words, input=f"{TOKEN}\n")
    assert said.exit_code == 0, said.output
    assert TOKEN[:4] not in clients.file().read_text() + said.output
    assert stat.S_IMODE(tokens.file().stat().st_mode) == 0o600
    assert tokens.of(HERE) == sealed.plain_token(TOKEN)


def test_the_program_takes_a_token_from_a_file_and_else_makes_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tool(tmp_path / "bin", "fio", "echo fio-3.41")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.syspath_prepend(str(Path(listen.__file__).parent))
    asked: list[Any] = []
    monkeypatch.setitem(sys.modules, "listen", listen)
    monkeypatch.setattr(listen, "listen", lambda *what: asked.append(what) or 0)
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert program.main(["--listen", "server", "--token-file", str(file)]) == 0
    assert program.main(["--listen", "server"]) == 0
    assert [what[2] for what in asked] == [sealed.plain_token(TOKEN), None]
    file.write_text("hello")
    assert program.main(["--listen", "server", "--token-file", str(file)]) == 1
    assert capsys.readouterr().err.startswith(f"{file}: a token has 5 groups of 4")
    assert program.main(["--listen", "server", "--token-file", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err == f"{tmp_path / 'none'}: No such file or directory\n"


def test_a_kept_client_is_listed_without_its_token() -> None:
    assert "token" not in client().model_dump_json()
