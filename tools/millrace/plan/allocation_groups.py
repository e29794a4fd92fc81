# SPDX-License-Identifier: Apache-2.0
"""The allocation groups of XFS: how many, and how large, so that they do not all begin on the same leg. Pure.

A raid0 over legs does not rotate: where the size of a group is a multiple of the stripe width, the headers of all
groups and whatever is allocated first lie on one leg for the life of the file system. mkfs.xfs avoids that only where
it chooses the size itself (xfsprogs 7.2, mkfs/xfs_mkfs.c align_ag_geometry); where it is given, it warns.
"""

from dataclasses import dataclass
from math import gcd

from millrace.plan.sizes import clamp
from millrace.system.text import GIB, MIB, TIB

FEWEST_GROUPS, MOST_GROUPS = 32, 128
REAL_MEMBER = 100 * 10**9
SMALLEST_GROUP_REAL, SMALLEST_GROUP, SMALLEST_OF_XFS = 4 * GIB, 64 * MIB, 16 * MIB


@dataclass(frozen=True)
class Stripes:
    """What groups are aligned to: the stripe unit in bytes (0: a mirror), and on how many legs or drives units begin.

    Units of several legs begin on each leg in turn. Those of one array are full stripes and begin on each member in
    turn, as parity rotates (raid5.c, left-symmetric).
    """

    unit: int
    turns: int

    @property
    def step(self) -> int:
        """The size of a group is a multiple of this many bytes."""
        return self.unit or MIB

    def rotates(self, size: int) -> bool:
        """Whether groups of this size begin on each leg (or member) in turn."""
        return size % self.step == 0 and gcd(size // self.step, self.turns or 1) == 1


@dataclass(frozen=True)
class AllocationGroups:
    """`count` groups of `size` bytes; the last one is smaller."""

    count: int
    size: int


def planned_groups(capacity: int, member: int, cores: int, stripes: Stripes) -> AllocationGroups:
    """Return the groups of a file system of `capacity` bytes: 32 to 128 by cores, as far as its size allows.

    No group is above 1 TiB, none below 4 GiB where a `member` has 100 GB and more.
    """
    smallest = SMALLEST_GROUP_REAL if member >= REAL_MEMBER else SMALLEST_GROUP
    wanted = min(clamp(cores, FEWEST_GROUPS, MOST_GROUPS), capacity // smallest)
    count = max(4, wanted, capacity // TIB + 1)
    # Rounding up to whole stripe units may leave nothing for the last group of a small file system, or lift a group
    # over 1 TiB.
    downwards = range(count, 0, -1)
    upwards = range(count + 1, 2 * count + 2)
    for number in (*downwards, *upwards):
        groups = equal_groups(capacity, number, stripes)
        if groups is not None:
            return groups
    raise ValueError(f"{capacity} bytes take no allocation groups")


def equal_groups(capacity: int, count: int, stripes: Stripes) -> AllocationGroups | None:
    """Return `count` groups for `capacity` bytes; None where XFS or the stripes do not allow so many or so few."""
    units = -(-capacity // (count * stripes.step))
    while gcd(units, stripes.turns or 1) != 1:
        units += 1
    size = units * stripes.step
    # md keeps up to 1/1024 of its members for itself: the last group must outlive that, or there is one less.
    last = capacity - (count - 1) * size
    return AllocationGroups(count, size) if SMALLEST_OF_XFS <= size < TIB and 2 * last >= size else None
