# SPDX-License-Identifier: Apache-2.0
"""A client whose program really listens, on the loopback; its host's tools are recorded and not run."""

import socket
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Thread
from typing import Any

import pytest

from millrace.measure.bench.result.client import BenchClient, ClientFacts
from millrace_client import VERSION, listen

HERE = "127.0.0.1"
REPORT = (Path(__file__).parent / "samples/status-interval.json").read_text()
FACTS: dict[str, Any] = {
    "program": VERSION,
    "host": "gpu1",
    "fio": "fio-3.41",
    "kernel": "6.12",
    "cpus": 4,
    "memory": 1 << 30,
    "rdma": False,
}


TOKEN = "abcd-efgh-jkmn-pqrs-2345"


def free_port() -> int:
    with socket.create_server((HERE, 0)) as door:
        return int(door.getsockname()[1])


def client(name: str = "gpu1", address: str = HERE, **more: Any) -> BenchClient:
    facts = ClientFacts.model_validate({**FACTS, "host": name, **more})
    return BenchClient(name=name, address=address, added="2026-01-01T00:00:00+00:00", facts=facts)


def tool(directory: Path, name: str, script: str) -> None:
    """A program that behaves like this shell script."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod((directory / name).stat().st_mode | stat.S_IXUSR)


@contextmanager
def listening(
    monkeypatch: pytest.MonkeyPatch,
    facts: dict[str, Any] | None = None,
    answers: dict[str, tuple[int, str]] | None = None,
    report: str = REPORT,
) -> Iterator[list[list[str]]]:
    """A client that answers one connection after the other; yields the command lines of its host, as they come.

    Its loads print `report`.
    """
    calls: list[list[str]] = []

    def run(argv: Sequence[str]) -> tuple[int, str]:
        calls.append(list(argv))
        return next((said for start, said in (answers or {}).items() if start in " ".join(argv)), (0, ""))

    def contained(argv: Sequence[str], **how: Any) -> "Popen[bytes]":
        if argv[0] != "systemd-run":
            return Popen(argv, **how)
        calls.append([*argv, how["stdin"].read().decode()])
        return Popen(["printf", "%s", report], stdin=DEVNULL, stdout=PIPE, stderr=PIPE)

    monkeypatch.setattr(listen, "run", run)
    monkeypatch.setattr(listen.subprocess, "Popen", contained)
    monkeypatch.setattr(listen.os, "makedirs", lambda *_, **__: None)
    monkeypatch.setattr(listen, "PORT", free_port())
    with socket.create_server((HERE, listen.PORT)) as door:

        def answer() -> None:
            while True:
                try:
                    connection, peer = door.accept()
                except OSError:
                    return
                with connection:
                    listen.serve(connection, listen.Client(str(peer[0])), facts or FACTS, TOKEN)

        thread = Thread(target=answer, daemon=True)
        thread.start()
        yield calls
        door.shutdown(socket.SHUT_RDWR)
        thread.join(5)
