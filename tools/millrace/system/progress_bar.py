# SPDX-License-Identifier: Apache-2.0
"""The bar of one job on a terminal: what it does, and how much of it is done."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

Line = TypeVar("Line")


class BarState(NamedTuple):
    """What a bar shows: its words, and `done` of `total`; both in one unit, or None where it is not known."""

    words: str
    done: int | None
    total: int | None


def progress_bar(lines: Iterable[Line], state: Callable[[Line], BarState | None], before: str) -> Line | None:
    """Show a bar on stderr until the lines end; return the last one.

    `state` is what a line changes; None where it is no progress, such as the result. `before` is shown until the first.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(TextColumn("{task.description}", markup=False), BarColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(before, total=None)
        last = None
        for last in lines:
            if (now := state(last)) is not None:
                bar.update(task, description=now.words, completed=now.done, total=now.total)
    return last
