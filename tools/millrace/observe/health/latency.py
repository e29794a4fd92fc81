# SPDX-License-Identifier: Apache-2.0
"""Drives of the pool that answer far later than their neighbours, or not at all (`/run/millrace/latency.json`).

A drive may retry, remap and reset itself for months before it fails, and each row of an array waits for its slowest
drive. The kernel counts requests and their time for each block device, so that two readings give the mean of all
requests between them. Every health check that writes its result takes one.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Literal

from pydantic import Field

from millrace.observe.health.host import Host
from millrace.plan.model import Role
from millrace.storage.array.devices import array_device, block
from millrace.storage.record.model import Pool
from millrace.system import paths, sysfs
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import MillraceError

FACTOR = 4.0
"""A drive is slow where its mean is above so many times the median of its neighbours.

Drives of one model under one stripe differ by less than 2; one that collects garbage by 3 for a while.
"""
FINE = 2.0
"""A drive that was slow is not any more below so many times the median: between the two nothing changes."""
FLOOR_MS = 5.0
"""No drive is slow that answers within this time, however quick the others are: an NVMe drive takes 0.1 ms for a read
and 20 ms under a queue that is full, so that a drive of 5 ms beside others of 0.1 ms is one that retries."""
ENOUGH = 100
"""Requests of one kind between two readings from which a mean is taken: a few slow ones are no mean."""
NEIGHBOURS = 3
"""Other drives with enough requests that a median is taken of. The two drives of a log have none."""
TIMES = 6
"""Readings with a slow drive before it is reported, and with a quick one before that ends: three minutes each."""
LEAST_SECONDS, MOST_SECONDS = 10.0, 300.0
"""Readings between which a mean is taken: a shorter time has too few requests, a longer one hides what happens now."""

SILENT_MS = 5000.0
"""A drive whose requests take so long on average does not work any more: no queue of an NVMe drive is that long."""
FIELDS = 17

Direction = Literal["reads", "writes"]


@dataclass(frozen=True)
class Requests:
    """What the kernel counts of one drive: requests that are finished, the milliseconds of all, those in flight."""

    reads: int
    read_ms: int
    writes: int
    write_ms: int
    finished: int
    in_flight: int


@dataclass(frozen=True)
class CounterReading:
    """The counters of one drive; `array` is the data array of which it is a member in sync, empty for all others."""

    serial: str
    name: str
    array: str
    reads: int
    read_ms: int
    writes: int
    write_ms: int
    finished: int
    in_flight: int


class DriveLatency(Contract):
    """One drive: the counters of the last reading, and what the readings say.

    `score` rises with each reading in which the drive is slow and falls with each in which it is not. Where `slow`,
    `direction` took `latency_ms` when its neighbours took `neighbours_ms`. `silent_seconds`: so long it has had
    requests and finished none, or only after seconds.
    """

    serial: str
    name: str
    reads: int
    read_ms: int
    writes: int
    write_ms: int
    finished: int
    in_flight: int
    score: int = 0
    slow: bool = False
    direction: Direction | None = None
    latency_ms: float | None = None
    neighbours_ms: float | None = None
    silent_seconds: float = 0.0


class Latencies(Contract):
    """All drives of the pool, at `uptime` seconds after the boot."""

    schema_version: Literal[1] = 1
    uptime: float
    drives: list[DriveLatency] = Field(default_factory=list)


@dataclass(frozen=True)
class Means:
    """The means of one drive between two readings in milliseconds, by direction, where there were enough requests."""

    array: str
    of: Mapping[Direction, float]


def write(host: Host, uptime: float | None = None) -> None:
    """Read the counters of the drives of the pool and write what they say; nothing without a pool."""
    try:
        pool = host.pool
    except MillraceError:
        return
    if pool is None or pool.backend != "md":
        return
    now = time.monotonic() if uptime is None else uptime
    latencies = compared(last(), readings(host, pool), now)
    write_model(paths.latency_file(), latencies)


def last() -> Latencies | None:
    """Return what was written last; None where there is nothing, or nothing that can be parsed."""
    try:
        return read_model(paths.latency_file(), Latencies)
    except MillraceError:
        return None


def readings(host: Host, pool: Pool) -> list[CounterReading]:
    """Return the counters of the pool's drives that are there; no drive is asked."""
    members = _members(pool)
    here = [one for one in host.drives if one.name in members and one.serial]
    return [CounterReading(one.serial, one.name, members[one.name], **asdict(requests(one.name))) for one in here]


