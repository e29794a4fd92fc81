# SPDX-License-Identifier: Apache-2.0
"""Commands reach the guest over one socket; here the guest's program runs on a socket pair."""

import getpass
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.system.errors import Failed
from vm import agent, guest


@pytest.fixture
def client(tmp_path: Path) -> Iterator[agent.Client]:
    """A client whose other end is the guest's own program."""
    path = tmp_path / "channel"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        ours = agent.Client(path)
        theirs, _ = listener.accept()
    program = re.sub(r'os\.open\("[^"]*", os\.O_RDWR\)', str(theirs.fileno()), guest.PROGRAM)
    # At the end of input the guest's program waits for the host to come back; here that is the end.
    here = tmp_path / "millrace"
    here.write_text(f'#!/bin/sh\necho started >> {tmp_path}/starts\nexec {sys.executable} -m millrace "$@"\n')
    here.chmod(0o755)
    paths = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(Path(agent.__file__).parents[1])}
    running = subprocess.Popen(
        [sys.executable, "-c", program], pass_fds=[theirs.fileno()], env=os.environ | paths, process_group=0
    )
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        running.kill()
        running.wait()


def run(client: agent.Client, *argv: str, stdin: str = "", seconds: float = 60) -> agent.Result:
    return client.run(argv, stdin, seconds, lambda: True)


def test_a_guest_says_hello_and_runs_a_command(client: agent.Client) -> None:
    assert client.wait_hello(60, lambda: True)
    result = run(client, "sh", "-c", "cat; echo oops >&2; exit 3", stdin="größe\n")
    assert (result.status, result.out, result.err) == (3, "größe\n", "oops\n")


def test_bytes_that_are_not_text_come_back_whole(client: agent.Client) -> None:
    assert client.wait_hello(60, lambda: True)
    out = run(client, "printf", r"\377\000\n").out
    assert out.encode("utf-8", "surrogateescape") == b"\xff\x00\n"


def test_a_command_that_takes_too_long_is_ended(client: agent.Client) -> None:
    assert client.wait_hello(60, lambda: True)
    assert run(client, "sleep", "600", seconds=0.5).status is None


def test_a_command_that_does_not_exist_is_an_answer(client: agent.Client) -> None:
    assert client.wait_hello(60, lambda: True)
    result = run(client, "no-such-command")
    assert result.status == 127
    assert "no-such-command" in result.err


def test_commands_do_not_wait_for_each_other(client: agent.Client, tmp_path: Path) -> None:
    assert client.wait_hello(60, lambda: True)
    gate = tmp_path / "gate"
    subprocess.run(["mkfifo", gate], check=True)
    reader = threading.Thread(target=run, args=(client, "cat", str(gate)))
    reader.start()
    assert run(client, "sh", "-c", f"echo open > {gate}").status == 0
    reader.join(60)
    assert not reader.is_alive()


def millrace(client: agent.Client, *words: str, seconds: float = 60) -> agent.Result:
    return client.millrace(words, getpass.getuser(), seconds, lambda: True)


def test_command_lines_of_millrace_are_asked_of_one_program(client: agent.Client, tmp_path: Path) -> None:
    assert client.wait_hello(60, lambda: True)
    alone = subprocess.run([sys.executable, "-m", "millrace", "schema"], capture_output=True, text=True, check=True)
    for _ in range(2):
        result = millrace(client, "schema")
        assert (result.argv, result.status, result.out) == (("millrace", "schema"), 0, alone.stdout)
    refused = millrace(client, "no-such-verb")
    assert refused.status == 2 and "no-such-verb" in refused.err
    assert (tmp_path / "starts").read_text() == "started\n"


def test_a_command_line_of_millrace_that_takes_too_long_is_ended(client: agent.Client, tmp_path: Path) -> None:
    assert client.wait_hello(60, lambda: True)
    subprocess.run(["mkfifo", tmp_path / "never"], check=True)
    assert millrace(client, "plan", "--inventory", str(tmp_path / "never"), seconds=3).status is None


def test_a_machine_that_went_away_is_said_so(client: agent.Client) -> None:
    assert client.wait_hello(60, lambda: True)
    with pytest.raises(Failed, match="went away or hangs"):
        client.run(["sleep", "600"], "", 600, lambda: False)


def test_a_machine_that_is_started_again_is_said_so_at_once(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "channel"))
        listener.listen()
        ours = agent.Client(tmp_path / "channel")
        theirs, _ = listener.accept()
    with theirs:
        theirs.sendall(b'{"hello": "one"}\n')
        assert ours.wait_hello(60, lambda: True)
        again = threading.Thread(target=lambda: (theirs.recv(65536), theirs.sendall(b'{"hello": "two"}\n')))
        again.start()
        with pytest.raises(agent.StartedAgain, match="started again while it ran: reboot"):
            run(ours, "reboot", seconds=600)
        again.join(60)
    ours.close()


def test_the_unit_is_a_credential_that_systemd_knows() -> None:
    [(name, unit)] = guest.credentials().items()
    assert name == "systemd.extra-unit.test-agent.service"
    assert b"%" not in unit
    assert b"$" not in unit
