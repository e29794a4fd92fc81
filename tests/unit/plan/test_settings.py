# SPDX-License-Identifier: Apache-2.0
"""Settings follow hardware and policy of now, equal the plan where nothing changed, and name what caused a change."""

from typing import Any

import pytest

from millrace.inventory.model import Inventory
from millrace.plan.md import data_arrays, slowest_link
from millrace.plan.model import Plan, Role
from millrace.plan.policy.model import MdPolicy, NfsdPolicy, NfsPolicy, Policy, SysctlPolicy
from millrace.plan.propose import propose
from millrace.plan.server import port_kinds, server_of
from millrace.plan.settings import Basis, SettingChange, Settings, planned_settings, relevant, settings_of
from millrace.plan.settings_changes import changes, merged_changes, sentence
from tests.unit.plan.servers import GIB, drives_1u12, drives_2u24, server
from tests.unit.plan.table_of_servers import SERVERS

DEFAULTS = Policy()
OVERRIDES = Policy(
    nfs=NfsPolicy(copy_from=["10.77.0.1"]),
    nfsd=NfsdPolicy(threads=40, lease_time=30),
    md=MdPolicy(read_ahead_kib=4096),
    sysctl=SysctlPolicy(dirty_bytes=1 << 28),
)


def planned(inventory: Inventory, policy: Policy) -> Plan:
    proposal = propose(inventory, policy)
    assert isinstance(proposal, Plan), proposal
    return proposal


def basis(inventory: Inventory, policy: Policy = DEFAULTS, of: Plan | None = None) -> Basis:
    """What settings of a server are computed from, whose pool was made by `of`."""
    plan = of or planned(inventory, Policy())
    data = {drive.serial for drive in plan.drives if drive.role is Role.DATA}
    return Basis(
        server=server_of(inventory),
        link=slowest_link(drive for drive in inventory.drives if drive.serial in data),
        arrays=data_arrays(plan.arrays),
        policy=relevant(policy),
        ports=port_kinds(inventory.nics),
    )


def changed(before: Settings, after: Settings) -> dict[str, SettingChange]:
    return {one.name: one for one in changes(before, after, "2026-11-20T12:00:00+00:00")}


class TestValues:
    @pytest.mark.parametrize("policy", [DEFAULTS, OVERRIDES], ids=["defaults", "policy"])
    @pytest.mark.parametrize("name", sorted(SERVERS))
    def test_server_of_which_nothing_changed_has_the_settings_of_its_plan(self, name: str, policy: Policy) -> None:
        inventory = SERVERS[name]
        plan = planned(inventory, policy)
        computed, approved = settings_of(basis(inventory, policy, plan)), planned_settings(plan)
        assert (computed.nfsd, computed.md, computed.sysctl) == (approved.nfsd, approved.md, approved.sysctl)
        assert [one for one in computed.values if one.name != "nfsd.grace_time"] == approved.values
        assert changes(approved, computed) == [] and computed.warnings == []

    def test_every_value_has_a_reason_and_a_source(self) -> None:
        found = settings_of(basis(server(drives_2u24(), nodes=2)))
        assert all(one.reason.endswith(".") and one.source for one in found.values)
        assert {"nfsd.threads", "md.read_ahead", "sysctl.dirty_bytes", "ports.queues"} <= {
            one.name for one in found.values
        }

    @pytest.mark.parametrize(
        ("wish", "warning"),
        [
            ({"threads": 8192}, "nfsd.threads cannot be used on this server: 8192 threads"),
            ({"threads": 2, "threads_min": 4, "pool_mode": "pernode"}, "nfsd.threads_min cannot be used"),
            ({"threads_min": 1024, "pool_mode": "pernode"}, "nfsd.threads cannot be used on this server"),
            ({"max_block_size": 4 << 20, "threads": 1000}, "nfsd.threads cannot be used on this server"),
        ],
    )
    def test_override_that_this_server_cannot_use_any_more_is_ignored_aloud(
        self, wish: dict[str, Any], warning: str
    ) -> None:
        small = server(drives_1u12(), memory=2 * GIB, nodes=2)
        policy = Policy(nfsd=NfsdPolicy(**wish, lease_time=30))
        found = settings_of(basis(small, policy, planned(server(drives_1u12()), Policy())))
        assert warning in found.warnings[0] and "It is ignored. Set " in found.warnings[0]
        assert found.nfsd.threads_max <= 128 and found.nfsd.threads_min * 2 <= found.nfsd.threads_max

    def test_other_overrides_stay_in_force_beside_one_that_is_ignored(self) -> None:
        policy = Policy(nfsd=NfsdPolicy(threads=8192, lease_time=30))
        found = settings_of(basis(server(drives_1u12(), memory=8 * GIB), policy))
        assert (found.nfsd.threads_max, found.nfsd.lease_time, len(found.warnings)) == (32, 30, 1)


