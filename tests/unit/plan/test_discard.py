# SPDX-License-Identifier: Apache-2.0
"""Discards are planned only where every member guarantees zeroes, and the plan says why where they are not."""

import hashlib
import json
from typing import Any

import pytest

from millrace.inventory.model import Drive
from millrace.plan.audit import audit, audited_plan, differences
from millrace.plan.model import Decision, Plan
from millrace.plan.policy.model import MdPolicy, Policy
from millrace.plan.propose import propose
from tests.unit.plan.servers import drive, drives_1u12, server
from tests.unit.plan.servers_hw import zeroed
from tests.unit.plan.shapes import equal


def planned(drives: list[Drive], policy: Policy | None = None) -> tuple[Plan, Decision]:
    plan = propose(server(drives), policy or Policy())
    assert isinstance(plan, Plan)
    return plan, next(one for one in plan.decisions if one.name == "discard")


def other(drives: list[Drive], number: int, **fields: Any) -> list[Drive]:
    return [one.model_copy(update=fields) if at == number else one for at, one in enumerate(drives)]


def test_members_that_guarantee_zeroes_are_trimmed_once_a_week() -> None:
    plan, decision = planned(zeroed(drives_1u12()))
    assert (plan.filesystem.discard, decision.value) == (True, "weekly")
    assert "discard" not in plan.filesystem.mount_options
    assert "DLFEAT" in decision.source


@pytest.mark.parametrize("dlfeat", [None, 0, 2, 3, 8])
def test_one_member_without_the_guarantee_keeps_discards_from_all(dlfeat: int | None) -> None:
    plan, decision = planned(other(zeroed(drives_1u12()), 3, dlfeat=dlfeat))
    assert (plan.filesystem.discard, decision.value) == (False, "never")
    assert decision.reason.startswith("Drive SN003 does not guarantee")
    assert "parity would no longer match" in decision.reason


def test_a_hot_spare_without_the_guarantee_counts_as_a_member() -> None:
    drives = zeroed(equal(20, 2))
    with_spares, _ = planned(drives, Policy.model_validate({"layout": {"spares": 2}}))
    spare = next(array.spares[0] for array in with_spares.arrays if array.spares and array.name != "log")
    at = next(number for number, one in enumerate(drives) if one.serial == spare)
    plan, decision = planned(other(drives, at, dlfeat=0), Policy.model_validate({"layout": {"spares": 2}}))
    assert plan.filesystem.discard is False
    assert spare in decision.reason


def test_log_drives_need_no_guarantee() -> None:
    plan, _ = planned(other(other(zeroed(drives_1u12()), 10, dlfeat=0), 11, dlfeat=None))
    assert plan.filesystem.discard is True


def test_mirror_without_the_guarantee_is_never_trimmed() -> None:
    plan, decision = planned(equal(2))
    assert plan.filesystem.discard is False
    assert decision.reason.startswith("Drives SN000, SN001 do not guarantee")
    assert "the copies would no longer match" in decision.reason


def test_single_drive_needs_no_guarantee() -> None:
    assert planned(other(zeroed(equal(1)), 0, dlfeat=0))[0].filesystem.discard is True
    plan, decision = planned(other(zeroed(equal(1)), 0, max_discard=0))
    assert plan.filesystem.discard is False
    assert decision.reason.startswith("Drive SN000 does not deallocate blocks")


def test_stripe_that_is_larger_than_a_discard_of_a_member_is_named() -> None:
    # 8 × 64 KiB
    assert planned(zeroed(drives_1u12(), most=512 << 10))[0].filesystem.discard is True
    plan, decision = planned(zeroed(drives_1u12(), most=(512 << 10) - 4096))
    assert plan.filesystem.discard is False
    assert "512 KiB" in decision.reason


def test_the_stripe_is_rounded_up_to_a_power_of_two() -> None:
    # RAID5 of 4: 3 × 64 KiB, rounded up to 256 KiB
    assert planned(zeroed(equal(4), most=192 << 10))[0].filesystem.discard is False
    assert planned(zeroed(equal(4), most=256 << 10))[0].filesystem.discard is True


def test_the_policy_switches_discards_off() -> None:
    plan, decision = planned(zeroed(drives_1u12()), Policy(md=MdPolicy(discard="never")))
    assert (plan.filesystem.discard, decision.value) == (False, "never")
    assert decision.source == "policy file: md.discard"


def test_a_plan_that_was_made_before_keeps_its_hash() -> None:
    plan, _ = planned(zeroed(drives_1u12()))
    content = plan.model_dump(mode="json", exclude={"findings", "prediction"})
    del content["filesystem"]["discard"], content["backend"], content["nfsd"]["localio"], content["nfsd"]["copy_from"]
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    old = Plan.model_validate(content)
    assert old.filesystem.discard is None
    assert old.digest() == hashlib.sha256(canonical.encode()).hexdigest() != plan.digest()


def test_drives_that_keep_discards_from_the_others_are_a_finding() -> None:
    inventory = server(other(zeroed(drives_1u12()), 3, dlfeat=0))
    plan, _ = planned(inventory.drives)
    found = [one for one in audit(inventory, audited_plan(plan)) if one.name == "drives.discard"]
    assert [one.what.split(" does ")[0] for one in found] == ["Drive SN003"]
    for drives in (drives_1u12(), zeroed(drives_1u12())):
        inventory = server(drives)
        assert not [one for one in audit(inventory, audited_plan(planned(drives)[0])) if one.name == "drives.discard"]


def test_a_new_drive_without_the_guarantee_is_set_apart_from_its_neighbours() -> None:
    neighbours = zeroed(drives_1u12()[:4])
    new = drive(20, dlfeat=0, max_discard=1 << 30)
    said = differences(new, neighbours, data=True)
    assert [one for one in said if "SN020 does not guarantee" in one]
    assert differences(new, neighbours, data=False) == []
    assert differences(zeroed([new])[0], other(neighbours, 1, dlfeat=0), data=True) == []
