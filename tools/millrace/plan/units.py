# SPDX-License-Identifier: Apache-2.0
"""Sizes, and how a reason names them."""

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
TIB = 1 << 40


def down_to_power_of_two(value: int) -> int:
    """The largest power of two that is not larger; `value` is at least 1."""
    return 1 << (value.bit_length() - 1)


def clamp(value: int, low: int, high: int) -> int:
    """`value`, but never outside low…high."""
    return max(low, min(high, value))


def words(size: int) -> str:
    """Bytes as a person says them, in powers of two: 128 KiB, 1 MiB, 960 GiB."""
    for factor, unit in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= factor:
            return f"{round(size / factor, 2):g} {unit}"
    return f"{size} B"
