# SPDX-License-Identifier: Apache-2.0
"""Hot plug is off for slots in which a new drive would take the addresses of drives in use."""

from dataclasses import dataclass

from millrace.inventory.hotplug import DEVICES, DRIVER, Slot, without_addresses
from millrace.system import paths, sysfs
from millrace.tune.knob import Setting

ON, OFF = "pciehp", "none"


@dataclass(frozen=True)
class SlotKnob(Setting):
    """Which driver watches a slot: `pciehp`, or `none`."""

    service: str
    reason: str
    wanted: str = OFF
    default: str | None = ON

    @property
    def label(self) -> str:
        """The link to the driver."""
        return str(paths.ROOT / DEVICES / self.service / "driver")

    def read(self) -> str:
        """Return the driver."""
        return ON if (paths.ROOT / DEVICES / self.service / "driver").exists() else OFF

    def write(self, value: str) -> None:
        """Bind or unbind the driver. OSError: the kernel refuses."""
        name = "bind" if value == ON else "unbind"
        sysfs.write(paths.ROOT / DRIVER / name, self.service)


def slot_settings() -> list[Setting]:
    """Return the setting of each such slot."""
    return [_setting(one) for one in without_addresses(paths.ROOT)]


def _setting(slot: Slot) -> Setting:
    why = f"the firmware left no addresses for {slot.name}: a new drive would get those of drives in use"
    return SlotKnob(slot.service, why)
