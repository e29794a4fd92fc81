# SPDX-License-Identifier: Apache-2.0
"""Empty hot-plug slots for which the firmware left no memory addresses.

A drive that is put into such a slot while the server runs gets the addresses of its neighbours: kernel 7.2 releases the
windows of all slots on the same host bridge, also of drives in use, and these answer no longer
(drivers/pci/setup-bus.c, pci_assign_unassigned_bridge_resources; seen in QEMU with 12 slots).
"""

import re
from dataclasses import dataclass
from pathlib import Path

from millrace.system import sysfs

DEVICES = "sys/bus/pci_express/devices"
DRIVER = "sys/bus/pci_express/drivers/pciehp"

# The hot-plug service of a port (drivers/pci/pcie/portdrv.c: its kind, then the bit of the service).
_SERVICE = re.compile(r".*:pcie[0-9a-f]04")
# `resource` ends with the four windows of a bridge: I/O, memory, prefetchable memory, and one of CardBus.
_WINDOWS, _MEMORY = 4, 1
# Offsets in configuration space (PCI Express Base Specification, 7.5).
_FIRST_CAPABILITY, _PCI_EXPRESS, _SLOT_CAPABILITIES = 0x34, 0x10, 0x14
_NUMBER_SHIFT, _MOST_CAPABILITIES = 19, 48


@dataclass(frozen=True)
class Slot:
    """An empty hot-plug slot; `service` is the kernel's name of what watches it, `number` as printed on the chassis."""

    service: str
    number: int | None
    is_watched: bool

    @property
    def name(self) -> str:
        """Return `slot 7`, or the address of the port above it where it has no number."""
        return f"slot {self.number}" if self.number is not None else f"the slot at {self.service.rpartition(':')[0]}"


def without_addresses(sysroot: Path) -> list[Slot]:
    """Return the empty hot-plug slots that have no memory window, by the address of their ports."""
    directory = sysroot / DEVICES
    found = []
    for name in filter(_SERVICE.fullmatch, sysfs.names(directory)):
        service = (directory / name).resolve()
        if not _is_occupied(service.parent) and _has_no_window(service.parent):
            found.append(Slot(name, _number(service.parent), (service / "driver").exists()))
    return found


def _is_occupied(port: Path) -> bool:
    return any(sysfs.PCI_FUNCTION.fullmatch(name) for name in sysfs.names(port))


def _has_no_window(port: Path) -> bool:
    """Whether there is no memory window. The prefetchable one is no help: registers of drives are not prefetchable."""
    lines = (sysfs.text(port / "resource") or "").splitlines()
    if len(lines) <= _WINDOWS:
        return False
    first, last, *_ = lines[-_WINDOWS:][_MEMORY].split()
    return int(first, 16) >= int(last, 16)


def _number(port: Path) -> int | None:
    """The physical slot number, of which the kernel makes the name of a slot that is watched."""
    try:
        config = (port / "config").read_bytes()
        at = config[_FIRST_CAPABILITY]
        for _ in range(_MOST_CAPABILITIES):
            if config[at] == _PCI_EXPRESS:
                registers = config[at + _SLOT_CAPABILITIES : at + _SLOT_CAPABILITIES + 4]
                return int.from_bytes(registers, "little") >> _NUMBER_SHIFT or None
            at = config[at + 1]
    except (OSError, IndexError):
        pass
    return None
