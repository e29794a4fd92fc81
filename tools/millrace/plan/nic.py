# SPDX-License-Identifier: Apache-2.0
"""Network ports: how many queues, and which core serves each of them. Pure.

A plan holds no kernel names and a port can come later, so this is computed whenever settings are applied, from what is
there then. What the plan says about it is in `plan_ports`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from millrace.inventory.model import Nic

# A port whose PCIe link carries less than this part of the best one is there to manage the server.
DATA_PORT = 1 / 4
# The virtual port of a BMC hangs off a USB controller, whose PCIe link says nothing.
USB_DRIVERS = {"cdc_eem", "cdc_ether", "cdc_ncm", "cdc_subset", "ipheth", "r8152", "rndis_host"}


@dataclass(frozen=True)
class Core:
    """One physical core: its NUMA node, its processor package, its logical CPUs with the lowest first."""

    node: int
    package: int
    cpus: tuple[int, ...]


@dataclass(frozen=True)
class Port:
    """One port as its driver describes it now. `most_queues`: what it offers, None where that cannot be set."""

    name: str
    node: int | None
    most_queues: int | None


@dataclass(frozen=True)
class Placement:
    """The cores of one port, the core of queue 0 first; `queues` is None where the driver decides."""

    queues: int | None
    cores: tuple[Core, ...]

    def interrupt_cpu(self, index: int) -> int:
        """The logical CPU for the interrupt of queue `index`: never the second thread of a core."""
        # Vectors beyond the queues serve RDMA completions: they go round the same cores.
        return self.cores[index % len(self.cores)].cpus[0]

    def transmit_cpus(self, queue: int, queues: int) -> frozenset[int]:
        """The logical CPUs that send through `queue` of `queues`: every core of the port's node has one queue."""
        count = min(queues, len(self.cores))
        chosen = [core for position, core in enumerate(self.cores) if position % count == queue % count]
        return frozenset(cpu for core in chosen for cpu in core.cpus)


def data_ports(nics: Iterable[Nic]) -> list[Nic]:
    """The ports that are there to carry data, in the order of their PCI addresses.

    Judged by what the PCIe links can do at most: that is the same at every boot, whatever is plugged in.
    """
    candidates = [nic for nic in nics if nic.driver not in USB_DRIVERS]
    best = max((_carries(nic) for nic in candidates), default=0.0)
    chosen = [nic for nic in candidates if nic.link is None or _carries(nic) >= best * DATA_PORT]
    return sorted(chosen, key=lambda nic: (nic.pci_address or "", nic.name))


def place(ports: Sequence[Port], cores: Sequence[Core]) -> dict[str, Placement]:
    """Spread the queues of all ports: one for each physical core of the port's node, as far as the port offers them.

    Ports that offer fewer queues than there are cores start where the last one of their node ended.
    """
    placements: dict[str, Placement] = {}
    taken: dict[int | None, int] = {}
    for port in ports:
        near = cores_of(port.node, cores)
        if not near:
            continue
        node = port.node if near[0].node == port.node else None
        start = taken.get(node, 0) % len(near)
        queues = None if port.most_queues is None else max(1, min(len(near), port.most_queues))
        placements[port.name] = Placement(queues=queues, cores=tuple(near[start:] + near[:start]))
        taken[node] = start + (queues or 1)
    return placements


def cores_of(node: int | None, cores: Sequence[Core]) -> list[Core]:
    """The cores of a node; those of all nodes in turn where it is not known or has no processors."""
    near = [core for core in cores if core.node == node]
    return near or _in_turn(cores)


def smb_cpus(ports: Iterable[Nic], cores: Sequence[Core]) -> frozenset[int] | None:
    """The logical CPUs for smbd: those of the one socket that all `ports` (data ports with a carrier) are at.

    None where there is one socket, where ports are at several, or where a place is not known. The nodes within a socket
    are near enough; a single one would have a part of its memory channels only.
    """
    sockets = {core.node: core.package for core in cores}
    nodes = {port.numa_node for port in ports}
    if not nodes or not nodes <= sockets.keys() or len(set(sockets.values())) == 1:
        return None
    near = {sockets[node] for node in nodes if node is not None}
    return frozenset(cpu for core in cores if core.package in near for cpu in core.cpus) if len(near) == 1 else None


def _in_turn(cores: Sequence[Core]) -> list[Core]:
    by_node: dict[int, list[Core]] = {}
    for core in cores:
        by_node.setdefault(core.node, []).append(core)
    ranked = [(position, core.node, core) for near in by_node.values() for position, core in enumerate(near)]
    return [core for _, _, core in sorted(ranked, key=lambda one: one[:2])]


def _carries(nic: Nic) -> float:
    return nic.link.max_speed * nic.link.max_width if nic.link else 0.0
