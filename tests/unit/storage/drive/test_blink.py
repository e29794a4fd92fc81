# SPDX-License-Identifier: Apache-2.0
"""A drive is read for a second and left alone for a second, until the time is over or somebody ends it."""

import os
import signal
import time
from itertools import pairwise
from pathlib import Path
from threading import Event

import pytest

from millrace.storage.drive import blink

SIZE = 4 << 20


class Clock(Event):
    """An event that nobody sets, whose waits move the time; `ends_at` seconds it is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ends_at: float = 1e9) -> None:
        super().__init__()
        self.now, self.ends_at = 0.0, ends_at
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def wait(self, timeout: float | None = None) -> bool:
        self.now += timeout or 0
        if self.now >= self.ends_at:
            self.set()
        return self.is_set()


@pytest.fixture
def reads(root_user: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, int]]:
    """When a drive was read, and where."""
    device = root_user / "dev/nvme0n1"
    device.parent.mkdir()
    device.write_bytes(bytes(SIZE))
    requests: list[tuple[float, int]] = []
    read = os.preadv

    def recorded(descriptor: int, buffers: list[memoryview], place: int) -> int:
        requests.append((time.monotonic(), place))
        return read(descriptor, buffers, place)

    monkeypatch.setattr(os, "preadv", recorded)
    return requests


def test_every_other_second_has_reads_at_changing_places(
    reads: list[tuple[float, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    blink.blink("nvme0n1", 6, Clock(monkeypatch))
    seconds = {int(at) for at, _ in reads}
    assert seconds == {0, 2, 4}
    assert 100 < len(reads) < 160
    places = [place for _, place in reads]
    assert all(one != other for one, other in pairwise(places))
    assert {place % blink.BLOCK for place in places} == {0} and max(places) < SIZE


def test_it_ends_at_once_when_it_is_stopped(reads: list[tuple[float, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, ends_at=2.5)
    blink.blink("nvme0n1", 60, clock)
    assert clock.now < 4
    assert {int(at) for at, _ in reads} == {0, 2}


def test_a_block_that_cannot_be_read_is_passed_over(
    reads: list[tuple[float, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        reads.append((0.0, 0))
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "preadv", fail)
    blink.blink("nvme0n1", 1, Clock(monkeypatch))
    assert len(reads) > 10


def test_the_program_takes_name_and_seconds_and_ends_by_a_signal(
    reads: list[tuple[float, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    handlers: dict[int, object] = {}
    monkeypatch.setattr(signal, "signal", lambda number, handler: handlers.update({number: handler}))
    monkeypatch.setattr(blink, "Event", lambda: Clock(monkeypatch))
    blink.main(["nvme0n1:2"])
    assert len(reads) > 10 and set(handlers) == {signal.SIGTERM}
    with pytest.raises(FileNotFoundError):
        blink.main(["nvme7n1:2"])
