# SPDX-License-Identifier: Apache-2.0
"""Seconds of steady work on a server of files."""

from collections.abc import Callable
from itertools import count, islice
from types import SimpleNamespace
from unittest.mock import patch

from millrace.observe.live.model import LiveSample
from millrace.observe.live.verbs import _lines
from tests.fakes.files.box import NOW, Box


def watched(box: Box, lines: int, happens: Callable[[int], None] = lambda second: None) -> list[LiveSample]:
    """So many lines of `millrace watch`; `happens` is called with each second, after the counters went on."""
    seconds = count(2)
    clock = SimpleNamespace(monotonic=lambda: 1.0, time=NOW.timestamp)

    def tick(_: float) -> None:
        second = next(seconds)
        box.count(second)
        happens(second)
        clock.monotonic = lambda: float(second)
        clock.time = lambda: NOW.timestamp() + second

    box.count(1)
    with patch("millrace.observe.live.sample.time", clock):
        return list(islice(_lines(tick), lines))
