# SPDX-License-Identifier: Apache-2.0
"""An erasure in words: what is asked before it, its progress, and how it ended."""

from collections.abc import Iterable, Iterator

from millrace.storage.drive.drive_model import DriveRow
from millrace.storage.drive.drive_text import size_or_nothing, verdict
from millrace.storage.record.erasure import EraseLine, EraseProgress, Erasure
from millrace.system.printing import fields
from millrace.system.text import pace


def before_erase(drive: DriveRow) -> Iterator[str]:
    """Return what is about to be erased."""
    yield f"All data on this drive will be lost: {drive.serial}, {drive.model}, {size_or_nothing(drive.size_bytes)}"
    yield from fields([("Bay", drive.bay or "unknown"), ("Verdict", verdict(drive))], indent=2)


def erased(ended: Erasure) -> Iterator[str]:
    """Return how a drive was erased, and what that does not prove."""
    yield f"drive {ended.serial} is erased and blank ({ended.method})"
    if ended.unproved:
        yield f"Not proved: {ended.unproved}."


def erase_bar(lines: Iterable[EraseLine]) -> EraseLine | None:
    """Show the progress of an erasure as a bar on stderr; return the last document."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(TextColumn("{task.description}", markup=False), BarColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=None)
        last = None
        for last in lines:
            if isinstance(last, EraseProgress):
                bar.update(task, description=_pace(last), completed=last.done or 0, total=last.total)
    return last


def _pace(progress: EraseProgress) -> str:
    return f"{progress.what}{pace(progress.bytes_per_second, progress.seconds_left)}"
