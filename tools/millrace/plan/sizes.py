# SPDX-License-Identifier: Apache-2.0
"""Sizes of partitions, and whole numbers within limits."""

from math import lcm

from millrace.inventory.model import Drive
from millrace.system.text import GIB, MIB, TIB

SMALLEST_SLACK, LARGEST_SLACK = 16 * MIB, 4096 * MIB
LOG_SHARE = 64
SMALLEST_LOG_PARTITION, LARGEST_LOG_PARTITION = 96 * MIB, 4 * GIB
LARGE_MEMBER = TIB
BITMAP_CHUNK = 512 * MIB
START = MIB
"""Where the first partition begins, in bytes; the next follow without a gap."""
TABLE_END = MIB
"""Room in bytes for the backup partition table."""


def down_to_power_of_two(value: int) -> int:
    """Return the largest power of two that is not larger; `value` is at least 1."""
    return 1 << (value.bit_length() - 1)


def clamp(value: int, low: int, high: int) -> int:
    """Return `value`, but never outside low…high."""
    return max(low, min(high, value))


def partition_size(drives: list[Drive]) -> int:
    """Return bytes 1 % short of the smallest drive, by 16 MiB to 4 GiB, so that a smaller replacement fits."""
    smallest = min(drive.size for drive in drives)
    slack = clamp(smallest // 100, SMALLEST_SLACK, LARGEST_SLACK)
    return (smallest - slack) // MIB * MIB


def aligned_start(stripe: int) -> int:
    """Return where a partition begins whose full stripes are those of its device: whole MiB, in bytes.

    `stripe` in bytes, 0 for none.
    """
    return lcm(MIB, stripe) if stripe else START


def log_partition_size(drives: list[Drive]) -> int:
    """Return the bytes of a log partition on a data drive: 1/64 of the smallest, 96 MiB to 4 GiB."""
    smallest = min(drive.size for drive in drives)
    return clamp(smallest // LOG_SHARE // MIB * MIB, SMALLEST_LOG_PARTITION, LARGEST_LOG_PARTITION)


def bitmap_chunk(partition: int) -> int | None:
    """Return how many bytes one bit covers, for members of `partition` bytes; None leaves it to mdadm (small ones)."""
    return BITMAP_CHUNK if partition >= LARGE_MEMBER else None
