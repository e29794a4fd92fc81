# SPDX-License-Identifier: Apache-2.0
"""Network ports: how many queues, which core serves each of them, and what the plan says about it. Pure.

A plan holds no kernel names and a port can be added later, so the placement is computed whenever settings are applied,
from what is there then; the decisions name nodes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from millrace.inventory.model import Inventory, Nic
from millrace.plan import sources
from millrace.plan.finding import PlanFinding, Severity
from millrace.plan.model import Decision
from millrace.plan.policy.model import PortsPolicy
from millrace.plan.server import Server


@dataclass(frozen=True)
class Core:
    """One physical core: its NUMA node, its socket, its logical CPUs with the lowest first."""

    node: int
    package: int
    cpus: tuple[int, ...]


@dataclass(frozen=True)
class DriverPort:
    """One port as its driver describes it now. `most_queues`: what it offers, None where that cannot be set."""

    name: str
    node: int | None
    most_queues: int | None


@dataclass(frozen=True)
class Placement:
    """The cores of one port, the core of queue 0 first; `queues` is None where the driver decides."""

    queues: int | None
    cores: tuple[Core, ...]

    def interrupt_cpu(self, index: int, most: int | None = None) -> int:
        """Return the logical CPU for the interrupt of queue `index`: never the second thread of a core.

        At most `most` cores take interrupts, the first ones of the port.
        """
        # Vectors beyond the queues serve RDMA completions: they go round the same cores.
        cores = self.cores[:most]
        return cores[index % len(cores)].cpus[0]

    def transmit_cpus(self, queue: int, queues: int) -> frozenset[int]:
        """Return the logical CPUs that send through `queue` of `queues`: each core of the port's node has one queue."""
        count = min(queues, len(self.cores))
        chosen = [core for position, core in enumerate(self.cores) if position % count == queue % count]
        return frozenset(cpu for core in chosen for cpu in core.cpus)


def place(ports: Sequence[DriverPort], cores: Sequence[Core]) -> dict[str, Placement]:
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
    """Return the cores of a node; those of all nodes in turn where it is not known or has no CPUs."""
    near = [core for core in cores if core.node == node]
    return near or _in_turn(cores)


def smb_cpus(ports: Iterable[Nic], cores: Sequence[Core]) -> frozenset[int] | None:
    """Return the logical CPUs for smbd: those of the one socket that all `ports` (data ports with a carrier) are at.

    None where there is one socket, where ports are at several, or where the location is not known. The nodes within a
    socket are near enough; a single one would have a part of its memory channels only.
    """
    sockets = {core.node: core.package for core in cores}
    nodes = {port.numa_node for port in ports}
    if not nodes or not nodes <= sockets.keys() or len(set(sockets.values())) == 1:
        return None
    near = {sockets[node] for node in nodes if node is not None}
    return frozenset(cpu for core in cores if core.package in near for cpu in core.cpus) if len(near) == 1 else None


def plan_ports(server: Server, wanted: PortsPolicy | None = None) -> list[Decision]:
    """Return the rules that `tune` follows at each boot and when a port appears; `wanted` has rings of its own."""
    return [_queues(server), _interrupts(), *_rings(wanted or PortsPolicy()), _smb(server)]


def audit_ports(inventory: Inventory) -> list[PlanFinding]:
    """Report a server without a network port that has a link."""
    if any(nic.carrier for nic in inventory.nics):
        return []
    what, todo = (
        ("No network port has a link.", "Connect the cables, and check the switch.")
        if inventory.nics
        else ("No network port was found.", "Install a network card that the kernel has a driver for.")
    )
    return [PlanFinding(name="network.none", severity=Severity.WARN, subject="network", what=what, todo=todo)]


def _in_turn(cores: Sequence[Core]) -> list[Core]:
    by_node: dict[int, list[Core]] = {}
    for core in cores:
        by_node.setdefault(core.node, []).append(core)
    ranked = [(position, core.node, core) for near in by_node.values() for position, core in enumerate(near)]
    return [core for _, _, core in sorted(ranked, key=lambda one: one[:2])]


def _queues(server: Server) -> Decision:
    known = [f"{cores} on node {node}" for node, cores in sorted(server.port_cores.items())]
    return Decision(
        name="ports.queues",
        value={f"node{node}": cores for node, cores in sorted(server.port_cores.items())},
        reason="One queue for each physical core of the port's NUMA node, as far as the port supports them"
        + (f": {', '.join(known)}." if known else "; the location of the ports is unknown, so all cores are used."),
        source=sources.NIC_QUEUES,
    )


def _interrupts() -> Decision:
    return Decision(
        name="ports.interrupts",
        value="one vector for each core of the port's NUMA node",
        reason="A core takes the interrupts of one queue and sends through the same queue; sibling threads take "
        "none. Vectors that the kernel manages are not changed, and no irqbalance runs.",
        source=sources.NIC_INTERRUPTS,
    )


def _rings(wanted: PortsPolicy) -> list[Decision]:
    left = [name for name, ring in (("rx", wanted.rx_ring), ("tx", wanted.tx_ring)) if ring is None]
    if not left:
        return []
    decision = Decision(
        name="ports.rings",
        value="driver default" if len(left) > 1 else f"driver default for {left[0]}",
        reason="Rings of 8192 and adaptive coalescing no longer help since kernel 6.11, and large rings do not fit "
        "the cache; `millrace tune` reports a port that drops packets for lack of buffers.",
        source=sources.NIC_RINGS,
    )
    return [decision]


def _smb(server: Server) -> Decision:
    return Decision(
        name="smb.affinity",
        value="the socket of the ports, if all ports with a link are on one",
        reason="One smbd process serves one client and copies its data: 5 instead of 3.8 GB/s on the socket of its "
        "port. With ports on several sockets processes are not pinned."
        if server.compute_nodes > 1
        else "Only one NUMA node has CPUs: nothing to pin.",
        source=sources.SMB_NUMA,
    )
