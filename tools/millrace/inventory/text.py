# SPDX-License-Identifier: Apache-2.0
"""The inventory as a table."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millrace.inventory.model import Drive, DriveState, Inventory, Nic, PcieLink
from millrace.system.text import binary, size

WIDTH = 120
COLOURS = {
    DriveState.BLANK: "green",
    DriveState.OURS: "cyan",
    DriveState.FOREIGN: "yellow",
    DriveState.UNKNOWN: "red",
    DriveState.BOOT: "dim",
}


def show(inventory: Inventory) -> None:
    """Print CPUs, drives and network ports on standard output, and which kernel modules are not Debian's."""
    console = Console(width=WIDTH, highlight=False)
    console.print(Text(f"{inventory.cpu_model}, sockets: {inventory.sockets}, Linux {inventory.kernel}"))
    for table in (_processors(inventory), _drives(inventory.drives), _nics(inventory.nics)):
        console.print(table)
    if rebuilt := [module.name for module in inventory.file_modules if module.build == "millrace"]:
        console.print(Text(f"Kernel modules rebuilt with the image, instead of Debian's: {', '.join(rebuilt)}"))


def _processors(inventory: Inventory) -> Table:
    table = Table(title="Processors", title_justify="left", box=SIMPLE_HEAD)
    for column in ("NUMA node", "Socket", "Cores", "CPUs", "L3", "Memory"):
        table.add_column(column, justify="right")
    for node in inventory.nodes:
        table.add_row(
            str(node.id),
            _or_dash(node.socket),
            str(node.cores),
            str(len(node.cpus)),
            binary(node.l3) if node.l3 else "-",
            binary(node.memory),
        )
    return table


def _drives(drives: list[Drive]) -> Table:
    table = Table(title=f"Drives: {len(drives)}", title_justify="left", box=SIMPLE_HEAD)
    for column in ("Serial", "Name", "Model", "Size", "Slot", "Node", "PCI", "Link", "Worn", "°C", "State", "Found"):
        table.add_column(column, overflow="fold")
    for drive in drives:
        table.add_row(
            Text(drive.serial or "none"),
            Text(drive.name),
            Text(drive.model),
            size(drive.size),
            Text(drive.bay or drive.slot or "-"),
            _or_dash(drive.numa_node),
            _or_dash(drive.pci_address),
            _link(drive.link),
            "-" if drive.wear is None else f"{drive.wear} %",
            _or_dash(drive.temperature),
            Text(drive.state.value, COLOURS[drive.state]),
            Text("" if drive.state is DriveState.BLANK else "\n".join(item.finding for item in drive.evidence)),
        )
    return table


def _nics(nics: list[Nic]) -> Table:
    table = Table(title=f"Network ports: {len(nics)}", title_justify="left", box=SIMPLE_HEAD)
    for column in ("Name", "Driver", "Speed", "Link", "Node", "PCI", "PCIe", "Queues", "RDMA", "Firmware"):
        table.add_column(column)
    for nic in nics:
        table.add_row(
            Text(nic.name),
            nic.driver,
            f"{nic.speed / 1000:g} Gbit/s" if nic.speed else "unknown",
            "up" if nic.carrier else "down",
            _or_dash(nic.numa_node),
            _or_dash(nic.pci_address),
            _link(nic.link),
            str(nic.queues),
            _or_dash(nic.rdma_device),
            Text(_or_dash(nic.firmware)),
        )
    return table


def _link(link: PcieLink | None) -> str:
    """Now, and in brackets what the device can do where that is more."""
    if link is None:
        return "-"
    now, best = (link.speed, link.width), (link.max_speed, link.max_width)
    return f"{now[0]:g} GT/s ×{now[1]}" + (f" (of {best[0]:g} ×{best[1]})" if now != best else "")


def _or_dash(value: int | str | None) -> str:
    return "-" if value is None else str(value)
