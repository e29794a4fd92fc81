# SPDX-License-Identifier: Apache-2.0
"""Where drives are, by NUMA node, socket and PCIe switch: pairs for a mirror, legs, and traffic between sockets."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from millrace.inventory.model import Drive, Inventory, Nic
from millrace.plan.constants import BITS, GIGA, MEGABIT
from millrace.plan.finding import PlanFinding, Severity

Leg = list[Drive]
UNKNOWN = -1


@dataclass(frozen=True)
class SocketPlaces:
    """Locations of drives. `sockets` by node; a node whose socket is not known counts as a socket of its own."""

    sockets: dict[int, int]

    def node(self, drive: Drive) -> int:
        """Return the NUMA node, -1 where it is not known."""
        return UNKNOWN if drive.numa_node is None else drive.numa_node

    def socket(self, drive: Drive) -> int:
        """Return the first node of the socket, -1 where it is not known."""
        node = self.node(drive)
        socket = self.sockets.get(node)
        return node if socket is None else min(other for other, its in self.sockets.items() if its == socket)

    def in_one_node(self, leg: Leg) -> bool:
        """Whether the drives of a leg are known to be on one node."""
        return _one_place(leg, self.node)

    def in_one_socket(self, leg: Leg) -> bool:
        """Whether the drives of a leg are known to be on one socket."""
        return _one_place(leg, self.socket)

    def on_other_sockets(self, leg: Leg) -> list[Drive]:
        """Return drives that are known to be on another socket than most drives of the leg."""
        counts = Counter(socket for socket in map(self.socket, leg) if socket != UNKNOWN)
        if not counts:
            return []
        home = min(counts, key=lambda socket: (-counts[socket], socket))
        return [drive for drive in leg if self.socket(drive) not in (home, UNKNOWN)]


def places_of(inventory: Inventory) -> SocketPlaces:
    """Return the sockets of the nodes, where the server reports them."""
    return SocketPlaces({node.id: node.socket for node in inventory.nodes if node.socket is not None})


def split(drives: Sequence[Drive], legs: int, size: int, places: SocketPlaces) -> tuple[list[Leg], list[Drive]]:
    """Return `legs` legs of `size` drives, most of them within one node or socket, and the drives that remain."""
    left = sorted(drives, key=lambda drive: (places.socket(drive), places.node(drive), drive.serial))
    made: list[Leg] = []
    for place in (places.node, places.socket, _any_place):
        left = _take_legs(left, place, legs, size, made)
    made.sort(key=lambda leg: (places.socket(leg[0]), places.node(leg[0]), leg[0].serial))
    return [sorted(leg, key=lambda drive: drive.serial) for leg in made], left


def separated_pair(drives: Sequence[Drive]) -> list[Drive]:
    """Return two of these drives on different NUMA nodes, else behind different PCIe switches, else the first two."""
    ordered = sorted(drives, key=lambda drive: (drive.serial, drive.wwid))
    # max() keeps the first of the best, so that the same drives give the same pair.
    return list(max(combinations(ordered, 2), key=lambda pair: _distance(*pair)))


def most_separated(drives: Sequence[Drive], pair: Sequence[Drive]) -> Drive | None:
    """Return the drive that shares nodes and PCIe switches with the fewest of the pair; None if there is no other."""
    others = sorted((drive for drive in drives if drive not in pair), key=lambda drive: (drive.serial, drive.wwid))
    return max(others, key=lambda drive: _apart(drive, pair), default=None)


def separation_of(pair: Sequence[Drive]) -> str:
    """Return what two drives do not share, for a sentence."""
    nodes, switches = _distance(*pair)
    node, other = (drive.numa_node for drive in pair)
    if nodes:
        return "on different NUMA nodes"
    if switches:
        return "behind different PCIe switches"
    return "in unknown locations" if None in (node, other) else "on one NUMA node"


def separation_from(drive: Drive, pair: Sequence[Drive]) -> str:
    """Return what a third drive does not share with a pair, for a sentence."""
    nodes, switches = _apart(drive, pair)
    if nodes:
        return f"on another NUMA node than {'both' if nodes == len(pair) else 'one of them'}"
    if switches:
        return f"behind another PCIe switch than {'both' if switches == len(pair) else 'one of them'}"
    return "on the NUMA node of both, as far as known"


def audit_sockets(inventory: Inventory, data: list[Drive]) -> list[PlanFinding]:
    """Return findings: cores slowed down by heat, and data drives on a socket without a network card."""
    return [*_heat(inventory), *_crossing(inventory, data)]


def _crossing(inventory: Inventory, data: list[Drive]) -> list[PlanFinding]:
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


def _take_legs(
    drives: list[Drive], place: Callable[[Drive], int], legs: int, size: int, made: list[Leg]
) -> list[Drive]:
    """Add complete legs of drives that share a place to `made`; return the others."""
    by_place: dict[int, list[Drive]] = {}
    for drive in drives:
        by_place.setdefault(place(drive), []).append(drive)
    for near in by_place.values():
        while len(near) >= size and len(made) < legs:
            made.append(near[:size])
            del near[:size]
    return [drive for near in by_place.values() for drive in near]


def _any_place(_: Drive) -> int:
    return 0


def _one_place(leg: Leg, place: Callable[[Drive], int]) -> bool:
    found = {place(drive) for drive in leg}
    return len(found) == 1 and UNKNOWN not in found


def _apart(drive: Drive, pair: Sequence[Drive]) -> tuple[int, int]:
    """How many of the pair are on another node, and behind another switch."""
    distances = [_distance(drive, other) for other in pair]
    return sum(nodes for nodes, _ in distances), sum(switches for _, switches in distances)


def _distance(one: Drive, other: Drive) -> tuple[bool, bool]:
    nodes = None not in (one.numa_node, other.numa_node) and one.numa_node != other.numa_node
    return nodes, one.switch != other.switch


def _heat(inventory: Inventory) -> list[PlanFinding]:
    if not inventory.cpu_throttled:
        return []
    return [
        PlanFinding(
            name="heat.cpu",
            severity=Severity.WARN,
            subject="CPUs",
            what=f"Heat has throttled CPU cores {inventory.cpu_throttled} times since boot.",
            todo="Check the fans, the air filters and the room temperature.",
        )
    ]


def _finding(nics: list[Nic], served: set[int], lonely: list[int], far: int, drives: Counter[int]) -> PlanFinding:
    total = sum(drives.values())
    share = far / total
    line = sum(nic.speed or 0 for nic in nics) * MEGABIT / BITS
    amount = f", up to {line * share / GIGA:.1f} GB/s," if line else ""
    cards = sorted({(nic.pci_address or nic.name).rpartition(".")[0] or nic.name for nic in nics})
    return PlanFinding(
        name="sockets.crossing",
        # With one card and two sockets half of the traffic crosses whatever one does.
        severity=Severity.INFO if len(cards) == 1 and far < total else Severity.WARN,
        subject=", ".join(sorted({nic.pci_address or nic.name for nic in nics})),
        what=f"{far} of {total} data drives are on {_list(lonely)}, all network ports on "
        f"{_list(sorted(served))}: {100 * share:.0f} % of the traffic{amount} crosses between sockets.",
        todo=_todo(cards, served, lonely, far, total),
    )


def _todo(cards: list[str], served: set[int], lonely: list[int], far: int, total: int) -> str:
    there, here = _list(lonely), _list(sorted(served))
    if far == total:
        return f"Move the network card to a slot of {there}, or the drives to bays of {here}."
    if len(cards) > 1:
        return f"Move one network card ({cards[-1]}) to a slot of {there}."
    return f"Add a network card in a slot of {there}, or move all data drives to bays of {here}."


def _list(sockets: list[int]) -> str:
    return f"socket{'s' * (len(sockets) > 1)} {', '.join(map(str, sockets))}"
