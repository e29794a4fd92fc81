# SPDX-License-Identifier: Apache-2.0
"""Which rows of a RAID6 array without one member were torn by a power cut: where P and Q do not match.

kernel 7.2, raid5.c handle_parity_checks6: with one failure a check compares the parity that nothing was computed from,
and counts and logs a row that does not match. Writes and the replay of the log leave such a row mismatched, as a write
to a degraded row is read-modify-write (handle_stripe_dirtying: a missing chunk cannot be read for the other way). One
that writes the missing chunk itself does not, nor one that finds it in the stripe cache after a client's read.
A repair or a rebuild corrects Q by the data as P gives them, so the rows are recorded first. The rows in flight are in
the dirty regions of the bitmap; nothing else is read. The check begins again after a restart.
"""

from collections.abc import Sequence
from contextlib import suppress

from millrace.plan.policy.model import ScrubPolicy
from millrace.storage.array import dirty_regions, resync
from millrace.storage.array.area import Area, merged
from millrace.storage.array.devices import array_device, block
from millrace.storage.array.md import LOST_MEMBERS
from millrace.storage.assemble import unclean
from millrace.storage.assemble.unclean import TornRows, Unclean
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.storage.record.scrub_record import MismatchRange, ScrubStop, epoch, stamp
from millrace.storage.scrub import mismatch
from millrace.storage.scrub.scrub_watch import CheckContext, ScrubWatch
from millrace.system import sysfs

PART = 1 << 25
"""Sectors of each member that one check reads: what does not match is sought again in a part, not in all of it."""

TRIES = 3
"""How often a check is begun: a scrub that the power cut interrupted is settled by ending what md checks."""

ACKNOWLEDGED = "the unclean start was acknowledged"


class _DegradedWatch(ScrubWatch):
    """An array without a member, at the speed of a rebuild, which waits for it."""

    def limit(self) -> None:
        """Leave the limits as they are tuned."""

    def obstacle(self, allowed: Sequence[str]) -> ScrubStop | None:
        """Return what ends a check or a repair of this array."""
        if not _is_pending(self.one.array.name):
            return self.because("administrator", ACKNOWLEDGED)
        found = _unfit(self.one, allowed)
        return self.because("array", found) if found else None


def check_all(pool: Pool, context: CheckContext) -> ScrubStop | None:
    """Check every array that waits for it, and record its torn rows; return what stopped it for another time."""
    for array in pool.arrays:
        if not unclean.holds(array.array.name):
            continue
        _end_left(array)
        outcome = _tried(pool, array, context)
        if isinstance(outcome, ScrubStop):
            if outcome.by in ("service", "administrator"):
                return outcome
            outcome = outcome.reason
        if isinstance(outcome, str):
            _settle(array, {"check": "failed", "problem": outcome})
            continue
        rows = merged([Area(each.begin, each.end) for each in outcome])
        torn = [TornRows(begin=each.begin, end=each.end) for each in rows]
        rough = not all(map(mismatch.is_exact, outcome))
        _settle(array, {"check": "found", "torn": torn, "rough": rough, "problem": None})
    return None


def repair_all(pool: Pool, context: CheckContext) -> list[str]:
    """Make P and Q of recorded torn rows match again; return a sentence for each array where that did not work."""
    said = []
    starts = unclean.pending()
    for array in pool.arrays:
        mine = [each for each in starts.starts if each.array == array.array.name] if starts else []
        torn = merged([Area(row.begin, row.end) for each in mine if each.check == "found" for row in each.torn])
        if not any(each.check == "found" for each in mine):
            continue
        _end_left(array)
        try:
            # a rebuild corrects them too
            rebuilt = resync.action(array_device(array.array.name) or "none") == "recover"
            problem = None if rebuilt else _repaired(_watch(pool, array, context), torn)
        except OSError as error:
            problem = error.strerror or str(error)
        if problem:
            said.append(f"array {array.array.name}: torn rows are not repaired yet: {problem}")
            continue
        unclean.change(
            array.array.name,
            lambda each: each.model_copy(update={"check": "done"}) if each.check == "found" else each,
        )
    return said


