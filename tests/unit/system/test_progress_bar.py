# SPDX-License-Identifier: Apache-2.0
"""One bar for jobs: it shows what the last line says, and returns it."""

import pytest

from millrace.system.progress_bar import BarState, progress_bar


def steps(line: int | str) -> BarState | None:
    return BarState(f"step {line} [b]", line, 4) if isinstance(line, int) else None


def test_bar_shows_the_last_progress_and_the_result_is_returned(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress_bar([1, 2, 4, "done"], steps, "starting") == "done"
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "step 4 [b]" in shown.err


def test_without_lines_the_bar_shows_what_it_began_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress_bar([], steps, "counting") is None
    assert "counting" in capsys.readouterr().err
