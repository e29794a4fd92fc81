# SPDX-License-Identifier: Apache-2.0
"""`millrace pool scrub repair`: rewrite what does not match, in the ranges that a check has found, and read it again.

Where the check has located the wrong drive of a RAID6, its blocks are written from the others (write_back.py).

For the rest md.c, raid5.c and raid1.c: a repair computes parity from the data (on RAID6 both parities; it does not find
out which drive is wrong), and on a mirror copies the first member over the others. So it makes an array agree with
itself again and restores no data: files are compared with a backup first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from millrace.plan.model import Role
from millrace.plan.policy.model import ScrubPolicy
from millrace.storage.array import raid6_rows, resync
from millrace.storage.array.devices import array_device
from millrace.storage.array.raid6_rows import STRIPE
from millrace.storage.array.resync import Limits
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.storage.record.scrub_record import (
    MismatchRange,
    Repair,
    Repaired,
    ScrubRecord,
    ScrubStop,
    change,
    load,
    located_in_words,
    restorable,
    stamp,
)
from millrace.storage.scrub import damaged_files, mismatch
from millrace.storage.scrub import scrub_due as due
from millrace.storage.scrub.damaged_files import DamagedFiles
from millrace.storage.scrub.locate_blocks import locate
from millrace.storage.scrub.scrub_watch import CheckContext, ScrubWatch, now_here
from millrace.storage.scrub.write_back import write_back
from millrace.system.errors import Failed, Refused
from millrace.system.printing import notes
from millrace.system.run import Runner

_MEANING = {
    "raid1": "the copies differ, and which is right is not known: the first member is copied over the others",
    "raid5": "data or parity is wrong, and which is not known: parity is computed from the data as they are",
    "raid6": "data or parity is wrong, and which is not known: both parities are computed from the data as they are",
}
_KEEP = "the data are kept as they are, also where the wrong drive is known: both parities are computed from them"
_KEPT = "sectors were written since the check, or returned something else: check again, then repair"
_UNSEARCHED = (
    "the last check of array {name} did not search for the wrong drive; check again: millrace pool scrub start, or "
    "keep the data as they are: millrace pool scrub repair --keep-data"
)


def to_repair(pool: Pool, array: str | None) -> list[ArrayRecord]:
    """Return the arrays whose last check found sectors that do not match, or the one of this name.

    Refused: there is none.
    """
    known = due.arrays(pool)
    if array is not None and array not in [array_record.array.name for array_record in known]:
        names = ", ".join(array_record.array.name for array_record in known)
        raise Refused(f"no array {array} has redundancy to repair; those that have: {names or 'none'}")
    wanted = [array_record for array_record in known if array in (None, array_record.array.name)]
    record = load()
    arrays = [
        array_record for array_record in wanted if (last := record.of(array_record.uuid, "").last) and last.mismatches
    ]
    if not arrays:
        which = f"of array {array}" if array else "of any array"
        raise Refused(
            f"the last check {which} found no sector that does not match; check again: millrace pool scrub start"
        )
    return arrays


def explained(arrays: Sequence[ArrayRecord], keep_data: bool, bays: Mapping[str, str]) -> Iterator[str]:
    """Yield what a repair of these arrays does; `bays` by serial."""
    record = load()
    for raid in arrays:
        last = record.of(raid.uuid, raid.array.name).last
        assert last is not None
        where = f"{len(last.ranges)} range{'s' * (len(last.ranges) > 1)}" if last.ranges else "unknown places"
        yield f"array {raid.array.name} ({raid.array.level.upper()}): {last.mismatches} sectors in {where} do not match"
        yield from notes(located_in_words(last, bays))
        known = 0 if keep_data else restorable(last)
        if known:
            yield from notes([f"{known} sectors are written to the wrong drive, from the other drives"])
        if known < last.mismatches:
            rest = "the others: " if known else ""
            yield from notes([f"{rest}{_KEEP if restorable(last) and keep_data else _MEANING[raid.array.level]}"])
        if raid.array.role is Role.LOG:
            yield from notes(
                ["XFS reads its log after a power cut only: the copies are made equal, and no file is in doubt"]
            )


def doubtful(arrays: Sequence[ArrayRecord], search: Callable[[], DamagedFiles]) -> Iterator[str]:
    """Search for the files in doubt of these arrays, and yield what to do with them first. Refused, Failed: as it."""
    if all(one.array.role is Role.LOG for one in arrays):
        return
    found = search()
    yield from (f"file in doubt: {name}" for name in found.files)
    yield from damaged_files.notes(found)
    if found.files:
        yield "Compare these files with a backup or with their source before, and restore those that differ."


def ask(pool: Pool, arrays: Sequence[ArrayRecord], run: Runner, keep_data: bool = False) -> ScrubRecord:
    """Record that an administrator has confirmed a repair of these arrays; `keep_data` writes no data back.

    Refused: an array is degraded or busy, drives are being changed, or a benchmark runs; or the last check of a RAID6
    was made by a release that did not search for the wrong drive.
    """
    for array in arrays:
        last = load().of(array.uuid, array.array.name).last
        if array.array.level == "raid6" and not keep_data and last and not (last.located or last.unlocated):
            raise Refused(_UNSEARCHED.format(name=array.array.name))
    if obstacle := due.obstacle(pool, run, now_here()):
        raise Refused(f"nothing is repaired now: {obstacle.reason}; see `millrace pool show`")
    asked = stamp(now_here())

    def confirmed(old: ScrubRecord) -> ScrubRecord:
        for one in arrays:
            kept = old.of(one.uuid, one.array.name)
            if kept.repair is None and kept.last is not None and kept.last.mismatches:
                ranges = kept.last.ranges or [_all(one, kept.last.mismatches)]
                back = not keep_data and restorable(kept.last) > 0
                state = Repair(asked=asked, ranges=ranges, write_back=back)
                old = old.having(kept.model_copy(update={"repair": state}))
        return old

    return change(confirmed)


def repair_all(pool: Pool, policy: ScrubPolicy, context: CheckContext) -> ScrubStop | None:
    """Carry out every confirmed repair; return what stopped it, None where none is left. Failed: md refuses one."""
    for one in due.arrays(pool):
        if load().of(one.uuid, one.array.name).repair is None:
            continue
        watch = ScrubWatch(pool, one, policy, None, context)
        stopped = due.obstacle(pool, context.run, context.now()) or _repair(watch)
        if stopped is not None:
            return stopped
    return None


def settle_repair(array: ArrayRecord) -> None:
    """End a repair that the service has left running, and restore the limits; it begins its range again later."""
    begun, device = load().of(array.uuid, array.array.name).repair, array_device(array.array.name)
    if device is not None:
        raid6_rows.release_left(device)
    if begun is None or begun.least is None or begun.most is None:
        return
    if device is not None:
        with suppress(OSError):
            resync.cancel(device, resync.REPAIR)
            resync.cancel(device)
            resync.whole(device)
        with suppress(OSError):
            resync.limit(device, Limits(begun.least, begun.most))
        if begun.cache is not None and resync.cache(device) == resync.SMALLEST_CACHE:
            with suppress(OSError):
                resync.resize_cache(device, begun.cache)
    _keep(array, begun.model_copy(update={"least": None, "most": None, "cache": None}))


def _repair(watch: ScrubWatch) -> ScrubStop | None:
    array = watch.one
    begun = load().of(array.uuid, array.array.name).repair
    assert begun is not None
    try:
        limits = resync.limits(watch.device)
        state = {"least": limits.least, "most": limits.most, "cache": resync.cache(watch.device)}
        begun = _keep(array, begun.model_copy(update=state))
        if begun.write_back:
            restored = _write_back(watch, begun)
            if isinstance(restored, ScrubStop):
                return restored
            begun = restored
        while begun.ranges:
            first, rewritten = begun.ranges[0], begun.rewritten
            end = watch.aligned(first.end)

            def advanced(to: int, count: int, begun: Repair = begun) -> None:
                rest = begun.ranges[0].model_copy(update={"begin": to})
                _keep(
                    array,
                    begun.model_copy(
                        update={"ranges": [rest, *begun.ranges[1:]], "rewritten": begun.rewritten + count}
                    ),
                )

            count = watch.window(resync.REPAIR, first.begin, end, advanced)
            if isinstance(count, ScrubStop):
                return count
            begun = _keep(array, begun.model_copy(update={"ranges": begun.ranges[1:], "rewritten": rewritten + count}))
        return _verify(watch, begun)
    except Refused as error:
        # it could be located during the check, and cannot be now
        return watch.because("array", str(error))
    except OSError as error:
        why = error.strerror or error
        raise Failed(f"md does not repair array {array.array.name}: {why}; see journalctl -k") from error
    finally:
        settle_repair(array)


def _write_back(watch: ScrubWatch, begun: Repair) -> Repair | ScrubStop:
    """Write what was located, and return the repair with what md is to do after that.

    Of a range in which a block does not match that no administrator has seen, nothing is computed. Failed: a drive
    fails.
    """
    array = watch.one
    last = load().of(array.uuid, array.array.name).last
    located = last.located if last else []
    unlocated = [each for each in located if each.serial is None]
    left = list[MismatchRange]()
    for wanted in begun.ranges:
        done = write_back(watch, wanted, located)
        begun = _keep(
            array,
            begun.model_copy(
                update={"rewritten": begun.rewritten + done.restored, "restored": begun.restored + done.restored}
            ),
        )
        if done.stopped is not None:
            return done.stopped
        known = [sector for sector in done.rest if any(each.begin <= sector < each.end for each in unlocated)]
        if known == done.rest:
            left += [wanted] if done.rest else []
        else:
            kept = (len(done.rest) - len(known)) * STRIPE
            begun = begun.model_copy(update={"kept": begun.kept + kept})
    return _keep(array, begun.model_copy(update={"write_back": False, "ranges": left}))


def _verify(watch: ScrubWatch, done: Repair) -> ScrubStop | None:
    """Read what was in doubt again: the record has it until the repair is at its end."""
    last = load().of(watch.one.uuid, watch.one.array.name).last
    ranges = (last.ranges if last else []) or [_all(watch.one, 0)]
    left = list[MismatchRange]()
    for each in ranges:
        begin, end = each.begin - each.begin % 8, watch.aligned(each.end)
        count = watch.window(resync.CHECK, begin, end)
        if isinstance(count, ScrubStop):
            return count
        if count:
            left.append(MismatchRange(begin=begin, end=end, sectors=min(count, end - begin)))
    still = sum(mismatch_range.sectors for mismatch_range in left)
    found_again = locate(watch.device, left)
    repaired = Repaired(
        ended=stamp(watch.context.now()),
        rewritten=done.rewritten,
        left=still,
        restored=done.restored,
        kept=f"{done.kept} {_KEPT}" if done.kept else "",
    )
    resync.limit(watch.device, Limits(done.least or "system", done.most or "system"))

    def ended(old: ScrubRecord) -> ScrubRecord:
        kept = old.of(watch.one.uuid, watch.one.array.name)
        places = {"located": found_again.blocks, "unlocated": found_again.why, "ranges": mismatch.combined(left)}
        found = kept.last.model_copy(update={"mismatches": still, **places}) if kept.last else None
        # a check that waits has counted what is put right now
        waits = kept.under_way if kept.under_way is None or not kept.under_way.mismatches else None
        state = {"last": found, "under_way": waits, "repair": None, "repaired": repaired}
        return old.having(kept.model_copy(update=state))

    change(ended)
    return None


def _all(one: ArrayRecord, sectors: int) -> MismatchRange:
    return MismatchRange(begin=0, end=resync.sectors(array_device(one.array.name) or "none"), sectors=sectors)


def _keep(one: ArrayRecord, state: Repair) -> Repair:
    change(lambda old: old.having(old.of(one.uuid, one.array.name).model_copy(update={"repair": state})))
    return state
