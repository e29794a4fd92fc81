# SPDX-License-Identifier: Apache-2.0
"""A bar on stderr for a job that is followed on a terminal."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

Line = TypeVar("Line")


class BarState(NamedTuple):
    """What a bar shows: words, and how much of the total is done; a total of None is not known yet."""

    words: str
    done: int
    total: int | None


def progress_bar(lines: Iterable[Line], state: Callable[[Line], BarState | None], first: str) -> Line | None:
    """Show the state of each line as it comes, `first` before; return the last line.

    `state` is None of a line that is no progress.
    """
    # rich takes a tenth of a second, and most verbs show no bar
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(TextColumn("{task.description}", markup=False), BarColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(first, total=None)
        last = None
        for last in lines:
            if (shown := state(last)) is not None:
                bar.update(task, description=shown.words, completed=shown.done, total=shown.total)
    return last
