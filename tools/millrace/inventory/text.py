# SPDX-License-Identifier: Apache-2.0
"""The inventory as tables."""

from collections.abc import Iterator

from millrace.inventory.model import DriveState, Inventory, PcieLink
from millrace.system.printing import Cell, Style, Styled, table
from millrace.system.text import binary, size

COLOURS: dict[DriveState, Style] = {
    DriveState.BLANK: "green",
    DriveState.OURS: "cyan",
    DriveState.FOREIGN: "yellow",
    DriveState.UNKNOWN: "red",
    DriveState.BOOT: "dim",
}
PROCESSORS = ("NUMA node", "Socket", "Cores", "CPUs", "L3", "Memory")
DRIVES = ("Serial", "Name", "Model", "Size", "Slot", "Node", "PCI", "Link", "Worn", "°C", "State", "Found")
PORTS = ("Name", "Driver", "Speed", "Link", "Node", "PCI", "PCIe", "Queues", "RDMA", "Firmware")


def lines(inventory: Inventory) -> Iterator[str]:
    """Yield CPUs, drives and network ports as text, and which kernel modules are not Debian's."""
    yield f"{inventory.cpu_model}, sockets: {inventory.sockets}, Linux {inventory.kernel}"
    yield from ("", "Processors")
    yield from table(PROCESSORS, _processors(inventory), right=PROCESSORS, indent=2)
    yield from ("", f"Drives: {len(inventory.drives)}")
    yield from table(DRIVES, _drives(inventory), right=("Size", "Worn", "°C"), indent=2)
    yield from ("", f"Network ports: {len(inventory.nics)}")
    yield from table(PORTS, _ports(inventory), right=("Queues",), indent=2)
    if rebuilt := [module.name for module in inventory.file_modules if module.build == "millrace"]:
        yield from ("", f"Kernel modules rebuilt with the image, instead of Debian's: {', '.join(rebuilt)}")


def _processors(inventory: Inventory) -> Iterator[list[Cell]]:
    for node in inventory.nodes:
        caches = binary(node.l3) if node.l3 else None
        yield [node.id, node.socket, node.cores, len(node.cpus), caches, binary(node.memory)]


def _drives(inventory: Inventory) -> Iterator[list[Cell]]:
    for drive in inventory.drives:
        yield [
            drive.serial or "none",
            drive.name,
            drive.model,
            size(drive.size),
            drive.bay or drive.slot,
            drive.numa_node,
            drive.pci_address,
            _link(drive.link),
            None if drive.wear is None else f"{drive.wear} %",
            drive.temperature,
            Styled(drive.state.value, COLOURS[drive.state]),
            [] if drive.state is DriveState.BLANK else [evidence.finding for evidence in drive.evidence],
        ]


def _ports(inventory: Inventory) -> Iterator[list[Cell]]:
    for nic in inventory.nics:
        yield [
            nic.name,
            nic.driver,
            f"{nic.speed / 1000:g} Gbit/s" if nic.speed else "unknown",
            "up" if nic.carrier else "down",
            nic.numa_node,
            nic.pci_address,
            _link(nic.link),
            nic.queues,
            nic.rdma_device,
            nic.firmware,
        ]


def _link(link: PcieLink | None) -> str | None:
    """Now, and in brackets what the device can do where that is more."""
    if link is None:
        return None
    now, best = (link.speed, link.width), (link.max_speed, link.max_width)
    return f"{now[0]:g} GT/s ×{now[1]}" + (f" (of {best[0]:g} ×{best[1]})" if now != best else "")
