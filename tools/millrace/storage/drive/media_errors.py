# SPDX-License-Identifier: Apache-2.0
"""Media errors of each drive over the years: the count when it was first seen, and when the count last rose.

A drive counts since it was made, and a restart must not make old what happened an hour before it
(`/var/lib/millrace/media-errors.json`).
"""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Literal

from millrace.storage.drive import drive_records
from millrace.system import paths
from millrace.system.documents import Contract

KEPT = 256
"""Drives that are kept in the document; one server holds 24, and those that left are forgotten one day."""

RECENT = timedelta(days=30)
"""How long an error counts as new."""


class Counter(Contract):
    """One drive by its serial: its count when it was first seen and when it was last seen, the day it last grew."""

    serial: str
    first: int
    first_seen: str
    last: int
    last_seen: str
    grown: str | None = None


class Counters(Contract):
    """All drives that this server has seen."""

    schema_version: Literal[1] = 1
    drives: list[Counter]


def load() -> Counters:
    """Return the counters; none where the document is missing or cannot be parsed: counting begins again then."""
    return drive_records.load(paths.media_errors_file(), Counters(drives=[]))


def count(before: Counters, now: Mapping[str, int], today: date) -> Counters:
    """Return the counters updated with the counts that the drives report now, by serial. Pure."""
    found = {one.serial: one for one in before.drives}
    for serial, errors in now.items():
        found[serial] = _counted(found.get(serial), serial, errors, today.isoformat())
    latest = sorted(found.values(), key=lambda one: (one.last_seen, one.serial), reverse=True)
    return Counters(drives=latest[:KEPT])


def recent(counters: Counters, today: date) -> dict[str, Counter]:
    """Return the drives whose count has grown within a month, by serial. Pure."""
    since = (today - RECENT).isoformat()
    return {one.serial: one for one in counters.drives if one.grown is not None and one.grown >= since}


def save(counters: Counters) -> None:
    """Write the counters, or warn on stderr where that fails."""
    drive_records.save(paths.media_errors_file(), counters)


def _counted(before: Counter | None, serial: str, errors: int, today: str) -> Counter:
    # a drive whose count went down was reset by its maker's tool, or is another of the same number
    if before is None or errors < before.last:
        return Counter(serial=serial, first=errors, first_seen=today, last=errors, last_seen=today)
    # one of a clock that was ahead would be new for years
    grown = today if errors > before.last or (before.grown or "") > today else before.grown
    return before.model_copy(update={"last": errors, "last_seen": today, "grown": grown})
