# SPDX-License-Identifier: Apache-2.0
"""What the planner uses of a server besides its drives, in figures that are the same at every boot."""

from collections.abc import Iterable, Sequence

from millrace.inventory.model import Inventory, Nic, NumaNode
from millrace.system.documents import Contract
from millrace.system.text import GIB

# A port whose PCIe link carries less than this part of the best one is there to manage the server.
DATA_PORT = 1 / 4
# The virtual port of a BMC hangs off a USB controller, whose PCIe link says nothing.
USB_DRIVERS = {"cdc_eem", "cdc_ether", "cdc_ncm", "cdc_subset", "ipheth", "r8152", "rndis_host"}


class Server(Contract):
    """`memory` in bytes. Nodes count where they have CPUs: the kernel makes neither threads nor pools for others.

    `cores_per_node`: of the smallest node. `nic_nodes`: nodes with a data port. `nic_cores`: physical cores near the
    data ports, that is of their nodes and of what else is in the same socket. `port_cores`: by node with a data port.
    """

    memory: int
    cores: int
    cores_per_node: int
    compute_nodes: int
    nic_cores: int
    nic_nodes: list[int]
    port_cores: dict[int, int]

    @property
    def ports_on_every_node(self) -> bool:
        """Whether each node with CPUs has a data port of its own."""
        return len(self.nic_nodes) == self.compute_nodes


def server_of(inventory: Inventory) -> Server:
    """Return what the planner uses of an inventory."""
    return server_with(inventory.memory, inventory.nodes, inventory.nics)


def server_with(memory: int, nodes: Sequence[NumaNode], nics: Sequence[Nic]) -> Server:
    """Return what the planner uses of a server with so many bytes of memory, these nodes and these ports."""
    compute = [node for node in nodes if node.cores]
    ids = {node.id for node in compute}
    nic_nodes = sorted({nic.numa_node for nic in data_ports(nics) if nic.numa_node is not None} & ids)
    return Server(
        # The kernel keeps a little more or less for itself at every boot; whole GiB do not change.
        memory=max(1, round(memory / GIB)) * GIB,
        cores=max(1, sum(node.cores for node in compute)),
        cores_per_node=min((node.cores for node in compute), default=1),
        compute_nodes=max(1, len(compute)),
        nic_cores=sum(node.cores for node in _near(compute, nic_nodes)),
        nic_nodes=nic_nodes,
        port_cores={node.id: node.cores for node in compute if node.id in nic_nodes},
    )


def data_ports(nics: Iterable[Nic]) -> list[Nic]:
    """Return the ports for data, in the order of their PCI addresses.

    Judged by what the PCIe links can do at most: that is the same at every boot, with or without cables.
    """
    candidates = [nic for nic in nics if nic.driver not in USB_DRIVERS]
    best = max((_carries(nic) for nic in candidates), default=0.0)
    chosen = [nic for nic in candidates if nic.link is None or _carries(nic) >= best * DATA_PORT]
    return sorted(chosen, key=lambda nic: (nic.pci_address or "", nic.name))


def port_kinds(nics: Iterable[Nic]) -> list[str]:
    """Return driver and PCIe link of each data port, sorted: what a setting of ports was measured with."""
    return sorted(
        f"{nic.driver} {nic.link.max_speed:g} GT/s x{nic.link.max_width}" if nic.link else nic.driver
        for nic in data_ports(nics)
    )


def _near(compute: list[NumaNode], nic_nodes: list[int]) -> list[NumaNode]:
    sockets = {node.socket for node in compute if node.id in nic_nodes} - {None}
    return [node for node in compute if node.id in nic_nodes or node.socket in sockets]


def _carries(nic: Nic) -> float:
    return nic.link.max_speed * nic.link.max_width if nic.link else 0.0
