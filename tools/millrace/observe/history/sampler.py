# SPDX-License-Identifier: Apache-2.0
"""One value a minute into memory: millrace-metrics-collector.service runs it, which runs twice a minute in any case."""

import os
import sys
import time
from datetime import UTC, datetime

from millrace.observe.history import history_paths
from millrace.observe.history.database import DAY_BYTES, HistoryFile, opened
from millrace.observe.history.rates import values
from millrace.observe.history.readings import Readings, SourceReader
from millrace.observe.history.series import DAY, HOUR, KINDS, MINUTE, Key
from millrace.system import ages
from millrace.system.documents import read_model, write_model
from millrace.system.errors import MillraceError
from millrace.system.files import write_bytes
from millrace.system.run import Runner, quickly

KEPT = DAY + HOUR
"""Seconds for which a value stays in memory: the last hour of them may not be on the pool yet."""


def sample(run: Runner = quickly, now: datetime | None = None, uptime: float | None = None) -> bool:
    """Keep the values of this minute, unless it has them; return whether it did.

    `now` is the time by the clock and `uptime` the seconds since boot, unless given.

    Failed: the file in memory cannot be written. LaterRelease: a later release made it.
    """
    now = now or datetime.now(UTC)
    before = _before()
    reader = SourceReader(run, time.monotonic() if uptime is None else uptime)
    if before is not None and _minute(before.uptime) == _minute(reader.uptime):
        return False
    readings = reader.read()
    for name, problem in reader.problems.items():
        # once, and again after it was gone
        if before is None or name in before.sources:
            print(f"millrace: the history has no {name}: {problem}", file=sys.stderr)
    amounts = values(before, readings, reader.figures)
    write_model(history_paths.history_readings_file(), readings, 0o600)
    if now < ages.EARLIEST:
        # the clock has not been set yet: nobody knows when this was
        return False
    at = int(now.timestamp()) // MINUTE * MINUTE
    end = at + int(ages.TOLERANCE.total_seconds())
    with opened(history_paths.history_file(), DAY_BYTES, 0o600) as database:
        last = _last(database, at, amounts)
        rows = [(at, key, value) for key, value in amounts.items() if _is_due(KINDS[key[0]].every, at, last.get(key))]
        database.write(rows, keep=(at - KEPT, at - KEPT, end))
    # closed, and written by this process alone: the file is whole
    _show(history_paths.history_file().read_bytes())
    return True


def _show(content: bytes) -> None:
    """Replace the copy for users, and empty the one before the last: who keeps each of them open fills /run."""
    view = history_paths.history_view_file()
    before = view.with_name(f".{view.name}.before")
    if before.exists():
        # they are one after a kill between the two steps
        if not (view.exists() and before.samefile(view)):
            os.truncate(before, 0)
        before.unlink()
    if view.exists():
        # for those who read it now, for another minute
        os.link(view, before)
    write_bytes(view, content)


def _before() -> Readings | None:
    try:
        return read_model(history_paths.history_readings_file(), Readings)
    except MillraceError:
        return None


def _minute(uptime: float) -> int:
    return int(uptime // MINUTE)


def _last(database: HistoryFile, at: int, amounts: dict[Key, float]) -> dict[Key, int]:
    """When each series that is not kept every minute was kept last."""
    slow = {key[0] for key in amounts if KINDS[key[0]].every > MINUTE}
    return {key: when for when, key, _ in database.rows(at - HOUR, slow) if when <= at} if slow else {}


def _is_due(every: int, at: int, last: int | None) -> bool:
    return last is None or at // every != last // every
