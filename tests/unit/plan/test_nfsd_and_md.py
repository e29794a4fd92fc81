# SPDX-License-Identifier: Apache-2.0
"""Threads, pools, workers and caches on servers from 8 GiB to 2 TiB and from one to eight nodes, and the policy."""

from typing import Any

import pytest
from pydantic import ValidationError

from millrace.inventory.model import Inventory, NumaNode, PcieLink
from millrace.plan.memory import thread_memory
from millrace.plan.model import Decision, Nfsd, Plan, Refusal
from millrace.plan.nfsd import plan_nfsd
from millrace.plan.override import InapplicablePolicy
from millrace.plan.policy.model import MdPolicy, NfsdPolicy, NfsPolicy, Policy, SysctlPolicy
from millrace.plan.propose import propose
from millrace.plan.server import server_of
from tests.unit.plan.servers import GIB, drives_1u12, drives_2u24, server

MIB, TIB = 1 << 20, 1 << 40


def nfsd(inventory: Inventory, **wish: Any) -> Nfsd:
    return plan_nfsd(server_of(inventory), Policy(nfsd=NfsdPolicy(**wish)))[0]


def reasons(inventory: Inventory, **wish: Any) -> dict[str, Decision]:
    decisions = plan_nfsd(server_of(inventory), Policy(nfsd=NfsdPolicy(**wish)))[1]
    return {decision.name: decision for decision in decisions}


def copies(servers: list[str]) -> tuple[Nfsd, list[Decision]]:
    found, decisions = plan_nfsd(server_of(server([])), Policy(nfs=NfsPolicy(copy_from=servers)))
    return found, [decision for decision in decisions if decision.name == "nfsd.copy_from"]


def with_ports(inventory: Inventory, *nodes: int | None) -> Inventory:
    """The same server with one port on each of these nodes."""
    port = inventory.nics[0]
    return inventory.model_copy(update={"nics": [port.model_copy(update={"numa_node": node}) for node in nodes]})


def planned(inventory: Inventory, policy: Policy | None = None) -> Plan:
    proposal = propose(inventory, policy or Policy())
    assert isinstance(proposal, Plan), proposal
    return proposal


@pytest.mark.parametrize(
    ("cores", "memory", "threads"),
    [(4, 8 * GIB, 16), (16, 64 * GIB, 16), (32, 128 * GIB, 32), (96, 8 * GIB, 96), (192, 8 * GIB, 120),
     (96, 2 * TIB, 96), (192, 2 * TIB, 128)],
)  # fmt: skip
def test_threads_follow_the_cores_between_a_floor_and_what_memory_allows(cores: int, memory: int, threads: int) -> None:
    found = nfsd(server([], cores=cores, memory=memory))
    assert found.threads_max == threads
    assert found.threads_max * thread_memory(found.max_block_size) <= memory // 20


def test_a_port_at_each_socket_makes_a_pool_for_each_node() -> None:
    found = nfsd(server([], nodes=2, cores=24))
    assert (found.pool_mode, found.threads_min, found.threads_max) == ("pernode", 8, 48)


def test_all_ports_at_one_socket_share_one_pool_that_all_processors_serve() -> None:
    one_sided = with_ports(server([], nodes=2, cores=24), 1)
    found = nfsd(one_sided)
    assert (found.pool_mode, found.threads_max) == ("global", 24)
    assert "pools of the other nodes would idle" in reasons(one_sided)["nfsd.pool_mode"].reason


def test_a_socket_in_four_nodes_is_served_whole_though_its_port_is_at_one_of_them() -> None:
    found = nfsd(with_ports(server([], nodes=4, cores=24, sockets=1), 2))
    assert (found.pool_mode, found.threads_max) == ("global", 96)


def test_eight_nodes_with_a_port_each_have_eight_pools() -> None:
    found = nfsd(server([], nodes=8, cores=4, sockets=2))
    assert (found.pool_mode, found.threads_min, found.threads_max) == ("pernode", 8, 64)


def test_two_of_eight_nodes_with_ports_are_one_pool() -> None:
    found = nfsd(with_ports(server([], nodes=8, cores=12, sockets=2), 1, 5))
    assert (found.pool_mode, found.threads_max) == ("global", 96)


def test_a_node_without_processors_has_no_pool_and_does_not_keep_others_from_theirs() -> None:
    inventory = server([], nodes=2, cores=24)
    memory_only = NumaNode(id=2, cpus=[], cores=0, memory=256 * GIB)
    assert nfsd(inventory.model_copy(update={"nodes": [*inventory.nodes, memory_only]})).pool_mode == "pernode"


def test_a_node_without_memory_has_a_pool() -> None:
    inventory = server([], nodes=2, cores=24)
    bare = inventory.nodes[1].model_copy(update={"memory": 0})
    assert nfsd(inventory.model_copy(update={"nodes": [inventory.nodes[0], bare]})).pool_mode == "pernode"


