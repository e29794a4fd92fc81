# SPDX-License-Identifier: Apache-2.0
"""Traffic that has to cross from one processor to the other."""

from collections import Counter

from millrace.inventory.model import Drive, Inventory, Nic
from millrace.plan.constants import GIGA
from millrace.plan.finding import Finding, Severity
from millrace.plan.machine import BITS

MEGABIT = 1_000_000


def audit_sockets(inventory: Inventory, data: list[Drive]) -> list[Finding]:
    """Drives on a processor without a network card: how much of the traffic crosses, and what to plug in elsewhere."""
    if inventory.sockets < 2:
        return []
    socket_of = {node.id: node.socket for node in inventory.nodes if node.socket is not None}
    nics = [nic for nic in inventory.nics if nic.carrier] or inventory.nics
    drives = Counter(socket_of[drive.numa_node] for drive in data if drive.numa_node in socket_of)
    ports = [(nic, socket_of[nic.numa_node]) for nic in nics if nic.numa_node in socket_of]
    served = {socket for _, socket in ports}
    lonely = sorted(set(drives) - served)
    if not lonely or not served:
        return []
    far = sum(drives[socket] for socket in lonely)
    return [_finding([nic for nic, _ in ports], served, lonely, far, drives)]


def _finding(nics: list[Nic], served: set[int], lonely: list[int], far: int, drives: Counter[int]) -> Finding:
    total = sum(drives.values())
    share = far / total
    line = sum(nic.speed or 0 for nic in nics) * MEGABIT / BITS
    amount = f", up to {line * share / GIGA:.1f} GB/s," if line else ""
    cards = sorted({(nic.pci_address or nic.name).rpartition(".")[0] or nic.name for nic in nics})
    return Finding(
        name="sockets.crossing",
        # With one card between two processors half of the traffic crosses whatever one does.
        severity=Severity.INFO if len(cards) == 1 and far < total else Severity.WARN,
        subject=", ".join(sorted({nic.pci_address or nic.name for nic in nics})),
        what=f"{far} of {total} data drives are on {_list(lonely)}, all network ports on "
        f"{_list(sorted(served))}: {share:.0%} of the traffic{amount} crosses NUMA nodes.",
        todo=_todo(cards, served, lonely, far, total),
    )


def _todo(cards: list[str], served: set[int], lonely: list[int], far: int, total: int) -> str:
    there, here = _list(lonely), _list(sorted(served))
    if far == total:
        return f"Put the network card into a slot of {there}, or the drives into bays of {here}."
    if len(cards) > 1:
        return f"Put one network card ({cards[-1]}) into a slot of {there}."
    return f"Add a network card in a slot of {there}, or put all data drives into bays of {here}."


def _list(sockets: list[int]) -> str:
    return f"processor{'s' * (len(sockets) > 1)} {', '.join(map(str, sockets))}"
