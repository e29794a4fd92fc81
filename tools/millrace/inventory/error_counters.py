# SPDX-License-Identifier: Apache-2.0
"""What hardware counts of its own errors, from sysfs alone: memory (EDAC), PCIe links (AER), heat of the CPU sockets.

No daemon takes part: rasdaemon would keep a database of the same counters. All of them begin at 0 with each start of
the server, those of a PCIe function also when it is put in.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from millrace.inventory.cpus import cpu_list
from millrace.inventory.model import Drive
from millrace.system import sysfs
from millrace.system.text import one_line

EDAC = "sys/devices/system/edac/mc"
NETWORK = "0x02"
"""How the class of a network controller begins (PCI code and ID assignment specification)."""

# What a link that works counts, too: a request that nobody serves is how firmware and tools probe, an access that ACS
# refuses comes from a peer, and a drive that is pulled ends its link by surprise (kernel 7.2, drivers/pci/pcie/aer.c).
HARMLESS = {"UnsupReq", "ACSViol", "SDES"}


@dataclass(frozen=True)
class Module:
    """A memory module, or what its controller could not attribute: errors since the start, corrected and not."""

    key: str
    title: str
    corrected: int
    uncorrected: int


@dataclass(frozen=True)
class LinkErrors:
    """Errors that one end of a PCIe link reported."""

    corrected: int
    uncorrected: int


@dataclass(frozen=True)
class LinkEnd:
    """What one end of a PCIe link counted; `key` is the serial of a drive, else a PCI address."""

    key: str
    errors: LinkErrors


@dataclass(frozen=True)
class CountedLink:
    """The PCIe link of a drive (by serial), a network card (by the names of its ports) or a switch (by address)."""

    kind: Literal["drive", "card", "switch"]
    subject: str
    ends: Sequence[LinkEnd]


def modules(sysroot: Path) -> list[Module]:
    """Return all memory modules of which the kernel counts errors; none without an EDAC driver."""
    directory = sysroot / EDAC
    memory_modules = []
    for controller in sysfs.names(directory):
        if not controller.removeprefix("mc").isdecimal():
            continue
        here = directory / controller
        dimms = [_module(here / name) for name in sysfs.names(here) if _is_module(name)]
        memory_modules += dimms
        corrected = (sysfs.number(here / "ce_count") or 0) - sum(dimm.corrected for dimm in dimms)
        uncorrected = (sysfs.number(here / "ue_count") or 0) - sum(dimm.uncorrected for dimm in dimms)
        title = f"Memory controller {controller.removeprefix('mc')} (module not reported)"
        memory_modules.append(Module(f"{controller}/others", title, max(0, corrected), max(0, uncorrected)))
    return memory_modules


def links(sysroot: Path, drives: Iterable[Drive]) -> list[CountedLink]:
    """Return the links of these drives, of the network cards and of the PCIe switches above the drives.

    Each has the errors of both ends; links without counters are left out.
    """
    devices, pcie_links = sysroot / "sys/bus/pci/devices", list[CountedLink]()
    here = [drive for drive in drives if drive.pci_address]
    for drive in here:
        function = (devices / str(drive.pci_address)).resolve()
        pcie_links.append(
            CountedLink("drive", drive.serial or drive.name, _ends({drive.serial or function.name: function}))
        )
    cards: dict[str, dict[str, Path]] = {}
    for port in _network_functions(sysroot):
        cards.setdefault(port.name.rpartition(".")[0], {})[port.name] = port
    for ports in cards.values():
        # a service without network sees no names
        names = [name for port in ports.values() for name in sysfs.names(port / "net")]
        pcie_links.append(CountedLink("card", ", ".join(names or ports), _ends(ports)))
    for address in sorted({drive.switch for drive in here if drive.switch}):
        pcie_links.append(CountedLink("switch", address, _ends({address: (devices / address).resolve()})))
    return [link for link in pcie_links if link.ends]


def _network_functions(sysroot: Path) -> list[Path]:
    """The PCI functions of network ports, without those of SR-IOV, which share the link of their card.

    A service without network sees no ports, and looks through all functions.
    """
    devices, ports = sysroot / "sys/bus/pci/devices", sysroot / "sys/class/net"
    here = {sysfs.pci_function(ports / name / "device") for name in sysfs.names(ports)} - {None}
    functions = here or {
        (devices / name).resolve()
        for name in sysfs.names(devices)
        if (sysfs.text(devices / name / "class") or "").startswith(NETWORK)
    }
    return sorted(function for function in functions if function is not None and not (function / "physfn").exists())


def _ends(functions: Mapping[str, Path]) -> list[LinkEnd]:
    """The functions of a device, and the port that it is plugged into."""
    above = {port.name: port for port in (one.parent for one in functions.values()) if is_function(port)}
    known = {key: link_errors(one) for key, one in {**functions, **above}.items()}
    return [LinkEnd(key, errors) for key, errors in known.items() if errors is not None]


def is_function(directory: Path) -> bool:
    """Whether a directory of sysfs is that of a PCI function."""
    return sysfs.PCI_FUNCTION.fullmatch(directory.name) is not None


def link_errors(function: Path) -> LinkErrors | None:
    """Return what a PCI function counted; None without AER, or where the firmware keeps it to itself."""
    corrected = _counts(function / "aer_dev_correctable")
    fatal, others = _counts(function / "aer_dev_fatal"), _counts(function / "aer_dev_nonfatal")
    if not corrected and not fatal and not others:
        return None
    return LinkErrors(_total(corrected), _total(fatal) + _total(others))


def throttled_packages(sysroot: Path) -> dict[int, tuple[int, int]]:
    """Return how often each CPU socket was slowed down by heat since the start, and for how many ms.

    Linux counts it for those of Intel alone; all CPUs of a socket have the same counters.
    """
    packages = {}
    for cpu in _first_cpus(sysroot):
        directory = sysroot / f"sys/devices/system/cpu/cpu{cpu}"
        times = sysfs.number(directory / "thermal_throttle/package_throttle_count")
        if times is not None:
            package = sysfs.number(directory / "topology/physical_package_id") or 0
            ms = sysfs.number(directory / "thermal_throttle/package_throttle_total_time_ms") or 0
            packages[package] = times, ms
    return packages


def _first_cpus(sysroot: Path) -> list[int]:
    """One CPU of each NUMA node: a socket has one node or more, and a check of health must not read hundreds."""
    nodes = sysroot / "sys/devices/system/node"
    lists = [sysfs.text(nodes / name / "cpulist") or "" for name in sysfs.names(nodes) if name[4:].isdecimal()]
    return [cpus[0] for cpus in map(cpu_list, lists) if cpus] or [0]


def _is_module(name: str) -> bool:
    return name.startswith(("dimm", "rank")) and name[4:].isdecimal()


def _module(directory: Path) -> Module:
    label = one_line(sysfs.text(directory / "dimm_label") or "")
    return Module(
        key=f"{directory.parent.name}/{directory.name}",
        title=f"Memory module {label or f'{directory.name} of controller {directory.parent.name}'}",
        corrected=sysfs.number(directory / "dimm_ce_count") or 0,
        uncorrected=sysfs.number(directory / "dimm_ue_count") or 0,
    )


def _counts(file: Path) -> Mapping[str, int]:
    """The counters of a file by name; its last line is their total."""
    words = [line.split() for line in (sysfs.text(file) or "").splitlines()]
    return {one[0]: int(one[1]) for one in words if len(one) == 2 and one[1].isdecimal()}


def _total(counts: Mapping[str, int]) -> int:
    return sum(count for name, count in counts.items() if name not in HARMLESS and not name.startswith("TOTAL_"))
