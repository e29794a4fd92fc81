# SPDX-License-Identifier: Apache-2.0
"""The goal `rebuild`: while the others are measured all data arrays are checked; how fast that is, is its figure."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread

from millrace.measure.tuner.knobs.checks import CheckSetting
from millrace.measure.tuner.knobs.surface import KnobChange
from millrace.measure.tuner.search.goals import REBUILD
from millrace.storage.array import resync
from millrace.system.errors import Failed
from millrace.system.text import KIB

POLL = 0.5
"""Seconds between two looks: a small array comes to its end and is checked again."""


@contextmanager
def beside(
    checks: Sequence[CheckSetting], before: Callable[[Sequence[KnobChange]], None]
) -> Iterator[Callable[[], float]]:
    """Check the arrays while this lasts; what it yields returns the bytes/s of each drive, once.

    `before` is called with what begins them first. Failed: md refuses one, or nothing was read.
    """
    before([KnobChange(REBUILD, check, resync.IDLE, resync.CHECK) for check in checks])
    watch = _Watch(checks)
    try:
        watch.begin()
        yield watch.rate
    finally:
        watch.close()
        for check in checks:
            # one that is still checked is in the journal
            with suppress(OSError):
                check.write(resync.IDLE)


class _Watch(Thread):
    """Counts what was read of each drive, and begins again at the end of an array."""

    def __init__(self, checks: Sequence[CheckSetting]) -> None:
        super().__init__(name="rebuild", daemon=True)
        self._checks, self._done = checks, Event()
        self._whole = dict.fromkeys((one.device for one in checks), 0)
        self._now = dict(self._whole)
        self._problem: str | None = None

    def begin(self) -> None:
        """Begin all checks. Failed: md refuses one."""
        self._began = time.monotonic()
        for one in self._checks:
            self._check(one)
        self._complain()
        self.start()

    def close(self) -> None:
        """Begin none any more."""
        self._done.set()
        if self.is_alive():
            self.join()

    def rate(self) -> float:
        """Return the bytes/s of each drive since the beginning. Failed: md refused a check, or nothing was read."""
        # what the thread is about to count as whole would be counted twice
        self.close()
        self._look(again=False)
        self._complain()
        read = sum(self._whole.values()) + sum(self._now.values())
        if read == 0:
            raise Failed("the check of the arrays has read nothing beside the goals")
        return read * KIB / len(self._checks) / (time.monotonic() - self._began)

    def run(self) -> None:
        """Look once in every period."""
        while not self._done.wait(POLL):
            self._look(again=True)

    def _look(self, again: bool) -> None:
        for one in self._checks:
            if resync.action(one.device) == resync.CHECK:
                self._now[one.device] = resync.read_kib(one.device) or self._now[one.device]
            elif again and self._problem is None:
                self._whole[one.device] += resync.sectors(one.device) // 2
                self._now[one.device] = 0
                self._check(one)

    def _check(self, one: CheckSetting) -> None:
        try:
            one.write(resync.CHECK)
        except OSError as error:
            self._problem = f"{one.label} cannot be set to {resync.CHECK}: {error.strerror}"

    def _complain(self) -> None:
        if self._problem is not None:
            raise Failed(self._problem)
