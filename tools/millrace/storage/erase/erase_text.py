# SPDX-License-Identifier: Apache-2.0
"""An erasure in words: what is asked before it, its progress, and how it ended."""

from collections.abc import Iterable, Iterator

from millrace.storage.drive.drive_model import DriveRow
from millrace.storage.drive.drive_text import size_or_nothing, verdict
from millrace.storage.record.erasure import EraseLine, EraseProgress, Erasure
from millrace.system.printing import fields
from millrace.system.progress_bar import BarState, progress_bar
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

    def state(line: EraseLine) -> BarState | None:
        return BarState(_pace(line), line.done or 0, line.total) if isinstance(line, EraseProgress) else None

    return progress_bar(lines, state, "starting")


def _pace(progress: EraseProgress) -> str:
    return f"{progress.what}{pace(progress.bytes_per_second, progress.seconds_left)}"
