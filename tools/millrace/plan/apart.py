# SPDX-License-Identifier: Apache-2.0
"""Drives that share as little as possible, so that one fault takes one of them."""

from collections.abc import Sequence
from itertools import combinations

from millrace.inventory.model import Drive


def two_apart(drives: Sequence[Drive]) -> list[Drive]:
    """Two of these drives on different NUMA nodes, else behind different PCIe switches, else the first two."""
    ordered = sorted(drives, key=lambda drive: (drive.serial, drive.wwid))
    # max() keeps the first of the best, so that the same drives give the same pair.
    return list(max(combinations(ordered, 2), key=lambda pair: _distance(*pair)))


def farthest(drives: Sequence[Drive], pair: Sequence[Drive]) -> Drive | None:
    """The drive that shares nodes and PCIe switches with the fewest of the pair, and is none of them; None if none."""
    others = sorted((drive for drive in drives if drive not in pair), key=lambda drive: (drive.serial, drive.wwid))
    return max(others, key=lambda drive: _apart(drive, pair), default=None)


def what_parts_third(drive: Drive, pair: Sequence[Drive]) -> str:
    """What a third drive does not share with a pair, for a sentence."""
    nodes, switches = _apart(drive, pair)
    if nodes:
        return f"on another NUMA node than {'both' if nodes == len(pair) else 'one of them'}"
    if switches:
        return f"behind another PCIe switch than {'both' if switches == len(pair) else 'one of them'}"
    return "which shares its NUMA node with both, as far as the server tells"


def what_parts(pair: Sequence[Drive]) -> str:
    """What two drives do not share, for a sentence."""
    nodes, switches = _distance(*pair)
    node, other = (drive.numa_node for drive in pair)
    if nodes:
        return "on different NUMA nodes"
    if switches:
        return "behind different PCIe switches"
    return "in places that the server does not tell" if None in (node, other) else "on one NUMA node"


def _apart(drive: Drive, pair: Sequence[Drive]) -> tuple[int, int]:
    """How many of the pair are on another node, and behind another switch."""
    distances = [_distance(drive, other) for other in pair]
    return sum(nodes for nodes, _ in distances), sum(switches for _, switches in distances)


def _distance(one: Drive, other: Drive) -> tuple[bool, bool]:
    nodes = None not in (one.numa_node, other.numa_node) and one.numa_node != other.numa_node
    return nodes, one.switch != other.switch
