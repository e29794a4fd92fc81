# SPDX-License-Identifier: Apache-2.0
"""A listening client answers the server that was named, and does only what a run needs."""

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from unittest.mock import Mock

import pytest

from millrace.measure.bench.run.remote.connection import ClientConnection, Unreachable
from millrace.measure.bench.run.remote.register import NOTHING
from millrace.system.errors import Failed
from millrace_client import listen
from tests.unit.measure.bench.remotes import FACTS, HERE, TOKEN, free_port, listening


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Thread]:
    """The whole program, told to listen to 127.0.0.2; it ends at the connection after `serve` was taken away."""
    for name, path in (("WHERE", "here"), ("MOUNT", "here/mnt"), ("PROGRAM", "here/program.pyz")):
        monkeypatch.setattr(listen, name, str(tmp_path / path))
    (tmp_path / "millrace-bench.pyz").write_text("the program")
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "millrace-bench.pyz")])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(listen, "SYSTEMD", str(tmp_path))
    monkeypatch.setattr(listen, "PORT", free_port())
    monkeypatch.setattr(listen, "run", lambda argv: (0, ""))
    thread = Thread(target=listen.listen, args=("127.0.0.2", FACTS, TOKEN), daemon=True)
    thread.start()
    while not (tmp_path / "here/program.pyz").exists():
        time.sleep(0.01)
    yield thread
    monkeypatch.setattr(listen, "serve", Mock(side_effect=KeyboardInterrupt))
    knock("127.0.0.2")
    thread.join(5)
    assert not thread.is_alive()
    # ended by Ctrl-C, it leaves nothing
    assert not (tmp_path / "here").exists()


def knock(source: str) -> bytes:
    """What the program says first to a connection from this address."""
    deadline = time.monotonic() + 5
    while True:
        try:
            with socket.create_connection((HERE, listen.PORT), 5, source_address=(source, 0)) as connection:
                return connection.recv(1 << 16)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_only_the_server_that_was_named_is_answered(named: Thread) -> None:
    assert knock("127.0.0.3") == b""
    with pytest.raises(Unreachable, match="closed the connection: is this the server given with --listen"):
        ClientConnection("gpu1", HERE, TOKEN)
    # and that one learns nothing before it has shown that it knows the token
    assert set(json.loads(knock("127.0.0.2"))) == {"program", "nonce"}


def test_listening_needs_root(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert listen.listen("127.0.0.2", FACTS) == 1
    assert capsys.readouterr().err == "--listen mounts and starts units: it needs root and systemd\n"


def test_a_client_mounts_the_benchmark_and_no_share(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch) as calls, ClientConnection("gpu1", HERE, TOKEN) as connection:
        connection.request("mount", path="/srv/pool/.millrace-bench", options="vers=4.2")
        (mount,) = [call for call in calls if "mount" in call]
        assert mount[-4:] == ["-o", "vers=4.2,nosuid,nodev,noexec", f"{HERE}:/srv/pool/.millrace-bench", listen.MOUNT]
        with pytest.raises(Failed, match=r"client gpu1: /srv/pool/data is not the directory of a benchmark"):
            connection.request("mount", path="/srv/pool/data", options="")
        with pytest.raises(Failed, match="this program has no load rm"):
            connection.request("run", arguments=["rm"])
        with pytest.raises(Failed, match="this program cannot format"):
            connection.request("format")


def test_a_server_that_hangs_up_leaves_nothing_on_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(monkeypatch) as calls:
        connection = ClientConnection("gpu1", HERE, TOKEN)
        connection.request("fio", job=NOTHING)
        before = len(calls)
        connection.close()
        deadline = time.monotonic() + 5
        while len(calls) < before + 1 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert calls[before:] == [["systemctl", "stop", listen.UNIT]]
