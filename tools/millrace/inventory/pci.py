# SPDX-License-Identifier: Apache-2.0
"""The place of a device in the PCIe tree: its link, its slot, the switch above it."""

from collections.abc import Iterable
from pathlib import Path

from millrace.inventory.model import PcieLink, PcieSwitch
from millrace.system import sysfs

# Root port, upstream port and downstream port; without a switch there is the root port alone.
PORTS_BELOW_A_SWITCH = 3


def link(function: Path | None) -> PcieLink | None:
    """Return the link of a PCI function; None where it is no PCIe device or reports none."""
    if function is None:
        return None
    speed, max_speed = _gigatransfers(function / "current_link_speed"), _gigatransfers(function / "max_link_speed")
    width, max_width = sysfs.number(function / "current_link_width"), sysfs.number(function / "max_link_width")
    if speed is None or max_speed is None or not width or not max_width:
        return None
    ports = _ports_above(function)
    return PcieLink(
        speed=speed,
        width=width,
        max_speed=max_speed,
        max_width=max_width,
        slot_speed=_gigatransfers(ports[0] / "max_link_speed") if ports else None,
        slot_width=(sysfs.number(ports[0] / "max_link_width") or None) if ports else None,
    )


def switch_port(function: Path | None) -> Path | None:
    """Return the upstream port of the nearest PCIe switch above a function; None if there is none."""
    ports = _ports_above(function) if function else []
    return ports[1] if len(ports) >= PORTS_BELOW_A_SWITCH else None


def switches(functions: Iterable[Path | None]) -> list[PcieSwitch]:
    """Return the switches above any of these functions, by address."""
    found = {port.name: port for port in map(switch_port, functions) if port}
    return [
        PcieSwitch(address=address, numa_node=sysfs.numa_node(port), link=link(port))
        for address, port in sorted(found.items())
    ]


def slots(sysroot: Path) -> dict[str, str]:
    """Return the names of the hot-plug slots by their address without function (0000:41:00)."""
    directory = sysroot / "sys/bus/pci/slots"
    addresses = {name: sysfs.text(directory / name / "address") for name in sysfs.names(directory)}
    return {address: name for name, address in addresses.items() if address}


def slot(function: Path | None, known: dict[str, str]) -> str | None:
    """Return the slot that a function, or a bridge above it on the same card, is in; `known` is from `slots`."""
    for directory in [function, *_ports_above(function)] if function else []:
        name = known.get(directory.name.rpartition(".")[0])
        if name:
            return name
    return None


def _ports_above(function: Path) -> list[Path]:
    """Bridges between a function and its host bridge, the nearest first. A domain behind Intel VMD ends at the VMD."""
    found = []
    for directory in function.parents:
        if not sysfs.PCI_FUNCTION.fullmatch(directory.name):
            break
        found.append(directory)
    return found


def _gigatransfers(path: Path) -> float | None:
    """`32.0 GT/s PCIe` -> 32.0; `Unknown` -> None."""
    try:
        return float((sysfs.text(path) or "").split()[0])
    except (ValueError, IndexError):
        return None
