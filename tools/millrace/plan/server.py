# SPDX-License-Identifier: Apache-2.0
"""What the planner uses of a server besides its drives, in figures that are the same at every boot."""

from dataclasses import dataclass

from millrace.inventory.model import Inventory
from millrace.plan.units import GIB


@dataclass(frozen=True)
class Server:
    """`memory` in bytes. `nic_cores`: physical cores of the nodes that have network ports."""

    memory: int
    cores: int
    cores_per_node: int
    compute_nodes: int
    nic_cores: int
    nic_nodes: list[int]


def server_of(inventory: Inventory) -> Server:
    """Condense an inventory."""
    compute = [node for node in inventory.nodes if node.cores]
    cores = max(1, sum(node.cores for node in compute))
    nic_nodes = sorted({nic.numa_node for nic in inventory.nics if nic.numa_node is not None})
    return Server(
        # The kernel keeps a little more or less for itself at every boot; whole GiB do not change.
        memory=max(1, round(inventory.memory / GIB)) * GIB,
        cores=cores,
        cores_per_node=max(1, cores // max(1, len(compute))),
        compute_nodes=max(1, len(compute)),
        nic_cores=sum(node.cores for node in compute if node.id in nic_nodes),
        nic_nodes=nic_nodes,
    )