def test_without_any_port_all_cores_count_and_any_may_serve() -> None:
    inventory = with_ports(server([], nodes=2, cores=24))
    found = nfsd(inventory)
    assert (found.pool_mode, found.threads_max) == ("global", 48)


def test_ports_of_unknown_place_are_as_good_as_none() -> None:
    assert nfsd(with_ports(server([], nodes=2, cores=24), None)).pool_mode == "global"


def test_a_management_port_on_the_other_socket_does_not_count() -> None:
    inventory = server([], nodes=2, cores=24)
    fast, slow = inventory.nics
    links = [
        PcieLink(speed=32, width=16, max_speed=32, max_width=16),
        PcieLink(speed=5, width=1, max_speed=5, max_width=1),
    ]
    ports = [port.model_copy(update={"link": link}) for port, link in zip((fast, slow), links, strict=True)]
    assert nfsd(inventory.model_copy(update={"nics": ports})).pool_mode == "global"


def test_a_link_that_is_slow_just_now_changes_no_plan() -> None:
    inventory = server(drives_1u12())
    asleep = [port.model_copy(update={"carrier": False, "speed": None, "queues": 1}) for port in inventory.nics]
    assert planned(inventory).digest() == planned(inventory.model_copy(update={"nics": asleep})).digest()


def test_the_page_cache_of_nfsd_is_a_decision_with_its_measurement() -> None:
    decision = reasons(server([]))["nfsd.io_modes"]
    assert decision.value == {"read": "buffered", "write": "buffered"}
    assert "measured" in decision.source
    decision = reasons(server([]), io_cache_read="direct")["nfsd.io_modes"]
    assert decision.value == {"read": "direct", "write": "buffered"}
    assert decision.source == "policy file: nfsd.io_cache_read"
    assert "without it: buffered" in decision.reason


class TestPolicyForNfsd:
    def test_each_value_is_taken_and_says_what_would_have_been(self) -> None:
        wish = {"threads": 200, "threads_min": 4, "pool_mode": "global", "max_block_size": 4 * MIB, "lease_time": 90}
        inventory = server([], nodes=2, cores=24)
        found, said = nfsd(inventory, **wish), reasons(inventory, **wish)
        assert (found.threads_max, found.threads_min, found.pool_mode) == (200, 4, "global")
        assert (found.max_block_size, found.lease_time, found.grace_time) == (4 * MIB, 90, 90)
        for name in ("nfsd.threads", "nfsd.pool_mode", "nfsd.max_block_size", "nfsd.lease_time"):
            assert said[name].source.startswith("policy file: nfsd."), name
        assert "without it: pernode." in said["nfsd.pool_mode"].reason

    def test_localio_is_on_until_the_policy_switches_it_off(self) -> None:
        assert nfsd(server([])).localio and nfsd(server([]), localio=True).localio
        assert not nfsd(server([]), localio=False).localio
        said = reasons(server([]), localio=False)["nfsd.localio"]
        assert (said.value, said.source) == (False, "policy file: nfsd.localio")
        assert said.reason == "Set by the policy (nfsd.localio); computed without it: on."

    def test_no_server_is_copied_from_until_the_policy_names_it(self) -> None:
        without, [closed] = copies([])
        assert without.copy_from == [] and closed.value == []
        named, [decision] = copies(["10.0.0.7", "fd00:1:0::7", "10.0.0.7"])
        assert named.copy_from == decision.value == ["10.0.0.7", "fd00:1::7"]
        assert "from 10.0.0.7, fd00:1::7 without" in decision.reason

    @pytest.mark.parametrize("server", ["10.0.0.0/24", "filer", "0.0.0.0", "127.0.0.1", "::1", "224.0.0.1", ""])
    def test_what_is_no_address_of_another_server_is_refused(self, server: str) -> None:
        with pytest.raises(ValidationError, match="address"):
            NfsPolicy(copy_from=[server])

    def test_a_short_grace_shortens_the_lease(self) -> None:
        found = nfsd(server([]), grace_time=20)
        assert (found.lease_time, found.grace_time) == (20, 20)

    def test_a_higher_minimum_raises_the_number_of_threads(self) -> None:
        found = nfsd(server([], nodes=2, cores=4), threads_min=32)
        assert (found.threads_min, found.threads_max) == (32, 64)

    def test_few_threads_are_few_in_each_pool(self) -> None:
        found = nfsd(server([], nodes=2), threads=4)
        assert (found.threads_min, found.threads_max) == (2, 4)

    @pytest.mark.parametrize(
        ("wish", "key", "what"),
        [
            ({"threads": 1, "pool_mode": "pernode"}, "nfsd.threads", "2 pools of at least 1 threads are more than 1"),
            ({"threads": 16, "threads_min": 9}, "nfsd.threads_min", "more than 16"),
            ({"threads": 8000}, "nfsd.threads", "take 15.87 GiB of 8 GiB memory"),
            ({"max_block_size": 4 * MIB, "threads_min": 200}, "nfsd.max_block_size", "of 8 GiB memory"),
        ],
    )
    def test_what_cannot_work_here_is_refused_with_the_reason(self, wish: dict[str, Any], key: str, what: str) -> None:
        with pytest.raises(InapplicablePolicy) as error:
            nfsd(server([], nodes=2, memory=8 * GIB), **wish)
        obstacle = error.value.obstacle
        assert key in obstacle.what and what in obstacle.what and obstacle.todo.startswith("Set nfsd.")


