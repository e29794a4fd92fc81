# SPDX-License-Identifier: Apache-2.0
"""A bar on a terminal shows each line that is progress, and returns the last line."""

import pytest

from millrace.system.progress_bar import BarState, progress_bar


def state(line: int | str) -> BarState | None:
    return BarState(f"{line} of 4", line, 4) if isinstance(line, int) else None


def test_bar_returns_what_came_last(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress_bar([1, 4, "made"], state, "starting") == "made"
    printed = capsys.readouterr()
    assert "4 of 4" in printed.err and printed.out == ""


def test_bar_of_nothing_returns_nothing() -> None:
    assert progress_bar([], state, "starting") is None
