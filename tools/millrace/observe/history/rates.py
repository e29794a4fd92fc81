# SPDX-License-Identifier: Apache-2.0
"""Two readings make the values between them. Pure functions."""

from collections import defaultdict
from collections.abc import Mapping

from millrace.observe.history.readings import CounterStream, Readings
from millrace.observe.history.series import KINDS, Key

LONGEST = 300.0
"""Readings further apart, in seconds, say nothing of the last minute."""
WRAP = 2**32
# net/sunrpc/stats.c counts calls in 32 bits
NARROW = {"nfs-operations"}


def values(before: Readings | None, now: Readings, figures: Mapping[Key, float]) -> dict[Key, float]:
    """Return the value of each series: rates and means since `before`, and `figures`; of each kind the largest.

    What is not known is omitted: a counter that went back belongs to a server that was started again.
    """
    amounts = dict(figures)
    seconds = now.uptime - before.uptime if before else 0.0
    if before and 0 < seconds <= LONGEST:
        amounts |= _rates(before, now, seconds) | _means(before, now) | _streams(before, now, seconds)
    return _largest(amounts)


def _rates(before: Readings, now: Readings, seconds: float) -> dict[Key, float]:
    amounts = {}
    for name, new in now.counters.items():
        old = before.counters.get(name)
        if old is None:
            continue
        grown = new - old
        if grown < 0 and name in NARROW and old < WRAP and grown + WRAP < WRAP / 2:
            grown += WRAP
        if grown >= 0:
            amounts[_key(name)] = grown / seconds
    return amounts


def _means(before: Readings, now: Readings) -> dict[Key, float]:
    amounts = {}
    for name, (total, count) in now.means.items():
        old = before.means.get(name)
        if old and count > old[1] and total >= old[0]:
            amounts[_key(name)] = (total - old[0]) / (count - old[1])
    return amounts


def _streams(before: Readings, now: Readings, seconds: float) -> dict[Key, float]:
    """One that was not there before began since, at 0; bytes of one that ended since its last reading are lost."""
    amounts: defaultdict[Key, float] = defaultdict(float)
    for name, new in now.streams.items():
        if new.source not in before.sources:
            continue
        prefix, _, label = new.of.partition("/")
        counts, old = _counts(new), before.streams.get(name)
        earlier = _counts(old) if old and old.began == new.began else {}
        if any(counts[word] < count for word, count in earlier.items()):
            earlier = {}
        for word, count in counts.items():
            amounts[f"{prefix}-{word}", label] += (count - earlier.get(word, 0)) / seconds
    return {key: value for key, value in amounts.items() if value}


def _counts(stream: CounterStream) -> dict[str, int]:
    counted = {} if stream.operations is None else {"operations": stream.operations}
    return {"read": stream.read, "write": stream.written, **counted}


def _largest(amounts: Mapping[Key, float]) -> dict[Key, float]:
    """As many of each kind as are kept; shares and clients by what they read and wrote together, or by operations."""
    both: defaultdict[Key, float] = defaultdict(float)
    for (name, label), value in amounts.items():
        both[_family(name), label] += value
    kept = dict[Key, float]()
    for kind in KINDS.values():
        labels = sorted(
            (key[1] for key in amounts if key[0] == kind.name), key=lambda of: -both[_family(kind.name), of]
        )
        kept |= {(kind.name, label): amounts[kind.name, label] for label in labels[: kind.most]}
    return kept


def _family(name: str) -> str:
    return f"{name.partition('-')[0]} {KINDS[name].unit}" if KINDS[name].ranked else name


def _key(name: str) -> Key:
    kind, _, label = name.partition("/")
    return kind, label
