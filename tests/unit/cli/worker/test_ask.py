# SPDX-License-Identifier: Apache-2.0
"""The verb runs where a process waits for it, and here where none does."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

import pytest

from millrace.cli.worker import ask

WORDS = ["health", "--write"]


class RunsHereError(Exception):
    """In place of the program that os.execv would start."""


@pytest.fixture
def execution(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    started: list[list[str]] = []

    def execv(program: str, argv: list[str]) -> NoReturn:
        started.append([program, *argv[1:]])
        raise RunsHereError

    monkeypatch.setattr(os, "execv", execv)
    return started


def server(path: Path, reply: bytes) -> threading.Thread:
    """Take one connection, read its question, say `reply`, close."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(os.fspath(path))
    listener.listen()

    def serve() -> None:
        with listener, listener.accept()[0] as connection:
            connection.recv(1000)
            connection.sendall(reply)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


@pytest.mark.parametrize("reply", [b"", b'{"id": 1, "sta', b"[\n"], ids=["nothing", "half a line", "no reply"])
def test_verb_runs_here_where_the_process_ends_in_the_middle(
    tmp_path: Path, execution: list[list[str]], reply: bytes
) -> None:
    thread = server(tmp_path / "socket", reply)
    with pytest.raises(RunsHereError):
        ask.main([str(tmp_path / "socket"), *WORDS])
    thread.join()
    assert execution == [["/usr/bin/millrace", "health", "--write"]]


def test_verb_runs_here_where_no_process_listens(
    tmp_path: Path, execution: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RunsHereError):
        ask.main([str(tmp_path / "socket"), *WORDS])
    assert execution == [["/usr/bin/millrace", "health", "--write"]]
    assert capsys.readouterr().err == f"Nobody replies at {tmp_path}/socket; the verb runs by itself.\n"


@pytest.mark.parametrize(
    ("reply", "status", "err"),
    [
        (b'{"id": 1, "status": 0, "signal": null, "out": "o", "err": "e"}\n', 0, "e"),
        (b'{"id": 1, "status": 2, "signal": null, "out": "o", "err": "e"}\n', 2, "e"),
        (b'{"id": 1, "status": null, "signal": "KILL", "out": "o", "err": "e"}\n', 1, "emillrace: ended by SIGKILL\n"),
    ],
)
def test_output_and_status_are_those_of_the_verb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reply: bytes, status: int, err: str
) -> None:
    thread = server(tmp_path / "socket", reply)
    assert ask.main([str(tmp_path / "socket"), *WORDS]) == status
    thread.join()
    assert capsys.readouterr() == ("o", err)


def test_verb_that_printed_nothing_prints_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    thread = server(tmp_path / "socket", ask.QUIET)
    assert ask.main([str(tmp_path / "socket"), *WORDS]) == 0
    thread.join()
    assert capsys.readouterr() == ("", "")


def test_it_asks_without_the_libraries(tmp_path: Path) -> None:
    """As the units start it: no site, no path of Millrace."""
    thread = server(tmp_path / "socket", ask.QUIET)
    argv = [sys.executable, "-I", "-S", "-X", "importtime", ask.__file__, str(tmp_path / "socket"), *WORDS]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    thread.join()
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "_socket" in imported
    assert not imported & {"socket", "json", "re", "enum", "collections.abc", "site", "millrace", "runpy"}
