# SPDX-License-Identifier: Apache-2.0
"""The copy on the pool, which outlives boots, updates and boot drives: millrace-keep.service makes it every hour.

Nothing else of the history touches the pool, so a pool that hangs or is full delays no check and no value.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from millrace.lifecycle.keep import generation_store, home, keeping
from millrace.observe.health import clock
from millrace.observe.history import history_paths
from millrace.observe.history.database import YEAR_BYTES, HistoryFile, Row, Slot, opened
from millrace.observe.history.sampler import KEPT
from millrace.observe.history.series import DAY, HOUR, KINDS, WITNESS, Key
from millrace.storage.record.pool_file import load_pool
from millrace.system import ages, locks, paths

YEAR = 366 * DAY
SPACING = HOUR - 300
"""A change of the desired state starts millrace-keep.service, too: seconds before which it leaves the history alone."""


def file(mountpoint: Path) -> Path:
    """Return where the history is on the pool that is mounted at `mountpoint`."""
    return mountpoint / paths.POOL_HISTORY


def store(at: float | None = None) -> bool:
    """Copy what is new to the pool, unless that was done within the hour; return whether it was.

    `at` is the time by the clock in seconds since 1970, unless given.

    Refused: there is no pool, its state is that of another boot drive, or the caller is not root. BadInput: the record
    of the pool cannot be read. Failed: the pool is not mounted, or takes nothing. LaterRelease: a later release made
    the file. OSError: a file of the pool cannot be made.
    """
    pool = load_pool()
    now = int(datetime.now(UTC).timestamp() if at is None else at)
    mountpoint = keeping.mounted_pool(pool)
    if not history_paths.history_file().exists() or now < ages.EARLIEST.timestamp():
        return False
    with locks.held(paths.run_dir() / "history.lock"):
        home.refuse(mountpoint, pool.filesystem_uuid)
        generation_store.make_directory(mountpoint, "history")
        with opened(file(mountpoint), YEAR_BYTES, 0o600) as kept:
            before = kept.newest()
            # one from a clock that was ahead counts as none
            if before is not None and 0 <= now - before < SPACING:
                return False
            with HistoryFile(history_paths.history_file()) as memory:
                rows = list(memory.rows(now - KEPT, KINDS))
            if before is not None and before <= now:
                rows = [row for row in rows if row[0] > before]
            if not rows:
                return False
            first = min(at for at, _, _ in rows)
            known = [row for row in kept.rows(first // HOUR * HOUR, KINDS) if row[0] < first]
            # A clock that may be wrong ends no year: one that is ahead would make all of it old, one behind all of it
            # yet to come. The size of the file is bounded in any case.
            state = clock.last()
            year = now - YEAR if state is not None and state.synchronised else None
            keep = (now - KEPT, year, now + int(ages.TOLERANCE.total_seconds()))
            kept.write(rows, slots([*known, *rows]), keep)
    return True


def slots(rows: Iterable[Row]) -> list[Slot]:
    """Return the slots of these values, which are all of each hour; of shares and clients the largest of each."""
    groups: defaultdict[tuple[int, Key], list[float]] = defaultdict(list)
    for at, key, value in rows:
        width = KINDS[key[0]].slot
        groups[at // width * width, key].append(value)
    made: list[Slot] = []
    ranks: defaultdict[tuple[int, str], list[Slot]] = defaultdict(list)
    for (at, key), values in groups.items():
        kind = KINDS[key[0]]
        if kind.ranked:
            minutes = max(len(values), len(groups.get((at, WITNESS), ())))
            ranks[at, kind.name].append((at, key, sum(values) / minutes, max(values)))
        else:
            # of a day the newest counts, of which there may be more later
            mean = values[-1] if kind.slot == DAY else sum(values) / len(values)
            made.append((at, key, mean, max(values)))
    for (_, name), some in ranks.items():
        made += sorted(some, key=lambda slot: -slot[2])[: KINDS[name].most]
    return made