def requests(name: str) -> Requests:
    """Return what the kernel counts of a drive by its kernel name; zeros for one that is not there."""
    words = (sysfs.text(paths.ROOT / "sys/block" / name / "stat") or "").split()
    # Documentation/admin-guide/iostats.rst; discards and flushes came later
    numbers = [int(one) for one in words if one.isdecimal()] + [0] * FIELDS
    finished = numbers[0] + numbers[4] + numbers[11] + numbers[15]
    return Requests(numbers[0], numbers[3], numbers[4], numbers[7], finished, numbers[8])


def compared(before: Latencies | None, now: Sequence[CounterReading], uptime: float) -> Latencies:
    """Return what is known after a reading. Pure."""
    passed = uptime - before.uptime if before else 0.0
    if before and 0 <= passed < LEAST_SECONDS:
        return before
    known = {one.serial: one for one in before.drives} if before and passed > 0 else {}
    recent = known if passed <= MOST_SECONDS else {}
    means = {one.serial: _means(recent[one.serial], one) for one in now if one.array and one.serial in recent}
    return Latencies(uptime=uptime, drives=[_judged(known.get(one.serial), one, means, passed) for one in now])


def _members(pool: Pool) -> dict[str, str]:
    """The drives of the pool by kernel name, and the data array that each is a member of in sync; else empty.

    One that is being filled, or read to be replaced, does other work than its neighbours.
    """
    members: dict[str, str] = {}
    for record in pool.arrays:
        device = None if record.array.over_arrays else array_device(record.array.name)
        if device is None:
            continue
        md = block(device) / "md"
        for entry in sysfs.names(md):
            if not entry.startswith("dev-"):
                continue
            part = block(entry.removeprefix("dev-")).resolve()
            drive = part.parent.name if (part / "partition").exists() else part.name
            alike = record.array.role is Role.DATA and sysfs.text(md / entry / "state") == "in_sync"
            members[drive] = record.array.name if alike else members.get(drive, "")
    return members


def _means(before: DriveLatency, now: CounterReading) -> Means:
    means: dict[Direction, float] = {}
    pairs: list[tuple[Direction, int, int]] = [
        ("reads", now.reads - before.reads, now.read_ms - before.read_ms),
        ("writes", now.writes - before.writes, now.write_ms - before.write_ms),
    ]
    for direction, count, ms in pairs:
        # a drive that came back under its name counts from 0
        if count >= ENOUGH and ms >= 0:
            means[direction] = ms / count
    return Means(now.array, means)


def _judged(
    before: DriveLatency | None, now: CounterReading, means: Mapping[str, Means], passed: float
) -> DriveLatency:
    counters = {name: value for name, value in asdict(now).items() if name != "array"}
    kept = before or DriveLatency(**counters)
    slow, fine = _worst(now.serial, means)
    score = min(kept.score + 1, TIMES) if slow else max(kept.score - 1, 0) if fine else kept.score
    direction, latency, neighbours = slow or (kept.direction, kept.latency_ms, kept.neighbours_ms)
    said = {"direction": direction, "latency_ms": latency, "neighbours_ms": neighbours}
    state = {"score": score, "slow": score == TIMES or (kept.slow and score > 0)}
    return kept.model_copy(update={**counters, **said, **state, "silent_seconds": _silent(before, now, passed)})


def _worst(serial: str, means: Mapping[str, Means]) -> tuple[tuple[Direction, float, float] | None, bool]:
    """The direction in which a drive is slow, its mean and the median of the others; else whether it is quick."""
    own, judged, fine = means.get(serial, Means("", {})), False, True
    worst: tuple[Direction, float, float] | None = None
    for direction, mean in own.of.items():
        # a leg that is rebuilt or checked does other work than the one beside it
        beside = [neighbour for other, neighbour in means.items() if other != serial and neighbour.array == own.array]
        others = [neighbour.of[direction] for neighbour in beside if direction in neighbour.of]
        if len(others) < NEIGHBOURS:
            continue
        judged, middle = True, median(others)
        if mean > max(FLOOR_MS, FACTOR * middle) and (worst is None or mean > worst[1]):
            worst = (direction, mean, middle)
        fine = fine and mean <= max(FLOOR_MS, FINE * middle)
    return worst, judged and fine


def _silent(before: DriveLatency | None, now: CounterReading, passed: float) -> float:
    if before is None:
        return 0.0
    if passed > MOST_SECONDS:
        return before.silent_seconds
    stuck = before.in_flight > 0 and now.in_flight > 0 and now.finished == before.finished
    # kernel 7.2 counts a request as finished when a reset of the controller takes it back (nvme_failover_req)
    count = now.reads + now.writes - before.reads - before.writes
    late = count > 0 and now.read_ms + now.write_ms - before.read_ms - before.write_ms >= SILENT_MS * count
    return before.silent_seconds + passed if stuck or late else 0.0
