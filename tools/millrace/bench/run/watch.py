# SPDX-License-Identifier: Apache-2.0
"""What ends a run before its time: heat, new errors, an array that lost a drive. Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millrace import paths
from millrace.system import sysfs

HOT = 70.0
"""Degrees Celsius where a drive does not say what is too warm for it."""


@dataclass
class Watch:
    """Remembers how it was at the start. `drives` are (kernel name, serial), `arrays` (kernel name, plan's name)."""

    drives: Sequence[tuple[str, str]]
    arrays: Sequence[tuple[str, str]]
    root: Path = field(default_factory=lambda: paths.ROOT)

    def __post_init__(self) -> None:
        self._errors = self._counters()
        self._missing = {name: self._degraded(name) for name, _ in self.arrays}

    def complaint(self) -> str | None:
        """Why the run must end now; None where all is as it was."""
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
        """Degrees Celsius of the warmest drive."""
        return max((heat for name, _ in self.drives if (heat := self.temperature(name)[0]) is not None), default=None)

    def temperature(self, name: str) -> tuple[float | None, float]:
        """How warm a drive is, and how warm it may become (its warning threshold)."""
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
        found: dict[str, int] = {}
        for name, title in self.arrays:
            for member in (self._block(name) / "md").glob("dev-*"):
                found[f"{member.name.removeprefix('dev-')} in array {title}"] = sysfs.number(member / "errors") or 0
        for name, serial in self.drives:
            said = sysfs.text(self._block(name) / "device/ioerr_cnt")
            if said:
                found[f"drive {serial}"] = int(said, 0)
        return found

    def _degraded(self, name: str) -> int:
        return sysfs.number(self._block(name) / "md/degraded") or 0

    def _block(self, name: str) -> Path:
        return self.root / "sys/class/block" / name
