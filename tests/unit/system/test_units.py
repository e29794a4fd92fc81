# SPDX-License-Identifier: Apache-2.0
"""A service tells systemd that it is up, at a file or at a name without one."""

import os
import socket
from pathlib import Path

import pytest

from millrace.system.run import Result
from millrace.system.units import is_under_way, is_working, notify_ready


@pytest.mark.parametrize("abstract", [False, True], ids=["file", "abstract"])
def test_systemd_is_told_once(tmp_path: Path, abstract: bool) -> None:
    name = f"millrace-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}" if abstract else os.fspath(tmp_path / name))
        manager.setblocking(False)
        notify_ready(f"@{name}" if abstract else str(tmp_path / name))
        assert manager.recv(100) == b"READY=1"
        with pytest.raises(BlockingIOError):
            manager.recv(100)


@pytest.mark.parametrize("address", [None, ""])
def test_nobody_is_told_where_nobody_waits(address: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    monkeypatch.setattr(socket, "socket", lambda *kind: opened.append(kind))
    notify_ready(address)
    assert opened == []


@pytest.mark.parametrize(
    ("shown", "working"),
    [
        ("ActiveState=activating\nJob=\n", True),
        ("ActiveState=inactive\nJob=812\n", True),
        ("ActiveState=inactive\nJob=0\n", False),
        ("ActiveState=failed\nJob=\n", False),
        ("ActiveState=inactive\n", False),
    ],
)
def test_unit_works_while_it_runs_or_is_queued(shown: str, working: bool) -> None:
    assert is_working("x.service", lambda argv, stdin=None: Result(0, shown, "")) is working


@pytest.mark.parametrize(
    ("state", "under_way"), [("active", True), ("activating", True), ("deactivating", True), ("failed", False)]
)
def test_job_has_not_ended_while_its_unit_cleans_up(state: str, under_way: bool) -> None:
    assert is_under_way("x.service", lambda argv, stdin=None: Result(0, f"{state}\n", "")) is under_way
