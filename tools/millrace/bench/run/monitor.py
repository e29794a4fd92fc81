# SPDX-License-Identifier: Apache-2.0
"""Looks at the server once a second while it is measured, and ends the run where it must not go on."""

import time
from threading import Event, Lock, Thread

from millrace.bench.result.model import Moment
from millrace.bench.run.samples import Look, Sampler
from millrace.bench.run.watch import Watch

PERIOD = 1.0
MOST = 300
"""Moments that are kept of one rung: a chart has no more points."""


class Monitor(Thread):
    """A thread. `stop` is set when the run must end, `reason` then says why."""

    def __init__(self, sampler: Sampler, watch: Watch, stop: Event, period: float = PERIOD) -> None:
        super().__init__(name="monitor", daemon=True)
        self.reason: str | None = None
        self._sampler, self._watch, self._stop_run, self._period = sampler, watch, stop, period
        self._done, self._lock = Event(), Lock()
        self._moments: list[Moment] = []
        self._began = 0.0
        self._before: Look | None = None
        self._recording = False

    def run(self) -> None:
        while not self._done.wait(self._period):
            self._tick()

    def close(self) -> None:
        """Look no more."""
        self._done.set()
        if self.is_alive():
            self.join()

    def rung(self, mount: str | None) -> None:
        """A new rung begins: forget the moments of the one before."""
        with self._lock:
            self._sampler.mount = mount
            self._moments, self._before, self._began = [], None, time.monotonic()

    def record(self, on: bool) -> None:
        """Moments count only while a repeat is measured."""
        with self._lock:
            self._recording, self._before = on, None

    def moments(self) -> list[Moment]:
        """Those of this rung, evenly thinned out."""
        with self._lock:
            step = -(-len(self._moments) // MOST) or 1
            return self._moments[::step]

    def _tick(self) -> None:
        complaint = self._watch.complaint()
        if complaint and not self._stop_run.is_set():
            self.reason = complaint
            self._stop_run.set()
        with self._lock:
            if not self._recording:
                return
            now = self._sampler.look(time.monotonic())
            if self._before is not None:
                moment = self._sampler.moment(self._before, now, self._began)
                self._moments.append(moment.model_copy(update={"temperature": self._watch.hottest()}))
            self._before = now
