# SPDX-License-Identifier: Apache-2.0
"""What network ports and RDMA devices count."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.metrics.family import exposition
from millrace.metrics.sources import ports
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.unit.metrics.scrape import parsed, value, values


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
