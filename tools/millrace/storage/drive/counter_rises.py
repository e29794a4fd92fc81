# SPDX-License-Identifier: Apache-2.0
"""On which days the counters of the hardware rose: memory errors, link errors, heat (`/var/lib/millrace/rises.json`).

Most of them begin again at each start, and what happened an hour before a restart must not be forgotten with it. The
SMART readings record them every few minutes; the health check adds what has come since.
"""

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Literal

from pydantic import Field

from millrace.storage.drive import drive_records
from millrace.system import boot, paths
from millrace.system.documents import Contract

KEPT_DAYS = timedelta(days=31)
KEPT = 2048
"""Counters in the document: four of each end of the links of a full server, and those of drives that left."""

LIFETIME = ""
"""The boot of counters that a device keeps by itself, for its life."""


RisenDays = Mapping[str, Mapping[date, int]]
"""The days on which counters rose and by how much, by key."""


class Rise(Contract):
    """So many more on a day."""

    day: date
    count: int


class RisingCounter(Contract):
    """One counter: its last value, in which boot, and the days on which it rose, in order."""

    key: str
    boot: str
    last: int
    days: list[Rise] = Field(default_factory=list)


class Rises(Contract):
    """All counters, those that rose or were read last at the end."""

    schema_version: Literal[1] = 1
    counters: list[RisingCounter] = Field(default_factory=list)


def load() -> Rises:
    """Return the record; an empty one where the document is missing or cannot be parsed."""
    return drive_records.load(paths.rises_file(), Rises())


def save(rises: Rises) -> None:
    """Write the record, or warn on stderr where that fails."""
    drive_records.save(paths.rises_file(), rises)


def boot_id() -> str:
    """Return the kernel's id of this boot, "unknown" where it cannot be read."""
    return boot.boot_id() or "unknown"


def count(before: Rises, now: Mapping[str, int], boot: str, today: date) -> Rises:
    """Return the record with the counters of now; `boot` is LIFETIME for those that outlive a boot. Pure."""
    found = {one.key: one for one in before.counters}
    for key, value in now.items():
        if not value and key not in found and boot != LIFETIME:
            continue
        # behind the others: what is not read any more is forgotten first
        found[key] = _counted(found.pop(key, None), key, value, boot, today)
    return Rises(counters=list(found.values())[-KEPT:])


def days(rises: Rises, now: Mapping[str, int], boot: str, today: date, last: int) -> dict[str, dict[date, int]]:
    """Return on which of the `last` days each counter of `now` rose and by how much; those that did not are left out.

    Pure. The record is not changed.
    """
    counters = {counter.key: counter for counter in rises.counters if counter.key in now}
    since = today - timedelta(days=last - 1)
    risen = {}
    for key, value in now.items():
        counted = _counted(counters.get(key), key, value, boot, today)
        recent = {rise.day: rise.count for rise in counted.days if since <= rise.day <= today}
        if recent:
            risen[key] = recent
    return risen


def recorded(rises: Rises, keys: Iterable[str], today: date, last: int) -> dict[str, int]:
    """Return by how much counters rose in the `last` days, from the record alone. Pure."""
    since = today - timedelta(days=last - 1)
    sums = {one.key: sum(each.count for each in one.days if since <= each.day <= today) for one in rises.counters}
    return {key: sums[key] for key in keys if sums.get(key)}


def _counted(before: RisingCounter | None, key: str, value: int, boot: str, today: date) -> RisingCounter:
    if before is None:
        # what a drive counted before it came here is not new
        more = 0 if boot == LIFETIME else value
        past: list[Rise] = []
    else:
        went_on = before.boot == boot and value >= before.last
        restarted = 0 if boot == LIFETIME else value
        more = value - before.last if went_on else restarted
        # a day that is yet to come was recorded while the clock was wrong
        past = [rise for rise in before.days if today - KEPT_DAYS <= rise.day <= today]
    if more and past and past[-1].day == today:
        past = [*past[:-1], Rise(day=today, count=past[-1].count + more)]
    elif more:
        past = [*past, Rise(day=today, count=more)]
    return RisingCounter(key=key, boot=boot, last=value, days=past)
