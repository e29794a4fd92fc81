# SPDX-License-Identifier: Apache-2.0
"""The layouts that may be chosen: each is a plan with its own hash, its capacity, its safety and its speed."""

import pytest

from millrace.inventory.model import Inventory
from millrace.plan.choices import LayoutChoice, choices, chosen, lines
from millrace.plan.model import Plan
from millrace.plan.policy.model import LayoutPolicy, Policy
from millrace.plan.propose import propose
from millrace.system.errors import BadInput, Refused
from tests.unit.plan.servers import drives_1u12, server
from tests.unit.plan.shapes import equal


def by_name(inventory: Inventory, policy: Policy | None = None) -> dict[str, LayoutChoice]:
    return {choice.name: choice for choice in choices(inventory, policy or Policy()).choices}


@pytest.fixture
def inventory() -> Inventory:
    return server(drives_1u12())


def test_plan_of_this_server_is_the_first_with_the_hash_that_it_has(inventory: Inventory) -> None:
    first, *others = choices(inventory, Policy()).choices
    plan = propose(inventory, Policy())
    assert isinstance(plan, Plan) and (first.name, first.sha256) == ("raid6", plan.digest())
    assert first.proposed and not any(choice.proposed for choice in others)


def test_each_layout_has_a_hash_of_its_own_that_its_plan_has(inventory: Inventory) -> None:
    found = by_name(inventory)
    assert {"raid5", "raid6", "raid6-1spare", "raid50-2x5", "raid60-2x5"} <= set(found)
    assert len({choice.sha256 for choice in found.values()}) == len(found)
    for name, choice in found.items():
        plan = chosen(inventory, Policy(), name)
        assert isinstance(plan, Plan) and plan.digest() == choice.sha256


def test_capacity_safety_and_speed_differ_as_the_layouts_do(inventory: Inventory) -> None:
    found = by_name(inventory)
    single, double, legs = found["raid5"], found["raid6"], found["raid60-2x5"]
    assert single.capacity > double.capacity > legs.capacity
    assert (single.may_fail, double.may_fail, legs.may_fail, legs.legs) == (1, 2, 2, 2)
    assert single.unreadable > 0 and double.unreadable == 0
    assert double.rebuild_hours is not None and 20 < double.rebuild_hours < 24
    assert single.write.limit is not None and legs.write.limit is not None and single.write.limit > legs.write.limit
    assert single.write.bound_by is not None and single.write.evidence is not None
    assert (single.grows, double.grows, legs.grows) == (True, True, True)


def test_policy_limits_the_choice(inventory: Inventory) -> None:
    double = by_name(inventory, Policy(layout=LayoutPolicy(resilience="double")))
    assert {name.partition("-")[0] for name in double} == {"raid6", "raid60"}
    spares = by_name(inventory, Policy(layout=LayoutPolicy(spares=2)))
    assert {choice.hot_spares for choice in spares.values()} == {2}


def test_layout_that_is_chosen_keeps_the_rest_of_the_policy(inventory: Inventory) -> None:
    policy = Policy(layout=LayoutPolicy(chunk_kib=128))
    plan = chosen(inventory, policy, "raid5")
    assert isinstance(plan, Plan)
    assert next(array for array in plan.arrays if array.name == "data").chunk == 128 << 10


def test_unknown_layout_is_one_sentence_with_the_names(inventory: Inventory) -> None:
    with pytest.raises(BadInput, match=r"no layout is called .*raid7.*; there are: .*raid6"):
        chosen(inventory, Policy(), "raid7")
    assert isinstance(chosen(inventory, Policy(), None), Plan)


def test_two_drives_are_a_mirror_and_ten_are_none() -> None:
    assert "raid1" in by_name(server(equal(2, 1)))
    assert "raid1" not in by_name(server(equal(10, 1)))


def test_server_without_a_plan_has_no_choice() -> None:
    with pytest.raises(Refused, match="no layout to choose"):
        choices(server([]), Policy())
    assert not isinstance(chosen(server([]), Policy(), "raid6"), Plan)


def test_table_says_what_can_be_changed_later(inventory: Inventory) -> None:
    shown = " ".join("\n".join(lines(choices(inventory, Policy()))).split())
    assert "raid6 (proposed)" in shown and "2 of each of 2 legs" in shown and "specification" in shown
    assert "destroyed and built again" in shown and "millrace approve HASH" in shown