@pytest.mark.parametrize(("cores", "workers"), [(2, 2), (4, 2), (8, 4), (16, 4), (32, 8), (64, 16), (192, 16)])
def test_workers_of_one_array_leave_half_of_the_node_to_nfsd(cores: int, workers: int) -> None:
    assert planned(server(drives_1u12(), cores=cores)).md.group_thread_cnt == workers


@pytest.mark.parametrize(("cores", "workers"), [(4, 2), (8, 2), (16, 4), (24, 6), (64, 16)])
def test_two_legs_share_the_node(cores: int, workers: int) -> None:
    assert planned(server(drives_2u24(), nodes=2, cores=cores)).md.group_thread_cnt == workers


def test_the_smallest_node_decides_for_the_number_is_for_each() -> None:
    inventory = server(drives_1u12(), nodes=2, cores=32)
    small = inventory.nodes[1].model_copy(update={"cores": 8, "cpus": list(range(32, 40))})
    plan = planned(inventory.model_copy(update={"nodes": [inventory.nodes[0], small]}))
    assert plan.md.group_thread_cnt == 4
    [decision] = [one for one in plan.decisions if one.name == "md.group_thread_cnt"]
    assert "8 in all" in decision.reason


@pytest.mark.parametrize(("memory", "entries"), [(8 * GIB, 2048), (64 * GIB, 4096), (2 * TIB, 4096)])
def test_the_stripe_cache_fits_memory(memory: int, entries: int) -> None:
    assert planned(server(drives_1u12(), memory=memory)).md.stripe_cache_size == entries


@pytest.mark.parametrize(("memory", "dirty"), [(4 * GIB, 512 * MIB), (8 * GIB, GIB), (2 * TIB, GIB)])
def test_writers_wait_before_a_commit_has_gigabytes_to_flush(memory: int, dirty: int) -> None:
    sysctl = planned(server(drives_1u12(), memory=memory)).sysctl
    assert sysctl == {"vm.dirty_bytes": str(dirty), "vm.dirty_background_bytes": str(dirty // 4)}


def test_md_and_memory_follow_the_policy() -> None:
    wish = MdPolicy(group_thread_cnt=3, stripe_cache_size=1000, sync_speed_max_kib=500_000, read_ahead_kib=1024)
    plan = planned(server(drives_1u12()), Policy(md=wish, sysctl=SysctlPolicy(dirty_bytes=2 * GIB)))
    assert (plan.md.group_thread_cnt, plan.md.stripe_cache_size) == (3, 1000)
    assert (plan.md.sync_speed_max, plan.md.read_ahead) == (500_000, 1024)
    assert plan.sysctl["vm.dirty_bytes"] == str(2 * GIB)
    sources = {decision.name: decision.source for decision in plan.decisions}
    assert sources["md.sync_speed_max"] == "policy file: md.sync_speed_max_kib"
    assert sources["sysctl.dirty_bytes"] == "policy file: sysctl.dirty_bytes"


@pytest.mark.parametrize(
    ("policy", "key"),
    [
        (Policy(md=MdPolicy(stripe_cache_size=32768)), "md.stripe_cache_size"),
        (Policy(sysctl=SysctlPolicy(dirty_bytes=3 * GIB)), "sysctl.dirty_bytes"),
        (Policy(nfsd=NfsdPolicy(threads=8192)), "nfsd.threads"),
    ],
)
def test_what_memory_cannot_hold_refuses_the_plan(policy: Policy, key: str) -> None:
    proposal = propose(server(drives_1u12(), memory=4 * GIB), policy)
    assert isinstance(proposal, Refusal)
    assert [key in obstacle.what for obstacle in proposal.obstacles] == [True]


def test_the_plan_says_what_ports_will_get_and_names_none() -> None:
    inventory = server(drives_2u24(), nodes=2, cores=24)
    decisions = {one.name: one for one in planned(inventory).decisions}
    assert decisions["ports.queues"].value == {"node0": 24, "node1": 24}
    assert "smb.affinity" in decisions and "ports.rings" in decisions and "ports.interrupts" in decisions
    text = planned(inventory).model_dump_json()
    assert not any(port.name in text for port in inventory.nics)
