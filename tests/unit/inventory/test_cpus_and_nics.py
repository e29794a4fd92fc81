# SPDX-License-Identifier: Apache-2.0
"""Physical cores, NUMA nodes and network ports; None where the kernel does not report a value."""

from pathlib import Path

import pytest

from millrace.inventory.collect import collect
from millrace.inventory.cpus import cpu_list
from tests.fakes.files.trees import booted, nothing_found


def test_two_sockets_with_hyperthreads(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.cpus(("0-3", ["0,2", "1,3", "0,2", "1,3"]), ("4-5", ["4", "5"]))
    tree.memory(8_000_000)
    inventory = collect(tmp_path, nothing_found)
    assert [(node.id, node.cpus, node.cores) for node in inventory.nodes] == [(0, [0, 1, 2, 3], 2), (1, [4, 5], 2)]
    assert [node.memory for node in inventory.nodes] == [4 << 30, 4 << 30]
    assert (inventory.sockets, inventory.memory) == (2, 8_000_000 * 1024)
    assert inventory.cpu_model == "AMD EPYC 9554P 64-Core Processor"
    assert inventory.kernel == "7.2.12+deb14-amd64"


def test_a_kernel_without_numa_is_one_node(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.write("sys/devices/system/cpu/online", "0-1\n")
    tree.memory(2048)
    node = collect(tmp_path, nothing_found).nodes[0]
    assert (node.id, node.cpus, node.cores, node.memory) == (0, [0, 1], 2, 2048 * 1024)


@pytest.mark.parametrize(("text", "cpus"), [("0", [0]), ("0-2,8,10-11", [0, 1, 2, 8, 10, 11]), ("", [])])
def test_cpu_lists(text: str, cpus: list[int]) -> None:
    assert cpu_list(text) == cpus


def test_a_port_with_rdma(tmp_path: Path) -> None:
    function = booted(tmp_path).nic("ens1f0np0", speed="400000", carrier="1")
    (function / "infiniband/mlx5_0").mkdir(parents=True)
    nic = collect(tmp_path, nothing_found).nics[0]
    assert (nic.name, nic.driver, nic.speed, nic.carrier) == ("ens1f0np0", "mlx5_core", 400000, True)
    assert (nic.pci_address, nic.numa_node, nic.queues, nic.rdma_device) == ("0000:81:00.0", 1, 4, "mlx5_0")


def test_a_port_without_link_has_an_unknown_speed(tmp_path: Path) -> None:
    booted(tmp_path).nic("ens1", speed="-1")
    nic = collect(tmp_path, nothing_found).nics[0]
    assert (nic.speed, nic.carrier, nic.rdma_device) == (None, False, None)


def test_soft_roce_belongs_to_the_port_it_runs_over(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    tree.nic("ens1", carrier="1")
    tree.write("sys/class/infiniband/rxe0/parent", "ens1\n")
    assert collect(tmp_path, nothing_found).nics[0].rdma_device == "rxe0"


def test_ports_that_are_no_devices_are_left_out(tmp_path: Path) -> None:
    tree = booted(tmp_path)
    for name in ("lo", "bond0", "br0"):
        tree.write(f"sys/class/net/{name}/speed", "10000\n")
    assert collect(tmp_path, nothing_found).nics == []