def _watch(pool: Pool, one: ArrayRecord, context: CheckContext) -> ScrubWatch:
    return _DegradedWatch(pool, one, ScrubPolicy(), None, context)


def _tried(pool: Pool, array: ArrayRecord, context: CheckContext) -> list[MismatchRange] | ScrubStop | str:
    """Check an array; again where the check was ended and the array is as before."""
    outcome: list[MismatchRange] | ScrubStop | str = ""
    for _ in range(TRIES):
        reason = _unfit(array, (resync.IDLE,))
        try:
            outcome = reason or _check(_watch(pool, array, context))
        except OSError as error:
            return f"md does not check the array: {error.strerror or error}"
        if not isinstance(outcome, ScrubStop) or outcome.by != "array" or _unfit(array, (resync.IDLE,)):
            break
    return outcome


def _check(watch: ScrubWatch) -> list[MismatchRange] | ScrubStop:
    mismatches, since = list[MismatchRange](), epoch(stamp(watch.context.now()))
    for part in _parts(watch):
        count = watch.window(resync.CHECK, part.begin, part.end)
        if isinstance(count, ScrubStop):
            return count
        if not count:
            continue
        logged = mismatch.logged(watch.device, since, watch.context.run)
        places = [place for place in logged if part.begin <= place.begin and place.end <= part.end]
        seen = mismatch.Windows(part.begin)
        seen.saw(part.begin, count, part.end)
        ranges, stopped = mismatch.narrowed(watch, seen.ranges(places, part.end))
        if stopped is not None:
            return stopped
        mismatches += ranges
    return mismatches


def _parts(watch: ScrubWatch) -> list[Area]:
    """The dirty regions, with borders at which md can begin and end."""
    rows = [Area(one.begin - one.begin % 8, watch.aligned(one.end)) for one in dirty_regions.regions(watch.device)]
    return [
        Area(begin, min(begin + PART, row.end)) for row in merged(rows) for begin in range(row.begin, row.end, PART)
    ]


def _repaired(watch: ScrubWatch, torn: Sequence[Area]) -> str | None:
    for row in merged([Area(one.begin - one.begin % 8, watch.aligned(one.end)) for one in torn]):
        done = watch.window(resync.REPAIR, row.begin, row.end)
        if isinstance(done, ScrubStop):
            return done.reason
    return None


def _unfit(array: ArrayRecord, allowed: Sequence[str]) -> str | None:
    """Why P and Q of an array cannot tell its torn rows."""
    device = array_device(array.array.name)
    if device is None or not (block(device) / "md").is_dir():
        return "the array is not running"
    missing = sysfs.number(block(device) / "md/degraded") or 0
    if missing >= LOST_MEMBERS[array.array.level]:
        return "another member failed before the check had ended"
    doing = resync.action(device)
    if doing not in allowed:
        return f"md reports {doing}, which corrects the parity that tells torn rows"
    if not missing and unclean.holds(array.array.name):
        return "the array was rebuilt before the check had ended"
    return None


def _settle(one: ArrayRecord, values: dict[str, object]) -> None:
    def settled(start: Unclean) -> Unclean:
        return start.model_copy(update=values) if start.check == "waiting" else start

    unclean.change(one.array.name, settled)


def _is_pending(array: str) -> bool:
    starts = unclean.pending()
    return starts is not None and any(one.array == array for one in starts.starts)


def _end_left(one: ArrayRecord) -> None:
    """End what a run that was killed has left: md would wait at the end of its window for ever."""
    device = array_device(one.array.name)
    if device is not None:
        with suppress(OSError):
            resync.cancel(device)
            resync.cancel(device, resync.REPAIR)
            resync.whole(device)
