# SPDX-License-Identifier: Apache-2.0
"""The history of a span, from memory and from the pool."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from millrace.observe.history import history_paths, pool_copy
from millrace.observe.history.database import HistoryFile
from millrace.observe.history.forecast import MOST, forecast
from millrace.observe.history.model import CapacityForecast, HistoryReport, HistorySeries
from millrace.observe.history.sampler import KEPT
from millrace.observe.history.series import DAY, HOUR, KINDS, MINUTE, WITNESS, Key, SeriesKind
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import known_pool
from millrace.system import heartbeat, paths
from millrace.system.errors import BadInput, MillraceError
from millrace.system.mounts import mounted
from millrace.system.text import duration, shown

POINTS = 240
"""Points of a series unless asked for otherwise; as many as a chart of a page can show."""
MOST_POINTS = 1500
LATE = 3 * HOUR
"""Seconds after which a copy on the pool is late: it is made every hour."""
CAPACITY = ("pool-used", "pool-size")


@dataclass(frozen=True)
class _Span:
    """The steps that are asked for, in seconds; `is_day` where they are of minutes."""

    since: int
    step: int
    count: int
    is_day: bool

    def holds(self, kind: SeriesKind) -> int:
        """How long a value stands until the next one is due; 0 where each step has its own."""
        every = kind.every if self.is_day else kind.slot
        return every if every > self.step and not kind.ranked else 0


@dataclass
class _Step:
    """The values of one series in one step."""

    total: float = 0.0
    count: int = 0
    peak: float = 0.0

    def add(self, mean: float, peak: float) -> None:
        self.peak = max(self.peak, peak) if self.count else peak
        self.total, self.count = self.total + mean, self.count + 1


@dataclass
class _Sources:
    """The open files, and what could not be read."""

    memory: HistoryFile | None = None
    pool: HistoryFile | None = None
    notes: list[str] = field(default_factory=list)

    def each(
        self, read: Callable[[HistoryFile], Iterator[tuple[int, Key, float, float]]]
    ) -> list[tuple[int, Key, float, float]]:
        """Return what `read` returns of both files; what is in both counts once."""
        by_series: dict[tuple[int, Key], tuple[float, float]] = {}
        for database in (self.pool, self.memory):
            try:
                for at, key, mean, peak in read(database) if database else ():
                    by_series[at, key] = (mean, peak)
            except MillraceError as error:
                self.notes.append(str(error))
        return [(at, key, *values) for (at, key), values in by_series.items()]

    def close(self) -> None:
        """Close both."""
        for database in (self.memory, self.pool):
            if database:
                database.__exit__(None, None, None)


def history(names: Sequence[str], seconds: int, points: int = POINTS, now: float | None = None) -> HistoryReport:
    """Return series of the last `seconds`, in at most `points` steps.

    `names` are kinds, their beginnings, or `KIND:OF`; none are all. BadInput: no series has such a name, or the record
    of the pool cannot be read.
    """
    at = datetime.now(UTC).timestamp() if now is None else now
    kinds, labels = _chosen(names)
    sources = _opened()
    try:
        width = MINUTE if seconds <= DAY else HOUR
        step = -(-seconds // points // width) * width or width
        step = max(step, width)
        since = int(at - seconds) // step * step
        count = int(at) // step - since // step + 1
        span = _Span(since, step, count, seconds <= DAY)
        by_series = _steps(sources, kinds, span, int(at))
        series = [figure for kind in kinds for figure in _of_kind(kind, labels, by_series, span)]
        stored = sources.pool.newest() if sources.pool else None
        if stored is not None and at - stored > LATE:
            sources.notes.append(
                f"the last copy on the pool is {duration(at - stored)} old: systemctl status millrace-keep"
            )
        return HistoryReport(
            at=at,
            since=since,
            step=step,
            series=series,
            forecast=_forecast(sources, at) if any(kind.name in CAPACITY for kind in kinds) else None,
            stored=stored,
            notes=list(dict.fromkeys(sources.notes)),
        )
    finally:
        sources.close()


def _chosen(names: Sequence[str]) -> tuple[list[SeriesKind], dict[str, set[str]]]:
    """The kinds that are asked for, and the labels of those that are asked for by label."""
    if not names:
        return list(KINDS.values()), {}
    chosen, labels = dict[str, SeriesKind](), defaultdict[str, set[str]](set)
    for name in names:
        start, _, label = name.partition(":")
        some = [kind for kind in KINDS.values() if kind.name == start or kind.name.startswith(f"{start}-")]
        if not some:
            raise BadInput(f"no series is called {shown(name)}: there are {', '.join(KINDS)}")
        for kind in some:
            chosen[kind.name] = kind
            if label:
                labels[kind.name].add(label)
    return [kind for kind in KINDS.values() if kind.name in chosen], dict(labels)


def _opened() -> _Sources:
    sources = _Sources()
    memory = history_paths.history_file() if os.geteuid() == 0 else history_paths.history_view_file()
    if memory.exists():
        with suppress(MillraceError):
            sources.memory = HistoryFile(memory)
    if sources.memory is None:
        sources.notes.append("nothing has been kept since this server was started")
    pool = known_pool()
    if pool is None:
        sources.notes.append("without a pool, the history is that of this boot, for one day")
        return sources
    if why := _unread(pool):
        sources.notes.append(why)
        return sources
    try:
        sources.pool = HistoryFile(_file(pool))
    except MillraceError as error:
        sources.notes.append(str(error))
    return sources


def _file(pool: Pool) -> Path:
    return pool_copy.file(paths.ROOT / pool.filesystem.mountpoint.lstrip("/"))


def _unread(pool: Pool) -> str | None:
    """Why the copy on the pool is not read; a pool that hangs would hold who reads."""
    beat = heartbeat.last()
    if os.geteuid() != 0:
        return "more than the last day requires root"
    if mounted(pool.filesystem.mountpoint) is None:
        return "the history on the pool is not read: the pool is not mounted"
    if beat is not None and beat.known and beat.error == "":
        return "the history on the pool is not read: the pool does not answer"
    if not _file(pool).exists():
        return "no copy of the history is on the pool yet: it is made every hour"
    return None


def _steps(sources: _Sources, kinds: Sequence[SeriesKind], span: _Span, end: int) -> dict[Key, dict[int, _Step]]:
    """The values of each series by the time at which their step begins, with those that hold at the beginning."""
    since = span.since - max(span.holds(kind) for kind in kinds)
    names = {*(kind.name for kind in kinds), WITNESS[0]}
    by_series: defaultdict[Key, dict[int, _Step]] = defaultdict(dict)

    def minutes(first: int) -> list[tuple[int, Key, float, float]]:
        return sources.each(lambda file: ((at, key, value, value) for at, key, value in file.rows(first, names)))

    if span.is_day:
        values = minutes(since)
    else:
        values = sources.each(lambda file: file.slots(since, names))
        # a clock that was ahead has left hours that are yet to come
        done = max((at for at, key, *_ in values if key == WITNESS and at <= end), default=0) + HOUR
        recent = [(at, key, mean) for at, key, mean, _ in minutes(max(done, end - KEPT)) if at >= done]
        values += pool_copy.slots(recent)
    for at, key, mean, peak in sorted(values, key=lambda value: value[0]):
        if at <= end:
            by_series[key].setdefault(at // span.step * span.step, _Step()).add(mean, peak)
    return by_series


def _of_kind(
    kind: SeriesKind, labels: dict[str, set[str]], by_series: dict[Key, dict[int, _Step]], span: _Span
) -> list[HistorySeries]:
    wanted = labels.get(kind.name)
    keys = [key for key in by_series if key[0] == kind.name and (wanted is None or key[1] in wanted)]
    witness = by_series.get(WITNESS, {})
    series = [_series(kind, key, by_series[key], witness if kind.ranked else {}, span) for key in keys]
    if kind.ranked:
        return sorted(series, key=lambda line: -(line.mean or 0.0))[: kind.most]
    return sorted(series, key=lambda line: line.of)


def _series(
    kind: SeriesKind, key: Key, steps: dict[int, _Step], witness: dict[int, _Step], span: _Span
) -> HistorySeries:
    points: list[float | None] = []
    peaks: list[float] = []
    holds = span.holds(kind)
    value: float | None
    held: float | None = None
    until = 0
    for at in range(span.since - holds // span.step * span.step, span.since + span.count * span.step, span.step):
        there, all_of = steps.get(at), witness.get(at)
        if there is not None:
            value = there.total / max(there.count, all_of.count if all_of else 0)
            held, until = value, at + holds
        elif at < until:
            value = held
        else:
            value = 0.0 if all_of else None
        if at >= span.since:
            points.append(value)
            peaks += [there.peak] if there is not None else [] if value is None else [value]
    known = [point for point in points if point is not None]
    return HistorySeries(
        name=kind.name,
        of=key[1],
        unit=kind.unit,
        points=points,
        mean=sum(known) / len(known) if known else None,
        peak=max(peaks, default=None),
        last=known[-1] if known else None,
    )


def _forecast(sources: _Sources, now: float) -> CapacityForecast:
    since = int(now) - (MOST + 1) * DAY
    slots = sources.each(lambda file: file.slots(since, CAPACITY))
    rows = sources.each(lambda file: ((at, key, value, value) for at, key, value in file.rows(since, CAPACITY)))
    values = {(key[0], at): mean for at, key, mean, _ in [*slots, *rows] if at <= now}
    used = {at: value for (name, at), value in values.items() if name == "pool-used"}
    sizes = sorted((at, value) for (name, at), value in values.items() if name == "pool-size")
    return forecast(used, sizes[-1][1] if sizes else None, now)
