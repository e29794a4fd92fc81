# SPDX-License-Identifier: Apache-2.0
"""`millrace topology` shows each node with tables of its drives and ports."""

from pathlib import Path

from click.testing import CliRunner

from millrace.observe.topology.verbs import topology
from tests.fakes.files.box import serial
from tests.fakes.files.running import server


def test_node_has_tables_of_its_drives_and_ports(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.provision()
        lines = CliRunner().invoke(topology, [], catch_exceptions=False).stdout.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("Node 1: CPUs 8-15"))
    node = lines[begin : lines.index("", begin)]
    drives, ports = (next(line for line in node if line.startswith(f"  {title} ")) for title in ("Drive", "Port"))
    assert drives.split() == ["Drive", "Serial", "Array", "State"]
    (first,) = [line for line in node if serial(1) in line]
    assert first.index(serial(1)) == drives.index("Serial") and first.index("in-sync") == drives.index("State")
    (port,) = [line for line in node if "ens2np0" in line]
    assert port.index("mlx5_1") == ports.index("RDMA") and port.endswith("  on CPUs 8,10,12,14")