class TestChanges:
    def test_changed_policy_is_the_cause_and_the_reason_names_its_key(self) -> None:
        inventory = server(drives_1u12())
        before = settings_of(basis(inventory))
        found = changed(before, settings_of(basis(inventory, Policy(nfsd=NfsdPolicy(threads=48)))))
        assert list(found) == ["nfsd.threads"]
        threads = found["nfsd.threads"]
        assert (threads.before, threads.after) == ({"min_per_pool": 8, "max": 32}, {"min_per_pool": 8, "max": 48})
        assert threads.causes == ["policy"] and threads.reason.startswith("Set by the policy (nfsd.threads)")
        assert sentence(threads) == "nfsd.threads: min_per_pool 8, max 32 -> min_per_pool 8, max 48 (policy)"

    def test_less_memory_is_hardware(self) -> None:
        plan = planned(server(drives_1u12()), Policy())
        before = settings_of(basis(server(drives_1u12()), of=plan))
        found = changed(before, settings_of(basis(server(drives_1u12(), memory=4 * GIB), of=plan)))
        assert {"md.stripe_cache_size", "sysctl.dirty_bytes"} <= set(found)
        assert {cause for one in found.values() for cause in one.causes} == {"hardware"}
        assert "1 GiB -> " in sentence(found["sysctl.dirty_bytes"])

    def test_each_of_two_causes_has_its_own_settings(self) -> None:
        plan = planned(server(drives_1u12()), Policy())
        before = settings_of(basis(server(drives_1u12()), of=plan))
        policy = Policy(nfsd=NfsdPolicy(threads=48))
        found = changed(before, settings_of(basis(server(drives_1u12(), memory=4 * GIB), policy, plan)))
        assert (found["nfsd.threads"].causes, found["md.stripe_cache_size"].causes) == (["policy"], ["hardware"])

    def test_another_pool_is_named(self) -> None:
        inventory = server(drives_1u12())
        old, new = (
            planned(inventory, policy) for policy in (Policy(), Policy.model_validate({"layout": {"chunk_kib": 512}}))
        )
        found = changed(settings_of(basis(inventory, of=old)), settings_of(basis(inventory, of=new)))
        assert found["md.stripe_cache_size"].causes == ["pool"]

    def test_value_that_another_release_computed_from_the_same_is_of_the_release(self) -> None:
        now = settings_of(basis(server(drives_1u12())))
        values = [
            one.model_copy(update={"value": 2}) if one.name == "md.group_thread_cnt" else one for one in now.values
        ]
        found = changed(now.model_copy(update={"values": values}), now)
        assert [(one.name, one.causes) for one in found.values()] == [("md.group_thread_cnt", ["release"])]

    def test_difference_to_the_plan_alone_has_no_known_cause(self) -> None:
        inventory = server(drives_1u12())
        now = settings_of(basis(inventory, Policy(md=MdPolicy(read_ahead_kib=4096))))
        [found] = changes(planned_settings(planned(inventory, Policy())), now)
        assert (found.name, found.causes, found.at) == ("md.read_ahead", ["unknown"], None)

    def test_changes_of_one_boot_are_counted_from_its_beginning(self) -> None:
        inventory = server(drives_1u12())
        states = [settings_of(basis(inventory, Policy(nfsd=NfsdPolicy(threads=count)))) for count in (20, 24, 28)]
        first, second = changes(states[0], states[1]), changes(states[1], states[2])
        [both] = merged_changes(first, second)
        assert (both.before_text, both.after_text) == ("min_per_pool 8, max 20", "min_per_pool 8, max 28")
        assert merged_changes(first, changes(states[1], states[0])) == []
        assert merged_changes(first, []) == first
