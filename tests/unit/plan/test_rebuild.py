# SPDX-License-Identifier: Apache-2.0
"""Large drives are not planned with single parity: a rebuild of weeks meets too much."""

import pytest

from millrace.plan.model import Plan, Role
from millrace.plan.policy.model import LayoutPolicy, MdPolicy, Policy
from millrace.plan.propose import propose
from millrace.plan.rebuild import GUARANTEED_SYNC, REPLACED, guaranteed, rebuild
from millrace.plan.shapes import Shape
from tests.unit.plan.servers import TB, server
from tests.unit.plan.shapes import equal

LARGE = 245 * TB


def planned(count: int, size: int, policy: Policy | None = None) -> Plan:
    proposal = propose(server(equal(count, 2, size), nodes=2), policy or Policy())
    assert isinstance(proposal, Plan), proposal
    return proposal


def level(plan: Plan) -> str:
    (found,) = {one.level for one in plan.arrays if one.role is Role.DATA and not one.over_arrays}
    return found


def test_hours_and_chance_of_a_rebuild() -> None:
    found = rebuild(Shape("raid50", 2, 12, 0), LARGE, GUARANTEED_SYNC)
    assert found.hours == pytest.approx(664.6, abs=0.1)
    assert found.exposed == pytest.approx(found.hours + REPLACED)
    # eleven drives of 245 TB are read: 2.2e16 bits
    assert found.unreadable == pytest.approx(0.194, abs=0.001)


@pytest.mark.parametrize("shape", [Shape("raid60", 2, 12, 0), Shape("raid6", 1, 12, 0), Shape("raid1", 1, 3, 0)])
def test_second_copy_or_parity_replaces_an_unreadable_sector(shape: Shape) -> None:
    assert rebuild(shape, LARGE, GUARANTEED_SYNC).unreadable == 0


@pytest.mark.parametrize(("spares", "waits"), [(0, True), (1, True), (2, False)])
def test_only_a_hot_spare_of_each_leg_starts_at_once(spares: int, waits: bool) -> None:
    found = rebuild(Shape("raid50", 2, 11, spares), LARGE, GUARANTEED_SYNC)
    assert (found.exposed > found.hours) is waits


@pytest.mark.parametrize(
    ("wanted", "rate"),
    [({}, GUARANTEED_SYNC), ({"rebuild_min_kib": 500_000}, 500_000), ({"sync_speed_max_kib": 50_000}, 50_000)],
)
def test_rate_is_that_of_the_policy(wanted: dict[str, int], rate: int) -> None:
    assert guaranteed(MdPolicy(**wanted)) == rate  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [4, 5, 8, 13, 18, 20, 24, 32, 40])
@pytest.mark.parametrize("size", [61 * TB, LARGE])
def test_large_drives_get_a_second_parity(count: int, size: int) -> None:
    plan = planned(count, size)
    assert level(plan) == "raid6"
    assert not [text for text in plan.warnings if "single parity" in text]


@pytest.mark.parametrize("count", [13, 18, 20, 24, 32, 40])
def test_measured_sizes_keep_single_parity_in_legs(count: int) -> None:
    assert level(planned(count, 7_680 * 10**9)) == "raid5"


def test_single_parity_of_large_drives_is_a_choice_that_is_warned_of() -> None:
    plan = planned(24, LARGE, Policy(layout=LayoutPolicy(resilience="single")))
    assert level(plan) == "raid5"
    (warning,) = [text for text in plan.warnings if "single parity" in text]
    assert "66" in warning and "hours at the guaranteed 102 MB/s" in warning
    assert "unreadable sector with a chance of" in warning


def test_faster_rebuild_makes_single_parity_good_enough() -> None:
    fast = Policy(md=MdPolicy(rebuild_min_kib=4_000_000))
    assert (level(planned(24, 15 * TB)), level(planned(24, 15 * TB, fast))) == ("raid6", "raid5")


def test_three_large_drives_cannot_do_better_and_the_plan_says_so() -> None:
    plan = planned(3, LARGE)
    (warning,) = [text for text in plan.warnings if "single parity" in text]
    assert "With a fourth drive it gets a second parity drive." in warning


def test_layout_says_what_a_rebuild_takes() -> None:
    (layout,) = [one for one in planned(24, 7_680 * 10**9).decisions if one.name == "layout"]
    assert "a rebuild takes 21 hours at the guaranteed 102 MB/s" in layout.reason
    assert "unreadable sector with a chance of 0." in layout.reason
    assert "JESD218" in layout.source
    single = {row["layout"]: row["parity"] for row in layout.considered}
    assert single["RAID60 of 4 × 6 drives"] == -3.0
