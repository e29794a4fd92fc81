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


def what_parts(pair: Sequence[Drive]) -> str:
    """What two drives do not share, for a sentence."""
    nodes, switches = _distance(*pair)
    node, other = (drive.numa_node for drive in pair)
    if nodes:
        return "on different NUMA nodes"
    if switches:
        return "behind different PCIe switches"
    return "in places that the server does not tell" if None in (node, other) else "on one NUMA node"


def _distance(one: Drive, other: Drive) -> tuple[bool, bool]:
    nodes = None not in (one.numa_node, other.numa_node) and one.numa_node != other.numa_node
    return nodes, one.switch != other.switch
