# SPDX-License-Identifier: Apache-2.0
"""A process that stays runs its verb by itself; where that fails its unit is started, and a client comes first."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from millrace.cli.worker import resident
from millrace.cli.worker.resident import Period, listen
from millrace.cli.worker.server import program as cli
from millrace.system.run import Result

PATIENCE = 60.0
WORDS = ["health", "--write"]


class Process:
    """A resident whose verb and whose systemctl add lines to a file."""

    def __init__(self, root: Path) -> None:
        self.socket, self._log = root / "socket", root / "log"
        self._log.touch()
        self.pid = 0

    def start(self, seconds: float) -> None:
        self.pid = os.fork()
        if self.pid == 0:
            try:
                listen(self.socket, WORDS, Period(seconds, "u.service"), "", self.systemctl)
            finally:
                os._exit(1)

    def systemctl(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        self.note(" ".join(argv))
        return Result(0, "", "")

    def note(self, line: str) -> None:
        with self._log.open("a") as file:
            file.write(line + "\n")

    def log(self) -> list[str]:
        return self._log.read_text().splitlines()

    def wait(self, enough: Callable[[list[str]], bool]) -> list[str]:
        deadline = time.monotonic() + PATIENCE
        while not enough(self.log()):
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)
        return self.log()

    def ask(self) -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(PATIENCE)
            client.connect(os.fspath(self.socket))
            client.sendall(b'{"id": 1, "words": ["health", "--write"]}\n')
            return client.recv(1 << 16)


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    made = Process(tmp_path)
    yield made
    os.kill(made.pid, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(made.pid, 0)[1]) in (1, 0, -signal.SIGTERM)


def _lives(pid: str) -> bool:
    """Whether a process runs; one that was killed may not be collected yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except FileNotFoundError:
        return False


Verb = Callable[[Sequence[str]], int]


def verb(process: Process, monkeypatch: pytest.MonkeyPatch, result: Verb) -> None:
    def run(words: Sequence[str]) -> int:
        process.note("verb")
        return result(words)

    monkeypatch.setattr(cli, "run", run)


def test_verb_runs_again_and_again(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    verb(process, monkeypatch, lambda words: 0)
    process.start(0.3)
    began = time.monotonic()
    assert process.wait(lambda log: len(log) >= 4)[:4] == ["verb"] * 4
    assert time.monotonic() - began > 0.8


def test_unit_is_started_where_the_verb_fails(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    verb(process, monkeypatch, lambda words: 3)
    process.start(0.1)
    log = process.wait(lambda log: len(log) >= 4)
    assert log[:4] == ["verb", "systemctl start --no-block u.service"] * 2


def test_unit_is_started_where_the_verb_takes_too_long(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident, "FIRST_SECONDS", 0.3)

    def hang(words: Sequence[str]) -> int:
        process.note(str(os.getpid()))
        signal.pause()
        return 0

    verb(process, monkeypatch, hang)
    process.start(60)
    first, hung, started = process.wait(lambda log: len(log) >= 3)[:3]
    assert (first, started) == ("verb", "systemctl start --no-block u.service")
    deadline = time.monotonic() + PATIENCE
    while _lives(hung):
        assert time.monotonic() < deadline


def test_client_comes_before_a_verb_that_runs_by_itself(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident, "FIRST_SECONDS", PATIENCE)

    def hang_once(words: Sequence[str]) -> int:
        if len(process.log()) == 1:
            signal.pause()
        return 0

    verb(process, monkeypatch, hang_once)
    process.start(60)
    process.wait(lambda log: len(log) == 1)
    assert b'"status": 0' in process.ask()
    assert process.log() == ["verb", "verb"]


def test_period_begins_again_with_what_a_client_asked_for(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    verb(process, monkeypatch, lambda words: 0)
    process.start(2)
    process.wait(lambda log: len(log) == 1)
    time.sleep(1.3)
    process.ask()
    asked = time.monotonic()
    process.wait(lambda log: len(log) == 3)
    assert time.monotonic() - asked > 1.5
