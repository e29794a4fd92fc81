# SPDX-License-Identifier: Apache-2.0
"""What the plan says about network ports. It names nodes, not ports: a port may come or go after the approval."""

from millrace.plan import sources
from millrace.plan.model import Decision
from millrace.plan.server import Server


def plan_ports(server: Server) -> list[Decision]:
    """The rules that `tune` follows at each boot and when a port appears."""
    return [_queues(server), _interrupts(), _rings(), _smb(server)]


def _queues(server: Server) -> Decision:
    known = [f"{cores} on node {node}" for node, cores in sorted(server.port_cores.items())]
    return Decision(
        name="ports.queues",
        value={f"node{node}": cores for node, cores in sorted(server.port_cores.items())},
        reason="A port has one queue for each physical core of its own node, as far as it offers them"
        + (f": {', '.join(known)}." if known else "; no place of a port is known, so all cores count."),
        source=sources.NIC_QUEUES,
    )


def _interrupts() -> Decision:
    return Decision(
        name="ports.interrupts",
        value="one vector for each core of the port's node",
        reason="A core takes the interrupts of one queue and sends through the same queue; second threads of a core "
        "take none. Vectors that the kernel manages itself are left alone, and there is no irqbalance to undo it.",
        source=sources.NIC_INTERRUPTS,
    )


def _rings() -> Decision:
    return Decision(
        name="ports.rings",
        value="the driver's",
        reason="Rings of 8192 and adaptive coalescing no longer help since kernel 6.11, and large rings fall out of "
        "the cache; tune says when a port drops packets for want of buffers.",
        source=sources.NIC_RINGS,
    )


def _smb(server: Server) -> Decision:
    return Decision(
        name="smb.processors",
        value="the socket of the ports, where all with a link are at one of several",
        reason="One process serves one client and copies its data: 5 instead of 3.8 GB/s on the processor of its port. "
        "With ports at several sockets a process may serve any of them and stays free."
        if server.compute_nodes > 1
        else "There is one node with processors: nothing to choose.",
        source=sources.SMB_NUMA,
    )
