# SPDX-License-Identifier: Apache-2.0
"""A service tells systemd that it is up; systemd reports the state of one unit, or of several at once."""

import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from millrace.system.errors import Failed
from millrace.system.run import Result
from millrace.system.units import UnitState, active_state, is_working, notify, state, states


@pytest.mark.parametrize("abstract", [False, True], ids=["file", "abstract"])
def test_systemd_is_told_once(tmp_path: Path, abstract: bool) -> None:
    name = f"millrace-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}" if abstract else os.fspath(tmp_path / name))
        manager.setblocking(False)
        notify(f"@{name}" if abstract else str(tmp_path / name), "READY=1")
        assert manager.recv(100) == b"READY=1"
        with pytest.raises(BlockingIOError):
            manager.recv(100)


@pytest.mark.parametrize("address", [None, ""])
def test_nobody_is_told_where_nobody_waits(address: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    monkeypatch.setattr(socket, "socket", lambda *kind: opened.append(kind))
    notify(address, "READY=1")
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
    assert UnitState(state, queued=False).is_under_way is under_way


def test_state_is_that_of_the_unit_with_its_job() -> None:
    found = state("x.service", lambda argv, stdin=None: Result(0, "ActiveState=inactive\nJob=812\n", ""))
    assert (found.active, found.queued, found.is_working, found.is_under_way) == ("inactive", True, True, False)
    assert active_state("x.service", lambda argv, stdin=None: Result(0, "active\n", "")) == "active"


@pytest.mark.parametrize("ask", [state, active_state])
@pytest.mark.parametrize("answer", [Result(0, "\n", ""), Result(1, "", "Failed to connect to bus")])
def test_state_that_systemd_does_not_report_is_a_sentence(ask: Callable[..., object], answer: Result) -> None:
    with pytest.raises(Failed, match=r"systemctl does not report the state of x\.service: "):
        ask("x.service", lambda argv, stdin=None: answer)


BLOCKS = """Id=millrace-erase.service
ActiveState=activating
Job=

Job=812
Id=srv-pool.mount
ActiveState=inactive

Id=nosuch.service
ActiveState=inactive
"""


def test_states_of_several_units_are_asked_for_at_once() -> None:
    asked: list[list[str]] = []

    def systemctl(argv: Sequence[str], stdin: str | None = None) -> Result:
        asked.append(list(argv))
        return Result(0, BLOCKS, "")

    # systemd prints a block for a unit that it does not know, too
    units = ["nosuch.service", "millrace-erase.service", "srv-pool.mount"]
    reported = states(units, systemctl)
    assert list(reported.items()) == [
        ("nosuch.service", UnitState("inactive", queued=False)),
        ("millrace-erase.service", UnitState("activating", queued=False)),
        ("srv-pool.mount", UnitState("inactive", queued=True)),
    ]
    assert asked == [["systemctl", "show", "--property=Id,ActiveState,Job", *units]]


def test_no_unit_needs_no_question() -> None:
    def systemctl(argv: Sequence[str], stdin: str | None = None) -> Result:
        raise AssertionError(argv)

    assert states([], systemctl) == {}


@pytest.mark.parametrize(
    ("answer", "unit", "why"),
    [
        (Result(0, "", ""), "srv-pool.mount", ""),
        (Result(0, "\n", ""), "srv-pool.mount", ""),
        (Result(1, "", "Failed to connect to bus\n"), "srv-pool.mount", "Failed to connect to bus"),
        # what was printed before the failure is not complete
        (Result(1, BLOCKS, "Connection reset by peer\n"), "srv-pool.mount", "Connection reset by peer"),
        (Result(0, BLOCKS.replace("ActiveState=inactive\n\n", "\n"), ""), "srv-pool.mount", ""),
        (Result(0, BLOCKS, ""), "millrace-bench.service", ""),
    ],
    ids=["nothing", "empty", "failed", "cut", "no state", "no block"],
)
def test_states_without_one_of_the_units_are_a_sentence_with_its_name(answer: Result, unit: str, why: str) -> None:
    with pytest.raises(Failed, match=rf"systemctl does not report the state of {unit}: .*{why}"):
        states(["srv-pool.mount", unit], lambda argv, stdin=None: answer)
