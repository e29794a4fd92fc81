# SPDX-License-Identifier: Apache-2.0
"""A check of the data arrays beside what is measured: it reads the drives as a rebuild does, and writes nothing.

md lets clients go first until it is slower than sync_speed_min, as in a rebuild.
"""

from dataclasses import dataclass

from millrace.plan.model import Role
from millrace.storage.array import resync
from millrace.storage.array.devices import array_device, block
from millrace.storage.record.model import Pool
from millrace.tune.knob import Setting


@dataclass(frozen=True)
class CheckSetting(Setting):
    """What md does with one array: `check` begins at its first sector, `idle` ends it."""

    device: str
    wanted: str = resync.CHECK
    reason: str = "a run measures beside a rebuild"

    @property
    def label(self) -> str:
        """The path of the file."""
        return str(block(self.device) / "md/sync_action")

    def read(self) -> str:
        """Return what md does now; `idle` where the array is not there."""
        return resync.action(self.device)

    def write(self, value: str) -> None:
        """Begin a check or end it. OSError: the kernel refuses."""
        if value == resync.CHECK:
            resync.begin(self.device, 0)
        else:
            resync.cancel(self.device)
            resync.whole(self.device)


def check_settings(pool: Pool) -> list[CheckSetting]:
    """Return what begins and ends a check of each data array that has something to compare."""
    redundant = [one.array for one in pool.arrays if one.array.role is Role.DATA and one.array.level != "raid0"]
    devices = [array_device(one.name) for one in redundant]
    return [CheckSetting(one) for one in devices if one is not None]
