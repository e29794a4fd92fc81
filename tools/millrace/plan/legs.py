# SPDX-License-Identifier: Apache-2.0
"""Which drive goes into which leg: those of one NUMA node together, as far as the numbers allow."""

from collections import Counter
from collections.abc import Sequence

from millrace.inventory.model import Drive

Leg = list[Drive]


def split(drives: Sequence[Drive], legs: int, size: int) -> tuple[list[Leg], list[Drive]]:
    """Legs of `size` drives, most of them within one node, and the drives that are left over."""
    by_node: dict[int, list[Drive]] = {}
    for drive in sorted(drives, key=_place):
        by_node.setdefault(_node(drive), []).append(drive)
    made: list[Leg] = []
    for near in by_node.values():
        while len(near) >= size and len(made) < legs:
            made.append(near[:size])
            del near[:size]
    left = [drive for near in by_node.values() for drive in near]
    while len(made) < legs:
        made.append(left[:size])
        del left[:size]
    made.sort(key=lambda leg: (min(map(_node, leg)), leg[0].serial))
    return [sorted(leg, key=lambda drive: drive.serial) for leg in made], left


def within_one_node(leg: Leg) -> bool:
    """Whether the drives of a leg are known to be on one node."""
    nodes = {drive.numa_node for drive in leg}
    return len(nodes) == 1 and None not in nodes


def strangers(leg: Leg) -> tuple[int, list[Drive]] | None:
    """The node that most drives of a leg are on, and those that are known to be on another."""
    nodes = Counter(drive.numa_node for drive in leg if drive.numa_node is not None)
    if not nodes:
        return None
    home = min(nodes, key=lambda node: (-nodes[node], node))
    return home, [drive for drive in leg if drive.numa_node not in (home, None)]


def _node(drive: Drive) -> int:
    return -1 if drive.numa_node is None else drive.numa_node


def _place(drive: Drive) -> tuple[int, str]:
    return _node(drive), drive.serial
