# SPDX-License-Identifier: Apache-2.0
"""The progress of a snapshot, or of a rollback to one, on a terminal."""

from collections.abc import Iterable
from typing import TypeVar

from millrace.protect.snapshot.snapshot_model import SnapshotProgress

Line = TypeVar("Line")
_PHASES = {"count": "counted", "clone": "cloned", "scan": "checked for changes"}


def snapshot_bar(lines: Iterable[Line]) -> Line | None:
    """Show lines of progress as they come; return the last line."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(TextColumn("{task.description}", markup=False), BarColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=None)
        last = None
        for last in lines:
            if isinstance(last, SnapshotProgress):
                words = f"{last.done} files and directories {_PHASES[last.phase]}"
                bar.update(task, description=words, completed=last.done, total=last.total)
    return last
