# SPDX-License-Identifier: Apache-2.0
"""A change of the desired state is one line of the system log: number, user, what."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.serve.config import audit_log, store
from millrace.serve.config.model import Config
from millrace.system import paths
from millrace.system.errors import Failed


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "dev").mkdir()
    return tmp_path


@pytest.fixture
def log(server: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as daemon:
        daemon.bind(str(server / "dev/log"))
        daemon.setblocking(False)
        yield daemon


def lines(log: socket.socket) -> list[str]:
    found = []
    while True:
        try:
            found.append(log.recv(4096).decode())
        except BlockingIOError:
            return found


def same(config: Config) -> Config:
    return config


def test_change_is_one_line_with_number_user_and_what(log: socket.socket) -> None:
    store.change("ann", "share create train", same)
    store.change("bob", "share remove train", same)
    # 85 is authpriv.notice
    assert lines(log) == [
        f"<85>millrace[{os.getpid()}]: change 1 by ann: share create train",
        f"<85>millrace[{os.getpid()}]: change 2 by bob: share remove train",
    ]


def test_change_that_fails_is_not_logged(log: socket.socket) -> None:
    def effect(old: Config, new: Config) -> None:
        raise Failed("exportfs does not answer")

    with pytest.raises(Failed):
        store.change("ann", "share create train", same, effect)
    assert lines(log) == []


def test_line_break_in_a_change_forges_no_second_line(log: socket.socket) -> None:
    store.change("ann", "share set data --comment x\n<85>sudo: bob\x00", same)
    [line] = lines(log)
    assert line.endswith("share set data --comment x <85>sudo: bob ")


def test_name_that_is_no_text_fails_no_log_line(log: socket.socket) -> None:
    # as os.environ decodes a byte that is not UTF-8
    audit_log.record(7, "ann\udcff", "share create train")
    assert lines(log) == [f"<85>millrace[{os.getpid()}]: change 7 by ann : share create train"]


def test_log_that_is_not_there_fails_no_change() -> None:
    assert store.change("ann", "share create train", same).serial == 1


def test_log_that_does_not_read_fails_no_change(
    server: Path, log: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "TIMEOUT_S", 0.01)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as flood, contextlib.suppress(BlockingIOError):
        flood.setblocking(False)
        flood.connect(str(server / "dev/log"))
        while True:
            flood.send(b"full")
    assert store.change("ann", "share create train", same).serial == 1
    assert set(lines(log)) == {"full"}
