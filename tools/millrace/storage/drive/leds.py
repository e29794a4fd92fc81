# SPDX-License-Identifier: Apache-2.0
"""The LEDs that the kernel can light to show a bay: of an enclosure that speaks SES, of a hot-plug slot of PCIe.

NPEM needs a kernel with CONFIG_PCI_NPEM; where it has that, the LED is among its LEDs.
"""

from dataclasses import dataclass
from pathlib import Path

from millrace.inventory import pci
from millrace.inventory.enclosures import locate_led
from millrace.system import sysfs


@dataclass(frozen=True)
class Led:
    """A sysfs attribute, and what is written to it; `shared` if it also shows problems of the bay."""

    path: Path
    on: str
    off: str
    shared: bool = False

    def light(self) -> str:
        """Switch it on and return what to write afterwards. OSError: the kernel refused."""
        before = sysfs.text(self.path)
        sysfs.write(self.path, self.on)
        # not what an earlier call left on
        return before if self.shared and before and before != self.on else self.off

    def switch_off(self) -> None:
        """Switch it off; a problem that it shows stays. OSError: the kernel refused."""
        if not self.shared or sysfs.text(self.path) == self.on:
            sysfs.write(self.path, self.off)


def led_of(sysroot: Path, device: Path) -> Led | None:
    """Return the LED of a drive's bay, by the sysfs directory of its device; None where the kernel has none."""
    if enclosure := locate_led(sysroot, device):
        return Led(enclosure, "1", "0")
    controller = device.resolve()
    function = sysfs.pci_function(controller)
    # a SCSI controller is in a slot, too, with many drives behind it
    if function is None or controller.parent != function / "nvme":
        return None
    return _npem(sysroot, function) or _slot(sysroot, function)


def _npem(sysroot: Path, function: Path) -> Led | None:
    """Of the port above the drive, or of the drive itself (Documentation/ABI/testing/sysfs-bus-pci)."""
    for one in (function.parent, function):
        led = sysroot / f"sys/class/leds/{one.name}:enclosure:locate/brightness"
        if led.exists():
            return Led(led, "1", "0")
    return None


def _slot(sysroot: Path, function: Path) -> Led | None:
    """The attention indicator of the slot that the drive itself is in, not of a card that carries several drives.

    PCI Express: it blinks where the slot is identified, is on where the slot has a problem. Behind Intel VMD the kernel
    passes on the bits of both indicators as they are; the values are those of the enclosures made for it (ledmon).
    """
    name = pci.slots(sysroot).get(function.name.rpartition(".")[0])
    led = sysroot / f"sys/bus/pci/slots/{name}/attention"
    if name is None or not led.exists():
        return None
    on, off = ("7", "15") if _behind_vmd(function) else ("2", "0")
    return Led(led, on, off, shared=True)


def _behind_vmd(function: Path) -> bool:
    return any((parent / "driver").resolve().name == "vmd" for parent in function.parents)
