# SPDX-License-Identifier: Apache-2.0
"""Where the sectors are that do not match: by the log of the kernel, by the progress of a check, by reading again.

kernel 7.2: raid5.c logs each stripe of 8 sectors that does not match, ten in 5 s at most, as sectors of the data of
each member; raid1.c logs none. mismatch_cnt counts all of them. md.c md_do_sync reports in sync_completed only up to
where everything is read, which it does seldom: what was counted between two of its reports lies between these.
"""

import re
from collections.abc import Iterable, Sequence

from millrace.storage.array import resync
from millrace.storage.array.area import Area, merged
from millrace.storage.record.scrub_record import MismatchRange, ScrubStop
from millrace.storage.scrub.scrub_watch import ScrubWatch
from millrace.system.run import Runner

MOST = 64
"""How many ranges are kept of an array."""

PARTS = 16
"""In how many parts a range is read again to find the place."""

SMALL = 2048
"""Sectors of a range that is not read again: 1 MiB of each member is few files."""

READS = 512
"""How many parts are read again at most: what is still in doubt after them stays a wide range."""

_LOGGED = re.compile(r"(md\d+): mismatch sector in range (\d+)-(\d+)")


def logged(device: str, since: int, run: Runner) -> list[Area]:
    """Return what the kernel has logged of an array since this second of 1970.

    A journal that cannot be read has logged nothing: the places are found by reading again.
    """
    said = run(["journalctl", "--dmesg", "--output=cat", "--no-pager", f"--since=@{since}"])
    found = _LOGGED.findall(said.out) if said.status == 0 else []
    return merged([Area(int(begin), int(end)) for md, begin, end in found if md == device])


class Windows:
    """What a check counts between two reports of its progress."""

    def __init__(self, begin: int) -> None:
        self._closed: list[MismatchRange] = []
        self._open: MismatchRange | None = None
        self._low, self._high, self._seen = begin, begin, 0

    def take(self, device: str) -> bool:
        """Read md; return whether more sectors do not match than before."""
        # in this order: md goes on meanwhile
        low, count, high = resync.completed(device), resync.mismatches(device), resync.completed(device)
        return self.saw(low, count, high)

    def saw(self, low: int, count: int, high: int) -> bool:
        """Take what was read before, at and after the count; return whether it is more. Pure."""
        if self._open is not None and high > self._high:
            self._close(high)
        more = count > self._seen
        if more:
            begin, sectors = (self._open.begin, self._open.sectors) if self._open else (self._low, 0)
            self._open = MismatchRange(begin=begin, end=begin, sectors=sectors + count - self._seen)
            self._high = high
        self._seen, self._low = count, max(self._low, low)
        return more

    def ranges(self, places: Sequence[Area], end: int) -> list[MismatchRange]:
        """Return the places that are known, and windows up to `end` that have more mismatches than known places."""
        last = [self._open.model_copy(update={"end": end})] if self._open is not None else []
        wide = [one for one in [*self._closed, *last] if _inside(places, one) < one.sectors]
        return combined([*map(_exact, places), *wide])

    def _close(self, end: int) -> None:
        if self._open is not None:
            self._closed.append(self._open.model_copy(update={"end": end}))
            self._open = None


def combined(ranges: Iterable[MismatchRange]) -> list[MismatchRange]:
    """Return ranges in their order, those that overlap or touch as one; the nearest as one where they are too many."""
    union: list[MismatchRange] = []
    for mismatch in sorted(ranges, key=lambda each: each.begin):
        if union and mismatch.begin <= union[-1].end:
            union[-1] = _joined(union[-1], mismatch)
        else:
            union.append(mismatch)
    while len(union) > MOST:
        gap = min(range(len(union) - 1), key=lambda at: union[at + 1].begin - union[at].end)
        union[gap : gap + 2] = [_joined(union[gap], union[gap + 1])]
    return union


def is_exact(one: MismatchRange) -> bool:
    """Whether every sector of a range does not match."""
    return one.sectors >= one.end - one.begin


def narrowed(watch: ScrubWatch, ranges: Sequence[MismatchRange]) -> tuple[list[MismatchRange], ScrubStop | None]:
    """Read wide ranges again, part by part, and return what of them does not match, and what stopped this.

    OSError: md refuses.
    """
    mismatches, waiting, reads = (
        [mismatch for mismatch in ranges if is_exact(mismatch)],
        [mismatch for mismatch in ranges if not is_exact(mismatch)],
        0,
    )
    while waiting:
        wide = waiting.pop()
        begin, end = wide.begin - wide.begin % 8, watch.aligned(wide.end)
        step = watch.aligned(max((end - begin) // PARTS, SMALL))
        if watch.aligned(begin + step) >= end or reads >= READS:
            mismatches.append(wide)
            continue
        while begin < end:
            to = min(watch.aligned(begin + step), end)
            count = watch.window(resync.CHECK, begin, to)
            reads += 1
            if isinstance(count, ScrubStop):
                rest = MismatchRange(begin=begin, end=end, sectors=wide.sectors)
                return combined([*mismatches, *waiting, rest]), count
            if count:
                part = MismatchRange(begin=begin, end=to, sectors=min(count, to - begin))
                (mismatches if is_exact(part) else waiting).append(part)
            begin = to
    return combined(mismatches), None


def _exact(area: Area) -> MismatchRange:
    return MismatchRange(begin=area.begin, end=area.end, sectors=area.end - area.begin)


def _inside(places: Sequence[Area], one: MismatchRange) -> int:
    return sum(max(min(area.end, one.end) - max(area.begin, one.begin), 0) for area in places)


def _joined(one: MismatchRange, other: MismatchRange) -> MismatchRange:
    begin, end = min(one.begin, other.begin), max(one.end, other.end)
    overlap = max(min(one.end, other.end) - max(one.begin, other.begin), 0)
    sectors = max(one.sectors, other.sectors) if overlap else one.sectors + other.sectors
    return MismatchRange(begin=begin, end=end, sectors=min(sectors, end - begin))
