# SPDX-License-Identifier: Apache-2.0
"""What a rebuild takes and risks: its hours, and the chance of an unreadable sector that nothing replaces. Pure."""

import math
from dataclasses import dataclass

from millrace.plan.policy.model import MdPolicy
from millrace.plan.shapes import PARITY, Shape
from millrace.system.text import KIB

# KiB/s of each drive that a rebuild gets at least beside busy clients while nothing else is decided.
GUARANTEED_SYNC = 100_000
UBER = 1e-17
"""Unreadable sectors for each bit read, of the data sheets of enterprise NVMe drives; JEDEC JESD218 asks for 1e-16."""
BITS = 8
REPLACED = 24.0
"""Hours until an administrator has put a drive in, where no hot spare takes over."""


@dataclass(frozen=True)
class Rebuild:
    """The rebuild of one drive. `hours` at the guaranteed rate, `exposed` the hours from the failure to its end;
    `unreadable` the chance that a sector cannot be read which nothing replaces, 0 to 1.
    """

    hours: float
    exposed: float
    unreadable: float


def rebuild(shape: Shape, size: int, rate: int) -> Rebuild:
    """Return what the rebuild of a drive of `size` bytes means for a layout, at `rate` KiB/s."""
    hours = size / (rate * KIB) / 3600
    # an md spare belongs to one array
    exposed = hours if shape.spares >= shape.legs else hours + REPLACED
    # a second parity replaces what cannot be read, a mirror of three or more has it on another drive
    single = PARITY.get(shape.level) == 1 or (shape.level == "raid1" and shape.size == 2)
    read = (shape.size - 1) * size * BITS if single else 0
    return Rebuild(hours, exposed, -math.expm1(-read * UBER))


def guaranteed(wanted: MdPolicy) -> int:
    """Return the rate of a rebuild beside busy clients in KiB/s: the policy's, else the default."""
    rate = wanted.rebuild_min_kib or GUARANTEED_SYNC
    return min(rate, wanted.sync_speed_max_kib or rate)
