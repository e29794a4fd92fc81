# SPDX-License-Identifier: Apache-2.0
"""Alerts in the journal: one line for each problem, with a priority to filter by."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.observe.alert import journal_route
from millrace.observe.health.model import Level
from millrace.system import paths
from tests.unit.observe.alert.samples import alert, message


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr("os.getpid", lambda: 7)
    (tmp_path / "dev").mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as daemon:
        daemon.bind(str(tmp_path / "dev/log"))
        daemon.setblocking(False)
        yield daemon


def test_each_problem_is_a_line_with_its_priority(log: socket.socket) -> None:
    journal_route.send(message("opened", alert(), alert("nfs", Level.WARN)), "nas7")
    # daemon.alert and daemon.warning
    assert log.recv(4096).decode() == "<25>millrace-alert[7]: [nas7] FAIL: arrays data is FAIL."
    assert log.recv(4096).decode() == "<28>millrace-alert[7]: [nas7] WARN: nfs  is WARN."
    with pytest.raises(BlockingIOError):
        log.recv(4096)


def test_end_test_and_sign_of_life_are_notices(log: socket.socket) -> None:
    journal_route.send(message("closed"), "nas7")
    journal_route.send(message("test"), "nas7")
    daily = message("daily", alert(), alert("nfs"))
    journal_route.send(daily.model_copy(update={"note": "Daily sign of life."}), "nas7")
    said = [log.recv(4096).decode() for _ in range(3)]
    assert [line.partition(" ")[2] for line in said] == [
        "[nas7] Ended: arrays data is FAIL.",
        "[nas7] Test: alerts of this server arrive here",
        "[nas7] Daily sign of life.",
    ]
    assert all(line.startswith("<29>") for line in said)
