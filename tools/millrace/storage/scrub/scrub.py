# SPDX-License-Identifier: Apache-2.0
"""Check the log, then all other arrays side by side, with limits of its own, until something else is more important.

The program only watches: md checks in the kernel, also where the program is killed. The next run finds that check, ends
it and goes on from where it was.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from millrace.plan.policy.model import ScrubPolicy
from millrace.storage.array import resync
from millrace.storage.array.area import Area
from millrace.storage.array.devices import array_device
from millrace.storage.array.resync import Limits
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.storage.record.scrub_record import (
    Round,
    Scrubbed,
    ScrubRecord,
    ScrubStop,
    UnderWay,
    change,
    epoch,
    load,
    stamp,
)
from millrace.storage.scrub import mismatch
from millrace.storage.scrub import scrub_due as due
from millrace.storage.scrub.locate_blocks import locate
from millrace.storage.scrub.scrub_repair import repair_all, settle_repair
from millrace.storage.scrub.scrub_watch import POLL, CheckContext, ScrubWatch, now_here
from millrace.system.errors import Failed, Refused
from millrace.system.jobs import kinds
from millrace.system.jobs.job import stop_unit
from millrace.system.run import Runner

SECTOR = 512


def carry_on(pool: Pool, policy: ScrubPolicy, context: CheckContext) -> ScrubRecord:
    """Repair what an administrator has confirmed, check what is due, and return what is kept afterwards.

    Failed: md refuses a check or a repair.
    """
    record = settle(pool)
    if repair_all(pool, policy, context) is not None:
        return load()
    by_hand = due.is_by_hand(record)
    if not by_hand and not due.is_due(policy, pool, record, context.now()):
        return record
    closes = None if by_hand else due.until(policy, context.now())
    begun = record.round or Round(started=stamp(context.now()), by="policy")
    started = {"round": begun, "stopped": None}
    record = change(lambda old: due.mended(old.model_copy(update=started), context.now()))
    left = {array.uuid for array in due.left(pool, record, context.now())}
    for group in due.groups(pool):
        watches = [ScrubWatch(pool, array, policy, closes, context) for array in group if array.uuid in left]
        if not watches:
            continue
        stopped = due.obstacle(pool, context.run, context.now()) or _side_by_side(watches)
        if stopped is not None:
            return _stop(stopped)
    return change(lambda old: old.model_copy(update={"round": None}))


def begin(pool: Pool, run: Runner) -> ScrubRecord:
    """Ask for a check of all arrays outside of the window, or for the rest of one that was stopped.

    Refused: an array is degraded or busy, or a benchmark runs.
    """
    settle(pool)
    if obstacle := due.obstacle(pool, run, now_here()):
        raise Refused(f"no array is checked now: {obstacle.reason}; see `millrace pool show`")
    started = stamp(now_here())

    def by_hand(old: ScrubRecord) -> ScrubRecord:
        begun = old.round.model_copy(update={"by": "administrator"}) if old.round else None
        round_ = begun or Round(started=started, by="administrator")
        return old.model_copy(update={"round": round_, "stopped": None})

    return change(by_hand)


def stop(pool: Pool) -> ScrubRecord:
    """Record that an administrator has stopped the check; the window after this one goes on with it."""
    record = settle(pool)
    if record.round is None:
        return record
    return _stop(ScrubStop(at=stamp(now_here()), by="administrator", reason="an administrator stopped it"))


def give_way(pool: Pool, run: Runner) -> None:
    """End a check that runs, also one of mdadm's, before drives are changed: md gives none a place meanwhile.

    It goes on from where it was in the next window. Failed: the service does not end.
    """
    stop_unit(kinds.SCRUB, run)
    settle(pool)
    for one in due.arrays(pool):
        if device := array_device(one.array.name):
            _cancel(device)


def settle(pool: Pool) -> ScrubRecord:
    """End a check that the service has left running, restore the limits, and record where it was."""
    for array in due.arrays(pool):
        settle_repair(array)
        begun, device = load().of(array.uuid, array.array.name).under_way, array_device(array.array.name)
        if begun is None or begun.most is None or begun.least is None:
            continue
        sector = begun.sector
        if device is not None and resync.action(device) == resync.CHECK:
            _cancel(device)
            sector = max(sector, resync.resume_at(device))
        with suppress(OSError):
            resync.limit(device or "none", Limits(begun.least, begun.most))
        _keep(array, begun.model_copy(update={"sector": sector, "least": None, "most": None}))
    return load()


def _stop(why: ScrubStop) -> ScrubRecord:
    """A round that went on outside of the window goes on in one."""
    return change(lambda old: old.model_copy(update={"stopped": why}))


def _side_by_side(watches: Sequence[ScrubWatch]) -> ScrubStop | None:
    """Check arrays that share no drive at the same time; return what stopped this, None at the end of all.

    Failed: md refuses one.
    """
    checks, stopped = [_Check(watch) for watch in watches], None
    first = watches[0]
    try:
        for check in checks:
            check.begin()
        while stopped is None and (running := [check for check in checks if check.runs]):
            for check in running:
                check.look()
            stopped = first.reason(first.context.wait(POLL))
            # one that does not run any more takes no limits
            for check in running if stopped is None else []:
                stopped = check.go_on() or stopped
        for check in checks:
            check.end()
        for check in checks if stopped is None else []:
            stopped = stopped or check.finish()
        return stopped if any(not check.finished for check in checks) else None
    finally:
        settle(first.pool)


class _Check:
    """The check of one array, from where it was until its end or until something stops it."""

    def __init__(self, watch: ScrubWatch) -> None:
        self._of, self._one, self._device = watch, watch.one, watch.device
        self._began, self._since = watch.context.clock(), epoch(stamp(watch.context.now()))
        self._found = mismatch.Windows(0)
        self._places: list[Area] = []
        self._before = self._seen = UnderWay(started="", sector=0, sectors=0, seconds=0, mismatches=0)
        self._limits = Limits("system", "system")
        self._reads = False
        self.finished = False

    @property
    def runs(self) -> bool:
        """Whether md reads the array."""
        return self._reads and resync.action(self._device) == resync.CHECK

    def begin(self) -> None:
        """Begin it where it was; nothing is begun where all was read and the places were still sought.

        Failed: md refuses.
        """
        kept = load().of(self._one.uuid, self._one.array.name).under_way
        sectors = resync.sectors(self._device)
        if kept is None or kept.sectors != sectors:
            started = stamp(self._of.context.now())
            kept = UnderWay(started=started, sector=0, sectors=sectors, seconds=0, mismatches=0)
        with self._refusals():
            self._limits = resync.limits(self._device)
            limits = {"least": self._limits.least, "most": self._limits.most}
            kept = kept.model_copy(update={**limits, "floor_kib": self._of.granted_kib})
            self._before = self._seen = _keep(self._one, kept)
            if kept.sector < sectors:
                self._of.limit()
                self._found = mismatch.Windows(kept.sector)
                resync.begin(self._device, kept.sector)
                self._reads = True

    def look(self) -> None:
        """Record how far it came, and what does not match."""
        sector = max(resync.completed(self._device), self._before.sector)
        more = self._take()
        if sector > self._seen.sector or more:
            self._seen = _keep(self._one, self._after(sector))

    def go_on(self) -> ScrubStop | None:
        """Set the limits again while it runs; return why md has ended it before its end. Failed: md refuses."""
        with self._refusals():
            self._of.limit()
        if self.runs:
            return None
        self.end()
        if self._seen.sector >= self._seen.sectors:
            return None
        context = self._of.context
        busy = due.obstacle(self._of.pool, context.run, context.now())
        return busy or self._of.because("array", "md ended the check; see journalctl -k")

    def end(self) -> None:
        """End it where it still runs, and record where it was. Failed: md refuses."""
        if not self._reads:
            return
        self._reads = False
        _cancel(self._device)
        self._take()
        if not resync.at_end(self._device):
            self._seen = _keep(self._one, self._after(max(resync.resume_at(self._device), self._before.sector)))
            return
        self._seen = _keep(self._one, self._after(self._before.sectors))
        if all(mismatch.is_exact(mismatch_range) for mismatch_range in self._seen.ranges):
            # the others may read for hours
            self.finish()

    def finish(self) -> ScrubStop | None:
        """Search for the places and record the result; return what stopped the search: the array is checked.

        Failed: md refuses.
        """
        if self.finished:
            return None
        end = self._seen
        with self._refusals():
            ranges, stopped = mismatch.narrowed(self._of, end.ranges)
            located = locate(self._device, ranges)
            resync.limit(self._device, self._limits)
        last = Scrubbed(
            started=end.started,
            ended=stamp(self._of.context.now()),
            bytes=end.sectors * SECTOR * resync.disks(self._device),
            seconds=end.seconds,
            mismatches=end.mismatches if ranges or not end.ranges else 0,
            bad_areas=resync.bad_areas(self._device),
            ranges=ranges,
            floor_kib=end.floor_kib,
            located=located.blocks,
            unlocated=located.why,
        )
        clean = {} if last.mismatches else {"clean": last.started}
        _change(self._one, {"last": last, "under_way": None, "repaired": None, **clean})
        self.finished = True
        return stopped

    def _take(self) -> bool:
        more = self._found.take(self._device)
        if more:
            self._places = mismatch.logged(self._device, self._since, self._of.context.run)
        return more

    def _after(self, sector: int) -> UnderWay:
        """The state now; of what is read again later, mismatches count twice rather than never."""
        before = self._before
        seconds = before.seconds + self._of.context.clock() - self._began
        found = before.mismatches + resync.mismatches(self._device)
        ranges = mismatch.combined([*before.ranges, *self._found.ranges(self._places, before.sectors)])
        return before.model_copy(update={"sector": sector, "seconds": seconds, "mismatches": found, "ranges": ranges})

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = error.strerror or error
            raise Failed(f"md does not check array {self._one.array.name}: {why}; see journalctl -k") from error


def _cancel(device: str) -> None:
    """Cancel a check that runs. Its end by itself at the same moment is as good."""
    with suppress(OSError):
        resync.cancel(device)


def _keep(one: ArrayRecord, state: UnderWay) -> UnderWay:
    _change(one, {"under_way": state})
    return state


def _change(one: ArrayRecord, values: Mapping[str, object]) -> None:
    change(lambda old: old.having(old.of(one.uuid, one.array.name).model_copy(update=dict(values))))
