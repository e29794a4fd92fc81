# SPDX-License-Identifier: Apache-2.0
"""What may change while a server runs, read again without a command to any drive: PCIe links and heat."""

from pathlib import Path

from millrace.inventory import cpus, pci
from millrace.inventory.model import Inventory, PcieLink


def refreshed(inventory: Inventory, sysroot: Path) -> Inventory:
    """Return an inventory of this boot with the links of now; a device that is gone keeps its last one."""

    def link(address: str | None, before: PcieLink | None) -> PcieLink | None:
        function = sysroot / "sys/bus/pci/devices" / (address or "none")
        return (pci.link(function.resolve()) if function.exists() else None) or before

    cpu_numbers = [cpu for node in inventory.nodes for cpu in node.cpus]
    return inventory.model_copy(
        update={
            "drives": [
                drive.model_copy(update={"link": link(drive.pci_address, drive.link)}) for drive in inventory.drives
            ],
            "nics": [nic.model_copy(update={"link": link(nic.pci_address, nic.link)}) for nic in inventory.nics],
            "cpu_throttled": cpus.throttled(sysroot, cpu_numbers),
        }
    )
