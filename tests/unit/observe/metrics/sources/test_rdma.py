# SPDX-License-Identifier: Apache-2.0
"""Counters of RDMA drivers that node_exporter has no name for."""

from pathlib import Path

from millrace.observe.metrics.family import exposition
from millrace.observe.metrics.sources import rdma
from tests.fakes.files.running import server
from tests.unit.observe.metrics.scrape import parsed


def test_events_have_the_name_that_the_driver_gives_them(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        port = "sys/class/infiniband/mlx5_0/ports/1"
        box.tree.write(f"{port}/hw_counters/out_of_sequence", "3\n")
        box.tree.write(f"{port}/hw_counters/lifespan", "10\n")
        found = parsed(exposition(rdma.families()))
    # `lifespan` is how long the driver keeps a value, and no counter
    labels = (("counter", "out_of_sequence"), ("device", "mlx5_0"), ("port", "1"))
    assert found == {("millrace_rdma_driver_events_total", labels): 3}


def test_server_without_rdma_has_none(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        for device in (box.root / "sys/class/infiniband").iterdir():
            device.unlink()
        assert parsed(exposition(rdma.families())) == {}
