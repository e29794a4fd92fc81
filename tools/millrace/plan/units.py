# SPDX-License-Identifier: Apache-2.0
"""Whole numbers within limits."""


def down_to_power_of_two(value: int) -> int:
    """The largest power of two that is not larger; `value` is at least 1."""
    return 1 << (value.bit_length() - 1)


def clamp(value: int, low: int, high: int) -> int:
    """`value`, but never outside low…high."""
    return max(low, min(high, value))
