# SPDX-License-Identifier: Apache-2.0
"""fio's output as numbers. Pure.

With --status-interval fio prints JSON documents one after the other, possibly with lines of text before them (fio
3.41). Percentiles are read off the sum of all histograms, never averaged; a sum of bins gives fio's own figures.
"""

import errno
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from millrace.measure.bench.result.model import Accelerators, Direction, Latency
from millrace.system.errors import Failed
from millrace.system.text import one_line
from millrace_client.au import RETIRED

Document = dict[str, Any]

# A job whose runtime rounds to so few of fio's milliseconds is timed by the sum of its latencies.
COARSE = 0.1
NANO = 1e-9


def _finite(text: str) -> float:
    """Return a number. ValueError: JSON has no such number although Python parses it, or it is out of range."""
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a number")
    return number


def _counted(text: str) -> int:
    """A whole number as fio counts, in 64 bits; ValueError for a larger one."""
    if abs(number := int(text)) >= 1 << 64:
        raise ValueError(f"{text[:20]}… is not a number of fio")
    return number


_DECODER = json.JSONDecoder(parse_float=_finite, parse_int=_counted, parse_constant=_finite)
_ERROR = re.compile(r"^fio: (.*)", re.MULTILINE)
_FULL = re.compile(r"No space left on device|Disk quota exceeded")


class Full(Failed):
    """The pool, or the quota of the benchmark, is full."""


class Stream:
    """Documents in the output of fio, as soon as they are complete."""

    def __init__(self) -> None:
        self._text = ""

    def feed(self, text: str) -> list[Document]:
        """Return the documents that this piece of output completes."""
        self._text += text
        # A document ends at the beginning of a line: no need to parse megabytes at each piece.
        if "\n}" not in self._text:
            return []
        found, self._text = _split(self._text)
        return found

    @property
    def rest(self) -> str:
        """The output that is not yet part of a complete document."""
        return self._text


def documents(text: str) -> list[Document]:
    """Return all complete documents of an output; text between them is skipped."""
    return _split(text)[0]


def final(text: str, status: int, errors: str) -> Document:
    """Return the last document of a fio that ended with `status` and printed `errors` on stderr.

    Failed: fio did not get to its end, or a job of it reports an error. Full: there was no space.
    """
    reports, rest = _split(text)
    complaint = _complaint(errors) or _complaint(text)
    if complaint and _FULL.search(complaint):
        raise Full(f"the pool or the quota of the benchmark is full: {complaint}")
    if rest.lstrip().startswith("{"):
        raise Failed(f"fio ended in the middle of its report (status {status}){_after(complaint)}")
    if not reports:
        raise Failed(f"fio ended without a report (status {status}){_after(complaint)}")
    wrong = [job for job in jobs(reports[-1]) if job.get("error")]
    if any(job["error"] in (errno.ENOSPC, errno.EDQUOT) for job in wrong):
        raise Full("the pool or the quota of the benchmark is full")
    if wrong:
        names = ", ".join(sorted({str(job["jobname"]) for job in wrong}))
        raise Failed(f"fio's job {names} ended with error {wrong[0]['error']}{_after(complaint)}")
    if status != 0:
        raise Failed(f"fio ended with status {status}{_after(complaint)}")
    if not jobs(reports[-1]):
        raise Failed(f"fio ended without a result{_after(complaint)}")
    return reports[-1]


def jobs(document: Document) -> list[Document]:
    """Return the jobs of a document."""
    found: list[Document] = document.get("jobs", [])
    return found


@dataclass
class Histogram:
    """Latencies in nanoseconds and how often each was measured. `total` is the sum of all of them."""

    bins: Counter[int] = field(default_factory=Counter)
    total: float = 0
    low: float | None = None
    high: float | None = None

    def add(self, document: Document) -> None:
        """Add the histogram of one job. ValueError: it counts less than nothing."""
        count = _count(document.get("N", 0))
        if not count:
            return
        self.bins.update({int(value): _count(times) for value, times in document.get("bins", {}).items()})
        self.total += float(document["mean"]) * count
        self.low = min(float(document["min"]), self.low if self.low is not None else float(document["min"]))
        self.high = max(float(document["max"]), self.high or 0)

    def merge(self, other: "Histogram") -> None:
        """Add all of another one."""
        self.bins.update(other.bins)
        self.total += other.total
        lows = [one for one in (self.low, other.low) if one is not None]
        highs = [one for one in (self.high, other.high) if one is not None]
        self.low, self.high = min(lows, default=None), max(highs, default=None)

    @property
    def count(self) -> int:
        """How many latencies were measured."""
        return sum(self.bins.values())

    def percentile(self, percent: float) -> float:
        """Return the nanoseconds that so many per cent did not exceed, in the way fio reads it off its bins."""
        wanted, seen = percent / 100 * self.count, 0
        value = 0
        for value in sorted(self.bins):
            seen += self.bins[value]
            if seen >= wanted:
                break
        return float(value)

    def latency(self, direction: Direction) -> Latency | None:
        """Return the percentiles in seconds; None where nothing was measured."""
        if not self.count or self.low is None or self.high is None:
            return None
        return Latency(
            direction=direction,
            count=self.count,
            mean=self.total / self.count * NANO,
            low=self.low * NANO,
            high=self.high * NANO,
            p50=self.percentile(50) * NANO,
            p95=self.percentile(95) * NANO,
            p99=self.percentile(99) * NANO,
            p999=self.percentile(99.9) * NANO,
        )


