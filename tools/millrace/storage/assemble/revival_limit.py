# SPDX-License-Identifier: Apache-2.0
"""How often broken arrays were started again by themselves: a few times a day, a backplane that fails never ends.

`/var/lib/millrace/revivals.jsonl` has a line for each of the last day. Where the boot drive takes no record,
`/run/millrace/revivals.jsonl` counts until the restart.
"""

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from millrace.storage.array import md
from millrace.storage.record.model import ArrayRecord
from millrace.system import ages, paths
from millrace.system.files import write_text

MOST = 3
"""Times that an array is started again by itself within DAY."""
DAY = timedelta(hours=24)


class Revived(NamedTuple):
    """One such start. `array` is the UUID, `at` is ISO 8601 in UTC."""

    array: str
    at: str


def refusal(record: ArrayRecord, now: str) -> str | None:
    """Return why an array is not started again by itself, in words; None where it is."""
    if times(record, recent(now)) < MOST:
        return None
    return f"{md.title(record.array)} broke and was started again {MOST} times in 24 hours"


def times(record: ArrayRecord, known: Collection[Revived]) -> int:
    """Return how often an array was started again."""
    return sum(one.array == record.uuid for one in known)


def recent(now: str) -> list[Revived]:
    """Return what was started again within a day; nothing where the record is missing or cannot be parsed."""
    # That of this boot has what the record had, too.
    return _within_a_day(paths.unrecorded_revivals_file(), now) or _within_a_day(paths.revivals_file(), now)


def add(arrays: Sequence[ArrayRecord], now: str) -> None:
    """Record that arrays are started again. One that cannot be recorded is started all the same."""
    known = [*recent(now), *(Revived(array.uuid, now) for array in arrays)]
    text, here = "".join(f"{json.dumps(revival)}\n" for revival in known), paths.unrecorded_revivals_file()
    try:
        write_text(paths.revivals_file(), text)
    except OSError:
        with suppress(OSError):
            write_text(here, text)
        return
    here.unlink(missing_ok=True)


def _within_a_day(path: Path, now: str) -> list[Revived]:
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return []
    found = [one for line in lines if (one := _parsed(line)) is not None]
    return [one for one in found if ages.is_recent(one.at, DAY, now)]


def _parsed(line: str) -> Revived | None:
    try:
        array, at = json.loads(line)
        aware = datetime.fromisoformat(at).tzinfo is not None
    except (ValueError, TypeError, RecursionError):
        return None
    return Revived(str(array), at) if aware else None
