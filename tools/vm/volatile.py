# SPDX-License-Identifier: Apache-2.0
"""What a drive with a volatile write cache still has after a power cut.

On the drive is what was completed before a flush was issued that was completed before the cut, and each FUA write that
was completed. Of everything else that was issued any part may be there. What was issued later is not.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from millrace.system.errors import BadInput
from vm.blocktrace import Kind, Request
from vm.qemu import SECTOR
from vm.writelog import Entry, Part


@dataclass(frozen=True)
class Write:
    """A write or discard: its data, and when the guest issued it and had it completed."""

    entry: Entry
    request: Request


@dataclass(frozen=True)
class Cache:
    """What of a volatile cache reached the drive: this share of its writes, or of their blocks of `block` bytes."""

    share: float
    torn: bool = False
    block: int = 4096


@dataclass(frozen=True)
class Drive:
    """Everything that was asked of a drive: writes in the order of its log, and flushes."""

    writes: Sequence[Write]
    flushes: Sequence[Request]

    def flushed(self, cut: int) -> int:
        """Return the time up to which completed writes were flushed at a cut; -1 before the first flush."""
        ended = [one.issued for one in self.flushes if one.completed is not None and one.completed < cut]
        return max(ended, default=-1)

    def issued(self, cut: int) -> Iterator[tuple[Write, bool]]:
        """Return each write that was issued before a cut and whether it is durable, in the order of the log."""
        flushed = self.flushed(cut)
        for one in self.writes:
            if one.request.issued < cut:
                completed = cut if one.request.completed is None else one.request.completed
                yield one, completed < cut and (one.request.fua or completed < flushed)

    def parts(self, cut: int, cache: Cache, random: Random) -> Iterator[Part]:
        """Return what is on the drive after a power cut, in the order of the log."""
        for one, durable in self.issued(cut):
            if durable:
                yield Part(one.entry, 0, one.entry.count)
            else:
                yield from _survivors(one.entry, cache, random)

    def volatile(self, cut: int) -> int:
        """Return how many writes may be lost at a cut."""
        return sum(not durable for _, durable in self.issued(cut))


def _survivors(entry: Entry, cache: Cache, random: Random) -> Iterator[Part]:
    step = cache.block // SECTOR if cache.torn else entry.count
    for first in range(0, entry.count, step):
        if random.random() < cache.share:
            yield Part(entry, first, min(step, entry.count - first))


def match(entries: Sequence[Entry], requests: Sequence[Request]) -> Drive:
    """Bring a drive's log and the guest's trace together: the n-th request for a range is the n-th entry for it.

    What the log has after the trace's end is left out. BadInput: something else is in one of the two alone.
    """
    waiting: dict[tuple[bool, int, int], list[Request]] = defaultdict(list)
    for request in reversed(requests):
        if request.kind is not Kind.FLUSH:
            waiting[request.kind is Kind.DISCARD, request.sector, request.count].append(request)
    writes: list[Write] = []
    strangers: list[Entry] = []
    for entry in entries:
        if entry.flush:
            continue
        same = waiting[entry.discard, entry.sector, entry.count]
        if not same:
            strangers.append(entry)
            continue
        if strangers:
            raise BadInput(f"The trace has no request for {strangers[0]}, {len(writes)} writes after the start.")
        writes.append(Write(entry, same.pop()))
    missing = [request for same in waiting.values() for request in same if request.completed is not None]
    if missing:
        raise BadInput(f"The log has no entry for {len(missing)} completed requests: {missing[0]}.")
    return Drive(writes, [request for request in requests if request.kind is Kind.FLUSH])
