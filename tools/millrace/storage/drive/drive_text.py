# SPDX-License-Identifier: Apache-2.0
"""One drive in words: its name at the beginning of a sentence, its verdict, its size."""

from collections.abc import Iterator

from millrace.storage.drive.drive_model import DriveRow, LocatedDrive
from millrace.system.text import size


def verdict(drive: DriveRow) -> str:
    """Return the verdict with its number of bytes or what was found."""
    if drive.too_small_by is not None:
        return f"{drive.verdict} (by {drive.too_small_by} bytes)"
    return f"{drive.verdict} ({drive.what})" if drive.what else drive.verdict


def size_or_nothing(count: int | None) -> str:
    """Return a number of bytes in words, empty where it is not known."""
    return "" if count is None else size(count)


def located(found: LocatedDrive) -> Iterator[str]:
    """Return which LED of a drive blinked, and where."""
    place = f"bay {found.bay} ({found.serial})" if found.bay else f"drive {found.serial}"
    yield f"{place}: the {found.by} was on"


def named(row: DriveRow) -> str:
    """Return a drive as a sentence begins: `bay 7 (S6XYZ123)`, or `drive S6XYZ123`."""
    return f"bay {row.bay} ({row.serial})" if row.bay else f"drive {row.serial}"
