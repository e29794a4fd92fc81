# SPDX-License-Identifier: Apache-2.0
"""What network ports and RDMA devices count."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.observe.metrics.family import exposition
from millrace.observe.metrics.sources import ports
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.unit.observe.metrics.scrape import parsed, value, values


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.count(2)
        yield made


def test_bytes_errors_and_link_of_each_port(box: Box) -> None:
    box.tree.write("sys/class/net/ens1np0/statistics/rx_errors", "4\n")
    box.tree.write("sys/class/net/ens2np0/carrier", "0\n")
    found = parsed(exposition(ports.port_families()))
    assert value(found, "millrace_port_transmit_bytes_total", port="ens1np0") == 9_000_000_000
    assert value(found, "millrace_port_receive_bytes_total", port="ens1np0") == 2_500_000_000
    assert value(found, "millrace_port_receive_errors_total", port="ens1np0") == 4
    assert value(found, "millrace_port_speed_bytes_per_second", port="ens1np0") == 12_500_000_000
    assert values(found, "millrace_port_link_up") == [1, 0]


def test_rdma_data_is_counted_in_words_and_events_by_the_name_of_the_driver(box: Box) -> None:
    port = "sys/class/infiniband/mlx5_0/ports/1"
    box.tree.write(f"{port}/counters/port_rcv_data", "100\n")
    box.tree.write(f"{port}/counters/port_xmit_data", "25\n")
    box.tree.write(f"{port}/hw_counters/out_of_sequence", "3\n")
    box.tree.write(f"{port}/hw_counters/lifespan", "10\n")
    found = parsed(exposition(ports.rdma_families()))
    assert value(found, "millrace_rdma_receive_bytes_total", device="mlx5_0", port="1") == 400
    assert value(found, "millrace_rdma_transmit_bytes_total", device="mlx5_0", port="1") == 100
    # `lifespan` is how long the driver keeps a value, and no counter
    assert {dict(labels)["counter"]: one for (name, labels), one in found.items() if "events" in name} == {
        "out_of_sequence": 3
    }


def test_port_and_cable_that_fail_are_seen_in_the_counters(box: Box) -> None:
    box.tree.write("sys/class/net/ens1np0/carrier_changes", "5\n")
    box.tree.write("sys/class/net/ens1np0/statistics/rx_missed_errors", "7\n")
    box.tree.write("sys/class/net/ens1np0/statistics/rx_crc_errors", "8\n")
    found = parsed(exposition(ports.port_families()))
    assert value(found, "millrace_port_carrier_changes_total", port="ens1np0") == 5
    assert value(found, "millrace_port_receive_missed_total", port="ens1np0") == 7
    assert value(found, "millrace_port_receive_crc_errors_total", port="ens1np0") == 8


def test_members_of_a_bond(box: Box) -> None:
    box.tree.write("sys/class/net/bond0/bonding/slaves", "ens1np0 ens2np0\n")
    for name, state, failures in (("ens1np0", "up", 0), ("ens2np0", "down", 3)):
        box.tree.write(f"sys/class/net/{name}/bonding_slave/mii_status", f"{state}\n")
        box.tree.write(f"sys/class/net/{name}/bonding_slave/link_failure_count", f"{failures}\n")
    found = parsed(exposition(ports.port_families()))
    assert value(found, "millrace_bond_member_up", bond="bond0", port="ens1np0") == 1
    assert value(found, "millrace_bond_member_up", bond="bond0", port="ens2np0") == 0
    assert value(found, "millrace_bond_member_link_failures_total", bond="bond0", port="ens2np0") == 3


@pytest.mark.parametrize(("state", "is_up"), [("4: ACTIVE", 1), ("1: DOWN", 0), ("2: INIT", 0)])
def test_link_and_errors_of_an_rdma_port(box: Box, state: str, is_up: int) -> None:
    port = "sys/class/infiniband/mlx5_0/ports/1"
    box.tree.write(f"{port}/state", f"{state}\n")
    box.tree.write(f"{port}/counters/symbol_error", "2\n")
    found = parsed(exposition(ports.rdma_families()))
    assert value(found, "millrace_rdma_link_up", device="mlx5_0", port="1") == is_up
    # soft-RoCE has no counters of errors: they are left out and not 0
    assert value(found, "millrace_rdma_errors_total", device="mlx5_0", error="symbol_error") == 2
    assert len(values(found, "millrace_rdma_errors_total")) == 1
