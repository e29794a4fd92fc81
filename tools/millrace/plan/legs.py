# SPDX-License-Identifier: Apache-2.0
"""Which drive goes into which leg: those of one NUMA node together, else of one socket, as far as the numbers allow."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millrace.inventory.model import Drive, Inventory

Leg = list[Drive]
NOWHERE = -1


@dataclass(frozen=True)
class Places:
    """Where drives are. `sockets` by node; a node whose socket is not known counts as a socket of its own."""

    sockets: dict[int, int]

    def node(self, drive: Drive) -> int:
        """The NUMA node, -1 where it is not known."""
        return NOWHERE if drive.numa_node is None else drive.numa_node

    def socket(self, drive: Drive) -> int:
        """The first node of the socket, -1 where it is not known."""
        node = self.node(drive)
        socket = self.sockets.get(node)
        return node if socket is None else min(other for other, its in self.sockets.items() if its == socket)

    def in_one_node(self, leg: Leg) -> bool:
        """Whether the drives of a leg are known to be on one node."""
        return _one_place(leg, self.node)

    def in_one_socket(self, leg: Leg) -> bool:
        """Whether the drives of a leg are known to be on one socket."""
        return _one_place(leg, self.socket)

    def strangers(self, leg: Leg) -> list[Drive]:
        """Drives that are known to be on another socket than most drives of the leg."""
        counts = Counter(socket for socket in map(self.socket, leg) if socket != NOWHERE)
        if not counts:
            return []
        home = min(counts, key=lambda socket: (-counts[socket], socket))
        return [drive for drive in leg if self.socket(drive) not in (home, NOWHERE)]


def places_of(inventory: Inventory) -> Places:
    """The sockets of the nodes, where the server tells them."""
    return Places({node.id: node.socket for node in inventory.nodes if node.socket is not None})


def split(drives: Sequence[Drive], legs: int, size: int, places: Places) -> tuple[list[Leg], list[Drive]]:
    """Legs of `size` drives, most of them within one node or socket, and the drives that are left over."""
    left = sorted(drives, key=lambda drive: (places.socket(drive), places.node(drive), drive.serial))
    made: list[Leg] = []
    for place in (places.node, places.socket, _anywhere):
        left = _cut(left, place, legs, size, made)
    made.sort(key=lambda leg: (places.socket(leg[0]), places.node(leg[0]), leg[0].serial))
    return [sorted(leg, key=lambda drive: drive.serial) for leg in made], left


def _cut(drives: list[Drive], place: Callable[[Drive], int], legs: int, size: int, made: list[Leg]) -> list[Drive]:
    """Add whole legs of drives that share a place to `made`; return the others."""
    by_place: dict[int, list[Drive]] = {}
    for drive in drives:
        by_place.setdefault(place(drive), []).append(drive)
    for near in by_place.values():
        while len(near) >= size and len(made) < legs:
            made.append(near[:size])
            del near[:size]
    return [drive for near in by_place.values() for drive in near]


def _anywhere(_: Drive) -> int:
    return 0


def _one_place(leg: Leg, place: Callable[[Drive], int]) -> bool:
    found = {place(drive) for drive in leg}
    return len(found) == 1 and NOWHERE not in found
