# SPDX-License-Identifier: Apache-2.0
"""Check one array after another, with limits of its own, until all are checked or something else is more important.

The program only watches: md checks in the kernel, also where the program is killed. The next run finds that check, ends
it and goes on from where it was.
"""

from collections.abc import Mapping
from contextlib import suppress

from millrace.errors import Failed, Refused
from millrace.plan.policy import ScrubPolicy
from millrace.pool import mismatch
from millrace.pool import scrub_due as due
from millrace.pool.damage import Area
from millrace.pool.scrub_record import (
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
from millrace.pool.scrub_repair import repair_all, settle_repair
from millrace.pool.scrub_watch import POLL, CheckContext, Watch, now_here
from millrace.provision.devices import array_device
from millrace.provision.model import ArrayRecord, Pool
from millrace.system.run import Runner, must
from millrace.tune import check
from millrace.tune.check import Limits

SECTOR = 512


def carry_on(pool: Pool, policy: ScrubPolicy, context: CheckContext) -> ScrubRecord:
    """Repair what an administrator has confirmed, check what is due, and return what is kept afterwards.

    Failed: md refuses a check or a repair.
    """
    record = settle(pool)
    if repair_all(pool, policy, context) is not None:
        return load()
    # a shutdown stops the service only
    waits = record.stopped is not None and record.stopped.by != "service"
    by_hand = record.round is not None and record.round.by == "administrator" and not waits
    if not by_hand and not due.is_due(policy, pool, record, context.now()):
        return record
    closes = None if by_hand else due.until(policy, context.now())
    begun = record.round or Round(started=stamp(context.now()), by="policy")
    record = change(lambda old: old.model_copy(update={"round": begun, "stopped": None}))
    for one in due.left(pool, record):
        watch = Watch(pool, one, policy, closes, context)
        stopped = due.obstacle(pool, context.run, context.now()) or _Check(watch).run()
        if stopped is not None:
            return _stop(stopped)
    return change(lambda old: old.model_copy(update={"round": None}))


def begin(pool: Pool, run: Runner) -> ScrubRecord:
    """Ask for a check of all arrays outside of the window, or for the rest of one that was stopped.

    Refused: an array is degraded or busy, or a benchmark runs.
    """
    settle(pool)
    if found := due.obstacle(pool, run, now_here()):
        raise Refused(f"no array is checked now: {found.reason}; see `millrace pool show`")
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
    must(run, ["systemctl", "stop", due.CHECKING])
    settle(pool)
    for one in due.arrays(pool):
        if device := array_device(one.array.name):
            _cancel(device)


def settle(pool: Pool) -> ScrubRecord:
    """End a check that the service has left running, restore the limits, and record where it was."""
    for one in due.arrays(pool):
        settle_repair(one)
        begun, device = load().of(one.uuid, one.array.name).under_way, array_device(one.array.name)
        if begun is None or begun.most is None or begun.least is None:
            continue
        sector = begun.sector
        if device is not None and check.action(device) == check.CHECK:
            _cancel(device)
            sector = max(sector, check.resume_at(device))
        with suppress(OSError):
            check.limit(device or "none", Limits(begun.least, begun.most))
        _keep(one, begun.model_copy(update={"sector": sector, "least": None, "most": None}))
    return load()


def _stop(why: ScrubStop) -> ScrubRecord:
    """A round that went on outside of the window goes on in one."""
    return change(lambda old: old.model_copy(update={"stopped": why}))


class _Check:
    """The check of one array, from where it was until its end or until something stops it."""

    def __init__(self, watch: Watch) -> None:
        self._of, self._one, self._device = watch, watch.one, watch.device
        self._began, self._since = watch.context.clock(), epoch(stamp(watch.context.now()))
        self._found = mismatch.Windows(0)
        self._places: list[Area] = []

    def run(self) -> ScrubStop | None:
        """Return what stopped it; None at its end. Failed: md refuses it."""
        before = load().of(self._one.uuid, self._one.array.name).under_way
        sectors = check.sectors(self._device)
        if before is None or before.sectors != sectors:
            started = stamp(self._of.context.now())
            before = UnderWay(started=started, sector=0, sectors=sectors, seconds=0, mismatches=0)
        try:
            limits = check.limits(self._device)
            before = before.model_copy(update={"least": limits.least, "most": limits.most})
            _keep(self._one, before)
            if before.sector >= sectors:
                # it was read to its end, and the places were still sought
                return self._finish(before, limits)
            self._of.limit()
            self._found = mismatch.Windows(before.sector)
            check.begin(self._device, before.sector)
            return self._watch(before, limits)
        except OSError as error:
            why = error.strerror or error
            raise Failed(f"md does not check array {self._one.array.name}: {why}; see journalctl -k") from error
        finally:
            settle(self._of.pool)

    def _watch(self, before: UnderWay, limits: Limits) -> ScrubStop | None:
        seen, stopped = before, None
        while stopped is None and check.action(self._device) == check.CHECK:
            sector = max(check.completed(self._device), before.sector)
            more = self._found.take(self._device)
            if more:
                self._places = mismatch.logged(self._device, self._since, self._of.context.run)
            if sector > seen.sector or more:
                seen = _keep(self._one, self._after(before, sector))
            stopped = self._of.reason(self._of.context.wait(POLL))
            self._of.limit()
        _cancel(self._device)
        if self._found.take(self._device):
            self._places = mismatch.logged(self._device, self._since, self._of.context.run)
        if check.at_end(self._device):
            return self._finish(_keep(self._one, self._after(before, before.sectors)), limits)
        _keep(self._one, self._after(before, max(check.resume_at(self._device), before.sector)))
        busy = due.obstacle(self._of.pool, self._of.context.run, self._of.context.now())
        return stopped or busy or self._of.because("array", "md ended the check; see journalctl -k")

    def _after(self, before: UnderWay, sector: int) -> UnderWay:
        """The state now; of what is read again later, mismatches count twice rather than never."""
        seconds = before.seconds + self._of.context.clock() - self._began
        found = before.mismatches + check.mismatches(self._device)
        ranges = mismatch.combined([*before.ranges, *self._found.ranges(self._places, before.sectors)])
        return before.model_copy(update={"sector": sector, "seconds": seconds, "mismatches": found, "ranges": ranges})

    def _finish(self, end: UnderWay, limits: Limits) -> ScrubStop | None:
        """What ends the search for places leaves them wide: the array is checked."""
        ranges, stopped = mismatch.narrowed(self._of, end.ranges)
        check.limit(self._device, limits)
        last = Scrubbed(
            started=end.started,
            ended=stamp(self._of.context.now()),
            bytes=end.sectors * SECTOR * check.disks(self._device),
            seconds=end.seconds,
            mismatches=end.mismatches if ranges or not end.ranges else 0,
            bad_areas=check.bad_areas(self._device),
            ranges=ranges,
        )
        _change(self._one, {"last": last, "under_way": None, "repaired": None})
        return stopped


def _cancel(device: str) -> None:
    """Cancel a check that runs. Its end by itself at the same moment is as good."""
    with suppress(OSError):
        check.cancel(device)


def _keep(one: ArrayRecord, state: UnderWay) -> UnderWay:
    _change(one, {"under_way": state})
    return state


def _change(one: ArrayRecord, values: Mapping[str, object]) -> None:
    change(lambda old: old.having(old.of(one.uuid, one.array.name).model_copy(update=dict(values))))
