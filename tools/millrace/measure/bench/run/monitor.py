# SPDX-License-Identifier: Apache-2.0
"""Samples the server once a second during a run; ends the run at heat, new errors or a lost drive."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread

from millrace.measure.bench.result.model import Moment
from millrace.measure.bench.run.samples import RungSample, Sampler
from millrace.system import paths, sysfs

PERIOD = 1.0
MOST = 300
"""Moments that are kept of one rung: a chart has no more points."""
HOT = 70.0
"""Degrees Celsius where a drive does not say what is too warm for it."""


@dataclass
class RunWatch:
    """Compares drives and arrays with the start of the run.

    `drives` are (kernel name, serial), `arrays` are (kernel name, name in the plan).
    """

    drives: Sequence[tuple[str, str]]
    arrays: Sequence[tuple[str, str]]
    root: Path = field(default_factory=lambda: paths.ROOT)

    def __post_init__(self) -> None:
        self._errors = self._counters()
        self._missing = {name: self._degraded(name) for name, _ in self.arrays}

    def complaint(self) -> str | None:
        """Return why the run must end now; None where nothing changed for the worse."""
        for name, serial in self.drives:
            if not self._block(name).exists():
                return f"drive {serial} is gone"
            heat, limit = self.temperature(name)
            if heat is not None and heat >= limit:
                return f"drive {serial} has {heat:.0f} degrees Celsius, its limit is {limit:.0f}"
        for what, count in self._counters().items():
            if count > self._errors.get(what, count):
                return f"{what} counted {count - self._errors[what]} new errors"
        for name, title in self.arrays:
            missing = self._degraded(name)
            if missing > self._missing[name]:
                return f"array {title} lost a drive"
        return None

    def hottest(self) -> float | None:
        """Return the temperature of the warmest drive in degrees Celsius."""
        return max((heat for name, _ in self.drives if (heat := self.temperature(name)[0]) is not None), default=None)

    def temperature(self, name: str) -> tuple[float | None, float]:
        """Return the temperature of a drive and its warning threshold, both in degrees Celsius."""
        for directory in self._sensors(name):
            milli = sysfs.number(directory / "temp1_input")
            if milli is not None:
                limit = sysfs.number(directory / "temp1_max")
                # a drive without thresholds says 0 or the highest number it can
                good = limit is not None and 0 < limit < 120_000
                return milli / 1000, limit / 1000 if good and limit is not None else HOT
        return None, HOT

    def _sensors(self, name: str) -> list[Path]:
        controller = self._block(name) / "device"
        return [*controller.glob("hwmon*"), *controller.glob("hwmon/hwmon*"), *controller.glob("device/hwmon/hwmon*")]

    def _counters(self) -> dict[str, int]:
        """Errors that md corrected on each member, and those that SCSI and NVMe drives count in sysfs."""
        counters: dict[str, int] = {}
        for name, title in self.arrays:
            for member in (self._block(name) / "md").glob("dev-*"):
                counters[f"{member.name.removeprefix('dev-')} in array {title}"] = sysfs.number(member / "errors") or 0
        for name, serial in self.drives:
            count = sysfs.text(self._block(name) / "device/ioerr_cnt")
            if count:
                counters[f"drive {serial}"] = int(count, 0)
        return counters

    def _degraded(self, name: str) -> int:
        return sysfs.number(self._block(name) / "md/degraded") or 0

    def _block(self, name: str) -> Path:
        return self.root / "sys/class/block" / name


class Monitor(Thread):
    """A thread. It sets `stop` when the run must end, and `reason` to why."""

    def __init__(self, sampler: Sampler, watch: RunWatch, stop: Event, period: float = PERIOD) -> None:
        super().__init__(name="monitor", daemon=True)
        self.reason: str | None = None
        self._sampler, self._watch, self._stop_run, self._period = sampler, watch, stop, period
        self._done, self._lock = Event(), Lock()
        self._moments: list[Moment] = []
        self._began = 0.0
        self._before: RungSample | None = None
        self._recording = False

    def run(self) -> None:
        """Sample once in every period until the monitor is closed."""
        while not self._done.wait(self._period):
            self._tick()

    def close(self) -> None:
        """Stop sampling."""
        self._done.set()
        if self.is_alive():
            self.join()

    def rung(self, mount: str | None) -> None:
        """Begin a new rung: remove the samples of the one before."""
        with self._lock:
            self._sampler.mount = mount
            self._moments, self._before, self._began = [], None, time.monotonic()

    def record(self, on: bool) -> None:
        """Keep samples while a repeat is measured, and only then."""
        with self._lock:
            self._recording, self._before = on, None

    def moments(self) -> list[Moment]:
        """Return the samples of this rung, thinned out evenly."""
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
            now = self._sampler.sample(time.monotonic())
            if self._before is not None:
                moment = self._sampler.moment(self._before, now, self._began)
                self._moments.append(moment.model_copy(update={"temperature": self._watch.hottest()}))
            self._before = now
