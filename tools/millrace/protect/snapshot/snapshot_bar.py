# SPDX-License-Identifier: Apache-2.0
"""The progress of a snapshot, or of a rollback to one, on a terminal."""

from collections.abc import Iterable
from typing import TypeVar

from millrace.protect.snapshot.snapshot_model import SnapshotProgress
from millrace.system.progress_bar import BarState, progress_bar

Line = TypeVar("Line")
_PHASES = {"count": "counted", "clone": "cloned", "scan": "checked for changes"}


def snapshot_bar(lines: Iterable[Line]) -> Line | None:
    """Show lines of progress as they come; return the last line."""
    return progress_bar(lines, _state, "starting")


def _state(line: object) -> BarState | None:
    if not isinstance(line, SnapshotProgress):
        return None
    return BarState(f"{line.done} files and directories {_PHASES[line.phase]}", line.done, line.total)
