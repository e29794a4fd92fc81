# SPDX-License-Identifier: Apache-2.0
"""How large the partitions are."""

from millrace.inventory.model import Drive
from millrace.plan.units import clamp
from millrace.system.text import GIB, MIB, TIB

SMALLEST_SLACK, LARGEST_SLACK = 16 * MIB, 4096 * MIB
LOG_SHARE = 64
SMALLEST_LOG_PARTITION, LARGEST_LOG_PARTITION = 96 * MIB, 4 * GIB
LARGE_MEMBER = TIB
BITMAP_CHUNK = 512 * MIB


def partition_size(drives: list[Drive]) -> int:
    """1 % short of the smallest drive, at least 16 MiB and at most 4 GiB, so that a smaller replacement fits."""
    smallest = min(drive.size for drive in drives)
    slack = clamp(smallest // 100, SMALLEST_SLACK, LARGEST_SLACK)
    return (smallest - slack) // MIB * MIB


def log_partition_size(drives: list[Drive]) -> int:
    """A log partition on a data drive: 1/64 of the smallest, at least 96 MiB and at most 4 GiB."""
    smallest = min(drive.size for drive in drives)
    return clamp(smallest // LOG_SHARE // MIB * MIB, SMALLEST_LOG_PARTITION, LARGEST_LOG_PARTITION)


def bitmap_chunk(partition: int) -> int | None:
    """Bytes of an array that one bit stands for; None leaves it to mdadm, which is right for small members."""
    return BITMAP_CHUNK if partition >= LARGE_MEMBER else None
