# SPDX-License-Identifier: Apache-2.0
"""Which core serves which queue of which port, on servers of every shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.inventory.model import Nic, PcieLink
from millrace.plan.policy.model import PortsPolicy
from millrace.plan.ports import Core, DriverPort, cores_of, place, plan_ports, smb_cpus
from millrace.plan.server import Server, data_ports
from millrace.system.text import GIB


def server(nodes: int, cores: int, threads: int = 2, packages: int | None = None) -> list[Core]:
    """`cores` of each node, the second threads numbered after all first ones."""
    total, each = nodes * cores, nodes // (packages or nodes)
    return [
        Core(node, node // each, tuple(node * cores + core + total * thread for thread in range(threads)))
        for node in range(nodes)
        for core in range(cores)
    ]


def nic(name: str, node: int | None = 0, gigatransfers: float | None = 32.0, width: int = 16, **more: object) -> Nic:
    link = None if gigatransfers is None else PcieLink(speed=2.5, width=1, max_speed=gigatransfers, max_width=width)
    fields = {
        "name": name,
        "driver": "mlx5_core",
        "pci_address": f"0000:{name}",
        "numa_node": node,
        "speed": None,
        "carrier": True,
        "queues": 1,
        "rdma_device": None,
        "link": link,
    }
    return Nic.model_validate({**fields, **more})


class TestQueues:
    def test_one_for_each_core_of_the_ports_node(self) -> None:
        placed = place([DriverPort("a", 1, 63)], server(2, 24))["a"]
        assert placed.queues == 24
        assert [placed.interrupt_cpu(queue) for queue in range(24)] == list(range(24, 48))

    def test_never_more_than_the_port_offers(self) -> None:
        assert place([DriverPort("a", 0, 8)], server(2, 24))["a"].queues == 8

    def test_two_ports_with_a_queue_for_each_core_start_at_the_same_core(self) -> None:
        placed = place([DriverPort("a", 0, 63), DriverPort("b", 0, 63)], server(1, 24))
        assert placed["a"].cores == placed["b"].cores

    def test_small_ports_share_the_node_without_sharing_cores(self) -> None:
        placed = place([DriverPort(name, 0, 8) for name in "abcd"], server(1, 24))
        assert [placed[name].interrupt_cpu(0) for name in "abcd"] == [0, 8, 16, 0]

    def test_ports_of_different_nodes_do_not_push_each_other(self) -> None:
        placed = place([DriverPort("a", 0, 8), DriverPort("b", 1, 8)], server(2, 24))
        assert placed["b"].interrupt_cpu(0) == 24

    def test_without_second_threads(self) -> None:
        placed = place([DriverPort("a", 0, 63)], server(1, 4, threads=1))["a"]
        assert placed.transmit_cpus(0, 4) == {0}

    def test_a_quarter_of_a_socket_is_a_node(self) -> None:
        placed = place([DriverPort("a", 6, 63)], server(8, 12, packages=2))["a"]
        assert placed.queues == 12 and placed.interrupt_cpu(0) == 72

    def test_a_node_without_processors_means_all_of_them_in_turn(self) -> None:
        placed = place([DriverPort("a", 4, 63)], server(2, 4))["a"]
        assert placed.queues == 8
        assert [placed.interrupt_cpu(queue) for queue in range(4)] == [0, 4, 1, 5]

    def test_uneven_nodes_of_unknown_place(self) -> None:
        cores = [Core(0, 0, (0,)), Core(1, 1, (1,)), Core(1, 1, (2,)), Core(1, 1, (3,))]
        assert [core.cpus[0] for core in cores_of(None, cores)] == [0, 1, 2, 3]

    def test_a_driver_that_decides_itself_still_gets_its_vectors_placed(self) -> None:
        placed = place([DriverPort("a", 0, None)], server(1, 4))["a"]
        assert placed.queues is None
        assert [placed.interrupt_cpu(queue) for queue in range(5)] == [0, 1, 2, 3, 0]

    def test_no_processors_no_place(self) -> None:
        assert place([DriverPort("a", 0, 4)], []) == {}


@given(
    nodes=st.integers(1, 8),
    cores=st.integers(1, 32),
    threads=st.integers(1, 2),
    ports=st.lists(st.tuples(st.none() | st.integers(-1, 9), st.none() | st.integers(1, 128)), min_size=1, max_size=6),
)
def test_whatever_the_server(nodes: int, cores: int, threads: int, ports: list[tuple[int | None, int | None]]) -> None:
    known = server(nodes, cores, threads)
    asked = [DriverPort(str(number), node, most) for number, (node, most) in enumerate(ports)]
    everywhere = place(asked, known)
    assert [*everywhere] == [port.name for port in asked]
    for port in asked:
        placed = everywhere[port.name]
        near = [core for core in known if core.node == port.node] or known
        assert sorted(core.cpus for core in placed.cores) == sorted(core.cpus for core in near)
        count = placed.queues or 1
        assert 1 <= count <= min(len(near), port.most_queues or len(near))
        taken = [placed.interrupt_cpu(queue) for queue in range(count)]
        assert len(set(taken)) == count, "no two queues on one core"
        assert set(taken) <= {core.cpus[0] for core in near}, "never a second thread"
        sent = [cpu for queue in range(count) for cpu in placed.transmit_cpus(queue, count)]
        assert sorted(sent) == sorted(cpu for core in near for cpu in core.cpus), "each CPU sends through one queue"
        assert all(placed.interrupt_cpu(queue) in placed.transmit_cpus(queue, count) for queue in range(count))


class TestDataPorts:
    def test_a_management_port_is_none(self) -> None:
        assert [port.name for port in data_ports([nic("a"), nic("b", gigatransfers=5.0, width=4)])] == ["a"]

    def test_on_a_small_server_it_is(self) -> None:
        assert len(data_ports([nic("a", gigatransfers=5.0, width=1), nic("b", gigatransfers=5.0, width=4)])) == 2

    def test_an_older_card_beside_a_newer_one_is(self) -> None:
        assert len(data_ports([nic("a"), nic("b", gigatransfers=8.0)])) == 2

    def test_a_link_that_sleeps_or_has_no_cable_changes_nothing(self) -> None:
        [port] = data_ports([nic("a", carrier=False)])
        assert port.name == "a"

    def test_virtual_ports_tell_no_link(self) -> None:
        assert len(data_ports([nic("a", gigatransfers=None), nic("b", gigatransfers=None)])) == 2

    def test_the_port_of_a_bmc_over_usb_is_none(self) -> None:
        assert data_ports([nic("a", driver="cdc_ether")]) == []

    def test_the_order_is_that_of_the_slots_not_of_the_names(self) -> None:
        found = data_ports([nic("a", pci_address="0000:c1:00.0"), nic("b", pci_address="0000:41:00.0")])
        assert [port.name for port in found] == ["b", "a"]


class TestSmb:
    @pytest.mark.parametrize(
        ("nodes", "packages", "ports", "expected"),
        [
            (2, 2, [1], range(4, 8)),
            (2, 2, [1, 1], range(4, 8)),
            (2, 2, [0, 1], None),
            (1, 1, [0], None),
            (4, 1, [2], None),
            (8, 2, [6], range(16, 32)),
            (8, 2, [4, 7], range(16, 32)),
            (8, 2, [3, 4], None),
            (2, 2, [None], None),
            (2, 2, [0, None], None),
            (2, 2, [5], None),
            (2, 2, [], None),
        ],
    )
    def test_one_socket_of_several_or_none(
        self, nodes: int, packages: int, ports: list[int | None], expected: range | None
    ) -> None:
        cores = server(nodes, 4, threads=1, packages=packages)
        found = smb_cpus([nic(str(number), node) for number, node in enumerate(ports)], cores)
        assert found == (None if expected is None else frozenset(expected))


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        (PortsPolicy(), ["driver default"]),
        (PortsPolicy(rx_ring=4096), ["driver default for tx"]),
        (PortsPolicy(rx_ring=4096, tx_ring=512), []),
    ],
)
def test_rings_of_the_policy_are_not_called_the_drivers(wanted: PortsPolicy, value: list[str]) -> None:
    one = Server(memory=GIB, cores=1, cores_per_node=1, compute_nodes=1, nic_cores=0, nic_nodes=[], port_cores={})
    assert [found.value for found in plan_ports(one, wanted) if found.name == "ports.rings"] == value
