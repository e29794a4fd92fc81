# SPDX-License-Identifier: Apache-2.0
"""`millrace answer` returns what a verb prints and its exit status, runs verbs side by side, and ends them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAM = [sys.executable, "-m", "millrace"]
PATIENCE = 60.0


class Asked:
    """`millrace answer` with a pipe at both ends."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([*PROGRAM, "answer"], stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def say(self, **question: object) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout
        return dict(json.loads(self.process.stdout.readline()))

    def children(self) -> list[int]:
        return [
            int(pid) for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        ]

    def child(self) -> int:
        """The one verb that runs, once it does."""
        deadline = time.monotonic() + PATIENCE
        while not (found := self.children()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found[0]


def _ends(process: int) -> bool:
    """Whether a process that is not a child of this one ends in time."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state.rpartition(") ")[2].startswith("Z"):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def asked() -> Iterator[Asked]:
    asked = Asked()
    with asked.process:
        yield asked
        if asked.process.stdin:
            asked.process.stdin.close()


def test_what_is_printed_is_what_the_verb_prints_by_itself(asked: Asked) -> None:
    alone = subprocess.run([*PROGRAM, "schema"], capture_output=True, text=True, check=True)
    for number in (1, 2):
        asked.say(id=number, words=["schema"])
        assert asked.hear() == {"id": number, "status": 0, "signal": None, "out": alone.stdout, "err": alone.stderr}


def test_a_refusal_has_its_status_and_its_sentence(asked: Asked) -> None:
    asked.say(id=7, words=["frobnicate", "--json"])
    sentence = "millrace: No such command 'frobnicate'. See 'millrace --help'.\n"
    assert asked.hear() == {"id": 7, "status": 2, "signal": None, "out": "", "err": sentence}


def test_a_short_verb_does_not_wait_for_a_long_one_that_is_stopped_in_the_end(asked: Asked) -> None:
    asked.say(id=1, words=["watch", "--json"])
    long = asked.child()
    asked.say(id=2, words=["--version"])
    assert asked.hear()["id"] == 2
    asked.say(stop=1)
    ended = asked.hear()
    assert (ended["id"], ended["status"], ended["signal"]) == (1, None, "TERM")
    assert long not in asked.children()


def test_killed_verb_is_reported(asked: Asked) -> None:
    asked.say(id=1, words=["watch", "--json"])
    os.kill(asked.child(), signal.SIGKILL)
    assert asked.hear()["signal"] == "KILL"


@pytest.mark.parametrize("told", [True, False], ids=["SIGTERM", "end of input"])
def test_verbs_end_with_the_connection(asked: Asked, told: bool) -> None:
    asked.say(id=1, words=["watch", "--json"])
    child = asked.child()
    assert asked.process.stdin
    if told:
        asked.process.terminate()
    else:
        asked.process.stdin.close()
    assert asked.process.wait(PATIENCE) == 0
    assert _ends(child)


def test_a_verb_that_has_just_begun_ends_with_its_server_too() -> None:
    program = """
import os, signal, threading, time
from millrace.cli.worker.server import VerbServer
fork = os.fork
def slow():
    pid = fork()
    if pid:
        print(pid, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.2)
    return pid
os.fork = slow
questions, answers = os.pipe(), os.pipe()
os.write(questions[1], b'{"id": 1, "words": ["watch", "--json"]}\\n')
VerbServer().serve(questions[0], answers[1])
"""
    begun = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=True
    )
    assert _ends(int(begun.stdout))


@pytest.mark.parametrize(
    "line",
    ["status\n", "{}\n", '{"id": 1, "words": 5}\n', "[]\n", "[" * 3000 + "\n", '{"id": Infinity, "words": []}\n'],
    ids=lambda line: line[:20].strip(),
)
def test_a_line_that_is_no_question_ends_it_with_a_sentence(line: str) -> None:
    done = subprocess.run([*PROGRAM, "answer"], input=line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'millrace: a question is a line like {"id": 1, "words": ["status", "--json"]}\n'


def test_what_a_verb_had_to_import_and_build_is_there_for_the_next_one() -> None:
    program = """
import json, os, sys, threading, time
from millrace.cli.worker.server import VerbServer
from millrace.system import import_cache as learning
questions, answers = os.pipe(), os.pipe()
server = VerbServer()
def ask():
    os.write(questions[1], b'{"id": 1, "words": ["schema", "--json"]}\\n')
    assert json.loads(os.fdopen(answers[0]).readline())["status"] == 0
    while server._modules or server._built or "millrace.cli.schema.document" not in sys.modules:
        time.sleep(0.05)
    time.sleep(0.2)
    os.close(questions[1])
assert "millrace.cli.schema.document" not in sys.modules and not learning.now().built
threading.Thread(target=ask).start()
server.serve(questions[0], answers[1])
assert "millrace.cli.schema.document" in sys.modules
assert learning.now().built
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
