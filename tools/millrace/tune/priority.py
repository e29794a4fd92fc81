# SPDX-License-Identifier: Apache-2.0
"""`millrace pool priority`: whether clients or a rebuild go first."""

from collections.abc import Iterator
from typing import Literal

from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.documents import Contract, write_model
from millrace.system.printing import table
from millrace.system.text import KIB, size
from millrace.tune import rebuild_speed
from millrace.tune.originals import SavedOriginals, tune_lock
from millrace.tune.priorities import Priority
from millrace.tune.rebuild_speed import SOURCE, PriorityDocument
from millrace.tune.run import apply
from millrace.tune.settings import in_force


class Floor(Contract):
    """What a rebuild of one array gets at least, in KiB/s of each drive, and why."""

    array: str
    survives: int
    sync_speed_min: int
    reason: str
    source: str


class PoolPriority(Contract):
    """What goes first, and what that means for each array now. A warning is a floor that could not be set."""

    schema_version: Literal[1] = 1
    priority: Priority
    arrays: list[Floor]
    warnings: list[str]


def choose(pool: Pool, wanted: Priority) -> PoolPriority:
    """Keep what goes first and set the floors of now; md events and boots set them again."""
    with tune_lock():
        write_model(paths.priority_file(), PriorityDocument(priority=wanted))
        now = in_force(pool)
        report = apply(rebuild_speed.pace_settings(now.md, pool, now.rebuild.least), [], SavedOriginals())
    return current(pool, report.warnings)


def current(pool: Pool, warnings: list[str]) -> PoolPriority:
    """Return what goes first."""
    wanted, now = rebuild_speed.priority(), in_force(pool)
    floors = [
        Floor(array=one.array, survives=one.left, sync_speed_min=one.kib, reason=one.reason, source=SOURCE)
        for one in rebuild_speed.paces(now.md, pool, wanted, now.rebuild.least)
    ]
    return PoolPriority(priority=wanted, arrays=floors, warnings=warnings)


def lines(found: PoolPriority) -> Iterator[str]:
    """Return text for a terminal."""
    yield f"priority: {found.priority}"
    rows = [(one.array, f"{size(one.sync_speed_min * KIB)}/s", one.reason) for one in found.arrays]
    yield from table(("Array", "Least for a rebuild, each drive", "Reason"), rows)
