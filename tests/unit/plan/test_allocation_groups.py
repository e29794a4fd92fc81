# SPDX-License-Identifier: Apache-2.0
"""The size of an allocation group cannot be changed after mkfs: on no server do all groups begin on one leg."""

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from millrace.plan.allocation_groups import AllocationGroups, Stripes, equal_groups, planned_groups
from millrace.plan.model import Filesystem, Plan
from millrace.plan.policy.model import LayoutPolicy, Policy
from millrace.plan.propose import propose
from tests.unit.plan.servers import drive, server

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
repeatable = settings(derandomize=True, database=None, deadline=None, max_examples=150)


def starts(filesystem: Filesystem, device: int) -> Counter[int]:
    """How many groups of a file system on a device of so many bytes begin on each leg."""
    size = filesystem.allocation_group_size
    assert size is not None
    return Counter(
        at // filesystem.stripe_unit % filesystem.stripe_width for at in range(0, device - 16 * MIB + 1, size)
    )


@repeatable
@given(
    legs=some.integers(2, 4),
    drives=some.integers(6, 12),
    size=some.integers(960 * 10**9, 62 * 10**12),
    uneven=some.integers(0, 1000),
    cores=some.integers(4, 256),
    level=some.sampled_from(["raid50", "raid60"]),
    lost=some.floats(0, 1 / 1024),
)
def test_groups_are_spread_evenly_over_the_legs(
    legs: int, drives: int, size: int, uneven: int, cores: int, level: str, lost: float
) -> None:
    there = [drive(number, size - number * uneven * 4096) for number in range(legs * drives)]
    layout = LayoutPolicy.model_validate({"level": level, "legs": legs, "spares": 0})
    plan = propose(server(there, cores=cores), Policy(layout=layout))
    assert isinstance(plan, Plan)
    xfs = plan.filesystem
    assert xfs.stripe_width == legs
    assert xfs.allocation_group_size is not None
    assert xfs.allocation_group_size % xfs.stripe_unit == 0
    assert 4 * GIB <= xfs.allocation_group_size < TIB
    assert xfs.allocation_groups >= 32
    assert xfs.allocation_groups <= max(128, plan.capacity // TIB + 2)
    # md keeps a part of its members: the number of groups stays as planned
    groups = starts(xfs, plan.capacity - int(plan.capacity * lost))
    assert groups.total() == xfs.allocation_groups
    assert set(groups) == set(range(legs))
    assert max(groups.values()) - min(groups.values()) <= 1


@repeatable
@given(drives=some.integers(3, 40), size=some.integers(100 * 10**9, 62 * 10**12), cores=some.integers(4, 256))
def test_mkfs_has_nothing_to_warn_of_in_any_layout(drives: int, size: int, cores: int) -> None:
    plan = propose(server([drive(number, size) for number in range(drives)], cores=cores), Policy())
    assert isinstance(plan, Plan)
    xfs = plan.filesystem
    assert xfs.allocation_group_size is not None
    assert xfs.allocation_group_size % xfs.stripe_unit == 0
    # mkfs.xfs warns of a multiple of the stripe width only where that is more than one unit (align_ag_geometry)
    if xfs.stripe_width > 1:
        assert xfs.allocation_group_size % (xfs.stripe_unit * xfs.stripe_width) != 0


@repeatable
@given(drives=some.integers(3, 12), size=some.integers(960 * 10**9, 62 * 10**12), cores=some.integers(4, 256))
def test_groups_of_one_array_begin_on_each_of_its_drives_in_turn(drives: int, size: int, cores: int) -> None:
    plan = propose(server([drive(number, size) for number in range(drives)], cores=cores), Policy())
    assert isinstance(plan, Plan)
    (data,) = (array for array in plan.arrays if array.name == "data")
    members, group = len(data.members), plan.filesystem.allocation_group_size
    assert group is not None and plan.filesystem.stripe_unit == (data.chunk or 0) * data.data_members
    # left-symmetric: the first chunk of stripe n is on drive -n mod members, shifted by the parity
    found = Counter(-(at // plan.filesystem.stripe_unit) % members for at in range(0, members * group, group))
    assert found == dict.fromkeys(range(members), 1)


@repeatable
@given(
    count=some.integers(4, 4096),
    capacity=some.integers(GIB, 900 * TIB),
    unit=some.sampled_from([0, 64 * KIB, 640 * KIB, MIB]),
    width=some.integers(2, 22),
)
def test_a_number_by_policy_is_met_exactly_or_refused(count: int, capacity: int, unit: int, width: int) -> None:
    stripes = Stripes(unit, width if unit else 0)
    groups = equal_groups(capacity, count, stripes)
    # the smallest size that rotates over the legs; md may take from the last group, half of a group is left for that
    sizes = (number * stripes.step for number in itertools.count(-(-capacity // (count * stripes.step))))
    size = next(size for size in sizes if stripes.rotates(size))
    last = capacity - (count - 1) * size
    possible = 16 * MIB <= size < TIB and last >= size / 2
    assert groups == (AllocationGroups(count, size) if possible else None)
    assert groups is None or groups.count == -(-capacity // groups.size)


@pytest.mark.parametrize("capacity", [TIB - 1, TIB, TIB + 1, 64 * TIB - 4096, 64 * TIB, 200 * TIB - MIB])
def test_no_group_is_lifted_over_a_tebibyte(capacity: int) -> None:
    groups = planned_groups(capacity, 8 * TIB, 8, Stripes(MIB, 4))
    assert groups.size < TIB
    assert groups.count == -(-capacity // groups.size)


def test_the_plan_says_why() -> None:
    plan = propose(server([drive(number, numa_node=number % 2) for number in range(24)], nodes=2), Policy())
    assert isinstance(plan, Plan)
    decision = next(one for one in plan.decisions if one.name == "filesystem.allocation_group_size")
    assert decision.value == plan.filesystem.allocation_group_size
    assert "begin on each leg in turn" in decision.reason
