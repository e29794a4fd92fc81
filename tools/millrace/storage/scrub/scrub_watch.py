# SPDX-License-Identifier: Apache-2.0
"""What every check and repair of one array has in common: its limits, what stops it, a window of the array."""

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from millrace.plan.policy.model import ScrubPolicy
from millrace.plan.scrub import FLOOR_KIB, CheckPace
from millrace.storage.array import resync
from millrace.storage.array.devices import array_device
from millrace.storage.array.resync import Limits
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.storage.record.scrub_record import ScrubStop, StoppedBy, stamp
from millrace.storage.scrub import scrub_due as due
from millrace.storage.scrub.scrub_pace import pace_of
from millrace.system.run import Runner

POLL = 5.0
WINDOW_POLL = 1.0
"""Seconds between two looks at a window, which may end soon."""


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


@dataclass(frozen=True)
class ScrubWatch:
    """One array that md reads; `closes` is when the window of the policy does, None without one."""

    pool: Pool
    one: ArrayRecord
    policy: ScrubPolicy
    closes: datetime | None
    context: CheckContext

    @property
    def device(self) -> str:
        """The kernel's name of the array, `none` where it is not there."""
        return array_device(self.one.array.name) or "none"

    def limit(self) -> None:
        """Set the limits, again while it runs: `millrace tune` may have begun before. OSError: the kernel refuses."""
        wanted = Limits(str(self.granted_kib), str(self.pace.most_kib))
        if resync.limits(self.device) != wanted:
            resync.limit(self.device, wanted)

    @property
    def granted_kib(self) -> int:
        """KiB/s of each drive that md reads also beside clients; without a window they come first."""
        return FLOOR_KIB if self.closes is None else self.pace.least_kib

    @cached_property
    def pace(self) -> CheckPace:
        """How fast it is checked."""
        return pace_of(self.pool, self.policy)

    def reason(self, asked: bool, allowed: Sequence[str] = (resync.IDLE, resync.CHECK)) -> ScrubStop | None:
        """Return why this ends now, None where it goes on; `asked` is whether the service is to stop."""
        if asked:
            return self.because("service", "the service was stopped")
        if due.has_closed(self.policy, self.closes, self.context.now()):
            return self.because("window", "its window has ended")
        return self.obstacle(allowed)

    def obstacle(self, allowed: Sequence[str]) -> ScrubStop | None:
        """Return what keeps this array from being read now. What md may do meanwhile is `allowed`."""
        return due.obstacle(self.pool, self.context.run, self.context.now(), allowed)

    def because(self, by: StoppedBy, reason: str) -> ScrubStop:
        """Return a reason with the time of now."""
        return ScrubStop(at=stamp(self.context.now()), by=by, reason=reason)

    def aligned(self, sector: int) -> int:
        """Return the first sector from this one on at which md can end a window."""
        chunk = (self.one.array.chunk or 0) // 512 if self.one.array.level != "raid1" else 0
        step = max(chunk, 8)
        return min(-(-sector // step) * step, resync.sectors(self.device))

    def window(
        self, what: str, begin: int, end: int, advanced: Callable[[int, int], None] = lambda _to, _count: None
    ) -> int | ScrubStop:
        """Check or repair a window; return the sectors that did not match, or what stopped it.

        `advanced` gets the sector up to which that is done and how many did not match. OSError: md refuses.
        """
        device, allowed = self.device, (resync.IDLE, resync.CHECK, what)
        self.limit()
        resync.begin_window(device, what, begin - begin % 8, end)
        stopped, reached = None, False
        try:
            while stopped is None and resync.action(device) == what:
                done = resync.completed(device)
                if done >= end:
                    reached = True
                    break
                if done > begin:
                    advanced(done, resync.mismatches(device))
                stopped = self.reason(self.context.wait(WINDOW_POLL), allowed)
                self.limit()
            # one that reached the end of the array has ended by itself
            reached = reached or (end >= resync.sectors(device) and resync.at_end(device))
            if reached:
                return resync.mismatches(device)
            return stopped or self.obstacle(allowed) or self.because("array", f"md ended the {what}; see journalctl -k")
        finally:
            with suppress(OSError):
                resync.cancel(device, what)
            with suppress(OSError):
                resync.whole(device)
