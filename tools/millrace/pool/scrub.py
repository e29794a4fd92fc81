# SPDX-License-Identifier: Apache-2.0
"""Check one array after another, with limits of its own, until all are checked or something else is more important.

The program only watches: md checks in the kernel, also where the program is killed. The next run finds that check, ends
it and goes on from where it was.
"""

import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from millrace.errors import Failed, Refused
from millrace.plan.policy import ScrubPolicy
from millrace.pool import scrub_due as due
from millrace.pool.scrub_record import (
    Round,
    Scrubbed,
    ScrubRecord,
    ScrubStop,
    StoppedBy,
    UnderWay,
    change,
    load,
    stamp,
)
from millrace.provision.devices import array_device
from millrace.provision.model import ArrayRecord, Pool
from millrace.system.run import Runner, must
from millrace.tune import check
from millrace.tune.check import Limits

POLL = 5.0
SECTOR = 512


def now_here() -> datetime:
    """Return the time with the zone of this server: the window of the policy is local time."""
    return datetime.now().astimezone()


def termination() -> Callable[[float], bool]:
    """Return what waits so many seconds for systemd to end this; it is held back until something waits."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    return lambda seconds: signal.sigtimedwait({signal.SIGTERM}, seconds) is not None


@dataclass(frozen=True)
class CheckContext:
    """What a run needs beside md. `wait` gets seconds and returns whether the service is to stop."""

    run: Runner
    wait: Callable[[float], bool]
    now: Callable[[], datetime] = now_here
    clock: Callable[[], float] = time.monotonic


def carry_on(pool: Pool, policy: ScrubPolicy, context: CheckContext) -> ScrubRecord:
    """Check what is due, and return what is kept afterwards.

    Failed: md refuses a check.
    """
    record = settle(pool)
    # a shutdown stops the service only
    waits = record.stopped is not None and record.stopped.by != "service"
    by_hand = record.round is not None and record.round.by == "administrator" and not waits
    if not by_hand and not due.is_due(policy, pool, record, context.now()):
        return record
    closes = None if by_hand else due.until(policy, context.now())
    begun = record.round or Round(started=stamp(context.now()), by="policy")
    record = change(lambda old: old.model_copy(update={"round": begun, "stopped": None}))
    for one in due.left(pool, record):
        stopped = due.obstacle(pool, context.run, context.now()) or _Check(pool, one, policy, closes, context).run()
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

    def __init__(
        self, pool: Pool, one: ArrayRecord, policy: ScrubPolicy, closes: datetime | None, context: CheckContext
    ) -> None:
        self._pool, self._one, self._policy, self._closes, self._around = pool, one, policy, closes, context
        self._device = array_device(one.array.name) or "none"
        self._began = context.clock()

    def run(self) -> ScrubStop | None:
        """Return what stopped it; None at its end. Failed: md refuses it."""
        before = load().of(self._one.uuid, self._one.array.name).under_way
        sectors = check.sectors(self._device)
        if before is None or before.sectors != sectors:
            started = stamp(self._around.now())
            before = UnderWay(started=started, sector=0, sectors=sectors, seconds=0, mismatches=0)
        try:
            limits = check.limits(self._device)
            before = before.model_copy(update={"least": limits.least, "most": limits.most})
            _keep(self._one, before)
            self._limit()
            check.begin(self._device, before.sector)
            return self._watch(before, limits)
        except OSError as error:
            why = error.strerror or error
            raise Failed(f"md does not check array {self._one.array.name}: {why}; see journalctl -k") from error
        finally:
            settle(self._pool)

    def _watch(self, before: UnderWay, limits: Limits) -> ScrubStop | None:
        seen, stopped = before, None
        while stopped is None and check.action(self._device) == check.CHECK:
            sector = max(check.completed(self._device), before.sector)
            if sector > seen.sector:
                seen = _keep(self._one, self._after(before, sector))
            stopped = self._reason(self._around.wait(POLL))
            self._limit()
        _cancel(self._device)
        if check.at_end(self._device):
            check.limit(self._device, limits)
            self._finish(self._after(before, before.sectors))
            return None
        _keep(self._one, self._after(before, max(check.resume_at(self._device), before.sector)))
        busy = due.obstacle(self._pool, self._around.run, self._around.now())
        return stopped or busy or self._because("array", "md ended the check; see journalctl -k")

    def _limit(self) -> None:
        """Again while it runs: `millrace tune` may have begun before the check did."""
        wanted = Limits(str(check.FLOOR_KIB), str(self._policy.rate_kib))
        if check.limits(self._device) != wanted:
            check.limit(self._device, wanted)

    def _reason(self, asked: bool) -> ScrubStop | None:
        if asked:
            return self._because("service", "the service was stopped")
        if self._closes is not None and self._around.now() >= self._closes:
            return self._because("window", "its window has ended")
        return due.obstacle(self._pool, self._around.run, self._around.now())

    def _because(self, by: StoppedBy, reason: str) -> ScrubStop:
        return ScrubStop(at=stamp(self._around.now()), by=by, reason=reason)

    def _after(self, before: UnderWay, sector: int) -> UnderWay:
        """The state now; of what is read again later, mismatches count twice rather than never."""
        seconds = before.seconds + self._around.clock() - self._began
        found = before.mismatches + check.mismatches(self._device)
        return before.model_copy(update={"sector": sector, "seconds": seconds, "mismatches": found})

    def _finish(self, end: UnderWay) -> None:
        last = Scrubbed(
            started=end.started,
            ended=stamp(self._around.now()),
            bytes=end.sectors * SECTOR * check.disks(self._device),
            seconds=end.seconds,
            mismatches=end.mismatches,
            bad_areas=check.bad_areas(self._device),
        )
        _change(self._one, {"last": last, "under_way": None})


def _cancel(device: str) -> None:
    """Cancel a check that runs. Its end by itself at the same moment is as good."""
    with suppress(OSError):
        check.cancel(device)


def _keep(one: ArrayRecord, state: UnderWay) -> UnderWay:
    _change(one, {"under_way": state})
    return state


def _change(one: ArrayRecord, values: Mapping[str, object]) -> None:
    change(lambda old: old.having(old.of(one.uuid, one.array.name).model_copy(update=dict(values))))
