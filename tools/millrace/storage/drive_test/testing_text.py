# SPDX-License-Identifier: Apache-2.0
"""Tests of drives in words: what is asked before them, their progress, and how they ended."""

from collections.abc import Iterable, Iterator, Sequence

import click

from millrace.inventory.drive_tests import DriveTest, DriveTests
from millrace.storage.drive.drive_model import DriveRow
from millrace.storage.drive.drive_text import size_or_nothing
from millrace.storage.drive_test.may_test import expected
from millrace.storage.record.test_order import DriveTestLine
from millrace.system.printing import table
from millrace.system.text import pace


def before_tests(drives: Sequence[DriveRow], quick: bool) -> Iterator[str]:
    """Return what is about to be tested, and how long that is expected to take."""
    yield "To be tested:"
    rows = [(one.bay or None, one.serial, one.model, size_or_nothing(one.size_bytes)) for one in drives]
    yield from table(("Bay", "Serial", "Model", "Size"), rows, right=("Size",), indent=2)
    longest = max(one.size_bytes or 0 for one in drives)
    yield f"Expected: {expected(longest, quick)}, all drives at the same time."
    yield "The drives are written and read, and blank afterwards. Power cuts are not tested."


def tested(ended: DriveTest) -> str:
    """Return how one test ended."""
    why = "; ".join(one for one in (ended.reason, *ended.remarks) if one)
    left = "the drive is blank" if ended.blank else "the drive is not blank"
    return f"drive {ended.serial}: {ended.state}{f' ({why})' if why else ''}; {left}"


def cancelled(ended: DriveTests) -> Iterator[str]:
    """Return which tests were cancelled, and how each ended."""
    yield f"tests cancelled: {', '.join(one.serial for one in ended.tests) or 'none had begun'}"
    yield from (tested(one) for one in ended.tests)


def test_bar(lines: Iterable[DriveTestLine]) -> DriveTestLine | None:
    """Show the progress of tests as a bar for each drive on stderr, then how each ended; return the last document."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn

    ended: list[DriveTest] = []
    tasks: dict[str, TaskID] = {}
    with Progress(TextColumn("{task.description}", markup=False), BarColumn(), console=Console(stderr=True)) as bar:
        for line in lines:
            if isinstance(line, DriveTest):
                ended.append(line)
                continue
            if line.serial not in tasks:
                tasks[line.serial] = bar.add_task(line.serial)
            words = f"{line.serial} {line.what}{pace(line.bytes_per_second, line.seconds_left)}"
            bar.update(tasks[line.serial], description=words, completed=line.done, total=line.total)
    for each in ended:
        click.echo(tested(each))
    return ended[-1] if ended else None