@dataclass
class Flow:
    """One direction of one or more jobs: bytes, operations, bytes/s, operations/s, and how long each took."""

    bytes: int = 0
    count: int = 0
    bandwidth: float = 0
    operations: float = 0
    slowest: float = 0
    short: int = 0
    histogram: Histogram = field(default_factory=Histogram)

    def merge(self, other: "Flow") -> None:
        """Add jobs that ran beside these."""
        self.bytes += other.bytes
        self.count += other.count
        self.bandwidth += other.bandwidth
        self.operations += other.operations
        self.slowest = max(self.slowest, other.slowest)
        self.short += other.short
        self.histogram.merge(other.histogram)


@dataclass
class RepeatOutcome:
    """One repeat: its flows by direction, the same by the name of each job, or client, and fio's own words.

    `accelerators` are those that were kept busy.
    """

    flows: dict[Direction, Flow] = field(default_factory=dict)
    parts: dict[str, Flow] = field(default_factory=dict)
    accelerators: list[Accelerators] = field(default_factory=list)
    raw: Document = field(default_factory=dict)

    def merge(self, other: "RepeatOutcome") -> None:
        """Add what ran at the same time elsewhere."""
        for direction, flow in other.flows.items():
            self.flows.setdefault(direction, Flow()).merge(flow)
        for name, flow in other.parts.items():
            self.parts.setdefault(name, Flow()).merge(flow)


def outcome(document: Document, as_direction: Direction | None = None) -> RepeatOutcome:
    """Return the sum of all jobs of a document.

    `as_direction` is the name of the one active direction where fio has no word for it (file engines count as writes).
    A direction without operations is omitted.
    """
    total = RepeatOutcome(raw=document)
    for job in jobs(document):
        name = str(job["jobname"])
        for direction, flow in _flows(job, as_direction):
            total.flows.setdefault(direction, Flow()).merge(flow)
            if direction != "commit":
                total.parts.setdefault(name, Flow()).merge(flow)
    for accelerator in document.get("accelerators", []):
        fields = {name: accelerator[name] for name in ("accelerator", "count", "au", "bandwidth")}
        total.accelerators.append(
            Accelerators(**fields, floor=100 * accelerator["floor"], retired=accelerator["accelerator"] in RETIRED)
        )
    return total


def _flows(job: Document, as_direction: Direction | None) -> Iterator[tuple[Direction, Flow]]:
    ways: tuple[Direction, Direction] = ("read", "write")
    for way in ways:
        document = job.get(way, {})
        if int(document.get("total_ios", 0)):
            yield as_direction or way, _flow(document)
    sync = job.get("sync", {})
    if int(sync.get("total_ios", 0)):
        flow = Flow(count=int(sync["total_ios"]))
        flow.histogram.add(sync["lat_ns"])
        seconds = max(float(job.get(way, {}).get("runtime", 0)) for way in ways) / 1000
        flow.operations = flow.count / seconds if seconds else 0
        yield "commit", flow


def _count(value: Any) -> int:
    """A number of things; a client may send any."""
    number = int(value)
    if number < 0:
        raise ValueError(f"{number} things were counted")
    return number


def _flow(document: Document) -> Flow:
    latencies = document.get("clat_ns", {})
    if not latencies.get("bins"):
        latencies = document.get("lat_ns", {})
    flow = Flow(
        bytes=_count(document["io_bytes"]),
        count=_count(document["total_ios"]),
        short=_count(document.get("short_ios", 0)),
    )
    flow.histogram.add(latencies)
    flow.slowest = float(document["runtime"]) / 1000
    if flow.slowest < COARSE and flow.histogram.total:
        flow.slowest = flow.histogram.total * NANO
    if flow.slowest:
        flow.bandwidth, flow.operations = flow.bytes / flow.slowest, flow.count / flow.slowest
    return flow


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """Return the sum of histograms."""
    total = Histogram()
    for one in histograms:
        total.merge(one)
    return total


def _split(text: str) -> tuple[list[Document], str]:
    """Whole documents, and what is left: text, or the beginning of a document."""
    reports: list[Document] = []
    place = 0
    while (start := _begin(text, place)) >= 0:
        try:
            document, place = _DECODER.raw_decode(text, start)
        except ValueError:
            return reports, text[start:]
        reports.append(document)
    return reports, text[place:]


def _begin(text: str, place: int) -> int:
    """Where the next document begins: a brace at the beginning of a line."""
    if text.startswith("{", place):
        return place
    hit = text.find("\n{", place)
    return hit + 1 if hit >= 0 else -1


def _complaint(errors: str) -> str:
    lines: Sequence[str] = _ERROR.findall(errors)
    # kept in the result of a run and shown; it may be the words of a client
    return one_line(lines[0].strip()) if lines else ""


def _after(complaint: str) -> str:
    return f": {complaint}" if complaint else ""
