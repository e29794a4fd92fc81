# SPDX-License-Identifier: Apache-2.0
"""The threads of the NFS server: those that one NUMA node keeps, and those that run anywhere."""

from collections.abc import Sequence

from millrace.inventory.cpus import ranges
from millrace.topology.model import NfsdThreads


def pinned(masks: Sequence[set[int]], cpus: Sequence[int]) -> NfsdThreads:
    """The threads that may run on these CPUs and no others."""
    return _counted([mask for mask in masks if mask <= set(cpus)])


def floating(masks: Sequence[set[int]], nodes: Sequence[Sequence[int]]) -> NfsdThreads:
    """The threads that no node keeps for itself."""
    return _counted([mask for mask in masks if not any(mask <= set(cpus) for cpus in nodes)])


def _counted(found: Sequence[set[int]]) -> NfsdThreads:
    cpus = sorted(set().union(*found))
    return NfsdThreads(threads=len(found), cpus=ranges(cpus) if found else None)
