# SPDX-License-Identifier: Apache-2.0
"""A client obeys the server that knows its token, a server believes such a client only."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from millrace.measure.bench.plan import clients
from millrace.measure.bench.run.remote import connection, register, tokens
from millrace.measure.bench.run.remote.connection import ClientConnection, Unreachable
from millrace.system.errors import Failed
from millrace_client import VERSION, listen, sealed
from millrace_client.sealed import Seal
from tests.unit.measure.bench.remotes import FACTS, HERE, TOKEN, free_port, listening

OTHER = "zzzz-zzzz-zzzz-zzzz-zzzz"


A, B = "a" * 32, "b" * 32


def test_a_server_without_the_token_is_obeyed_in_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch) as calls:
        with pytest.raises(Unreachable, match=f"client {HERE} uses a different token"):
            register.add(HERE, OTHER)
        assert not clients.file().exists() and not tokens.file().exists()
        with pytest.raises(Unreachable, match="the token of client gpu1 is not known here"):
            ClientConnection("gpu1", HERE, None)
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
        ClientConnection("gpu1", HERE, TOKEN).close()
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
        ClientConnection("gpu1", HERE, TOKEN)
    thread.join(5)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (b"x" * 4000, r"client gpu1 sent a reply of more than 0 MiB"),
        (b"[" * 900 + b"\n", "it is not JSON"),
        (b"[1]\n", "client gpu1 sent an invalid reply"),
        (b'{"hello": "world"}\n', "is not the program of `millrace client bench`"),
        (b'{"program": 3, "nonce": 7}\n', "is not the program of `millrace client bench`"),
        (b'{"program": 1, "nonce": 7}\n', "runs another version of the program"),
    ],
)
def test_what_else_answers_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch, said: bytes, sentence: str) -> None:
    monkeypatch.setattr(connection, "LONGEST", 1000)
    thread = answering(monkeypatch, lambda peer: peer.sendall(said))
    with pytest.raises(Unreachable, match=sentence):
        ClientConnection("gpu1", HERE, TOKEN)
    thread.join(5)


@pytest.mark.parametrize(
    "wrong", [{"fio": "x" * 300}, {"host": "a\x1b]0;b"}, {"kernel": "6\n7"}, {"cpus": 0}, {"memory": -1}]
)
def test_facts_of_a_client_cannot_be_anything(monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any]) -> None:
    with (
        listening(monkeypatch, {**FACTS, **wrong}),
        pytest.raises(Unreachable, match="is not the program of `millrace client bench`"),
    ):
        ClientConnection("gpu1", HERE, TOKEN)


def test_words_of_a_client_are_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object) -> dict[str, Any]:
        raise listen.Wrong("x" * 100_000)

    with listening(monkeypatch), ClientConnection("gpu1", HERE, TOKEN) as there:
        monkeypatch.setattr(listen.Client, "load", load)
        with pytest.raises(Failed) as why:
            there.request("fio", job="")
    assert len(str(why.value)) < 400
