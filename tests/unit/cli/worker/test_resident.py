# SPDX-License-Identifier: Apache-2.0
"""A process that stays runs its one verb for each connection, kills it with the connection, and runs no other."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from millrace.cli.worker import ask

PATIENCE = 60.0


def wait(seen: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not seen():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@dataclass
class Resident:
    """`millrace answer --socket PATH -- WORDS` that systemd would call ready."""

    process: subprocess.Popen[str]
    path: Path

    def children(self) -> list[int]:
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in found.split()]

    def opened(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def wait_child(self, *but: int) -> int:
        """The verb that runs, other than those that were killed: they are collected when the next one ends."""
        wait(lambda: set(self.children()) - set(but))
        (found,) = set(self.children()) - set(but)
        return found

    def connect(self, *words: str) -> socket.socket:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(PATIENCE)
        client.connect(os.fspath(self.path))
        client.sendall(json.dumps({"id": 1, "words": words}).encode() + b"\n")
        return client


@pytest.fixture
def words() -> list[str]:
    return ["watch", "--json"]


@pytest.fixture
def resident(tmp_path: Path, words: list[str]) -> Iterator[Resident]:
    path = tmp_path / "checker.socket"
    # what an earlier process left behind
    path.touch()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(os.fspath(tmp_path / "notify"))
        manager.settimeout(PATIENCE)
        process = subprocess.Popen(
            [sys.executable, "-m", "millrace", "answer", "--socket", str(path), "--", *words],
            env={**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")},
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            assert (manager.recv(100), manager.recv(100)) == (b"READY=1", b"WATCHDOG=1")
            yield Resident(process, path)
            process.kill()


@pytest.mark.parametrize("words", [["schema"]])
def test_each_connection_gets_what_the_verb_prints(resident: Resident, words: list[str]) -> None:
    alone = subprocess.run([sys.executable, "-m", "millrace", *words], capture_output=True, text=True, check=True)
    for _ in range(3):
        printed = {"out": alone.stdout, "err": alone.stderr}
        said = ask.ask(str(resident.path), words)
        assert said and json.loads(said) == {"id": 1, "status": 0, "signal": None, **printed}
        # the one reply that is not parsed is written in the same way
        for name, text in printed.items():
            said = said.replace(json.dumps({name: text})[1:-1].encode(), f'"{name}": ""'.encode())
        assert said == ask.QUIET
    assert resident.children() == []


def test_only_root_can_connect(resident: Resident) -> None:
    assert oct(resident.path.stat().st_mode) == "0o140600"


def test_verbs_are_killed_with_their_clients_and_nothing_is_left(resident: Resident, words: list[str]) -> None:
    killed: list[int] = []
    with resident.connect("--version") as other:
        assert other.recv(100) == b""
    before = resident.opened()
    for _ in range(3):
        with resident.connect(*words):
            killed.append(resident.wait_child(*killed))

    def collected() -> bool:
        with resident.connect("--version") as other:
            assert other.recv(100) == b""
        return resident.children() == [] and resident.opened() <= before

    wait(collected)
    assert len(set(killed)) == 3


def test_other_verb_is_not_run(resident: Resident) -> None:
    assert ask.ask(str(resident.path), ["status"]) is None
    resident.process.send_signal(signal.SIGTERM)
    assert resident.process.wait(PATIENCE) == 0
    assert resident.process.stderr
    assert resident.process.stderr.read() == "millrace: only 'millrace watch --json' is run here\n"
