# SPDX-License-Identifier: Apache-2.0
"""smbd is bound to a socket only where all ports with a link are on it; it is never restarted."""

from pathlib import Path

import pytest

from millrace.inventory.nics import nics
from millrace.plan.server import data_ports
from millrace.system import paths
from millrace.system.run import Result
from millrace.tune import topology
from millrace.tune.model import TuneReport
from millrace.tune.run import run
from millrace.tune.smb import DROP_IN, smb_settings
from tests.unit.tune.machine import Machine, two_sockets


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two sockets; ports are added by the tests."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    machine = Machine(tmp_path)
    two_sockets(machine)
    return machine


def tuned(machine: Machine, restore: bool = False) -> TuneReport:
    ports = data_ports(nics(machine.root, machine))
    return run([lambda: (smb_settings(ports, topology.cores(), machine), [])], restore=restore)


def drop_in(machine: Machine) -> str:
    path = machine.root / DROP_IN
    return path.read_text() if path.exists() else ""


def test_all_ports_at_one_socket(machine: Machine) -> None:
    machine.port("ens1f0", 1, 0x81)
    machine.port("ens1f1", 1, 0x82)
    report = tuned(machine)
    assert drop_in(machine).splitlines()[1:] == ["[Service]", "CPUAffinity=24-47,72-95", "NUMAPolicy=local"]
    assert report.drift[0].before == "none" and report.warnings == []
    assert machine.calls.count(["systemctl", "daemon-reload"]) == 1
    assert tuned(machine).drift == []
    assert machine.calls.count(["systemctl", "daemon-reload"]) == 1


def test_ports_at_both_sockets_leave_it_free(machine: Machine) -> None:
    machine.port("ens1", 0, 0x81)
    machine.port("ens2", 1, 0x82)
    assert tuned(machine).drift == [] and drop_in(machine) == ""


def test_a_port_without_a_link_does_not_count(machine: Machine) -> None:
    machine.port("ens1", 0, 0x81)
    machine.port("ens2", 1, 0x82)
    machine.write("sys/class/net/ens2/carrier", "0")
    tuned(machine)
    assert "CPUAffinity=0-23,48-71" in drop_in(machine)
    machine.write("sys/class/net/ens2/carrier", "1")
    tuned(machine)
    assert drop_in(machine) == "", "and when its link comes, smbd is free again"


def test_nodes_of_one_socket_are_near_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    machine = Machine(tmp_path)
    for node in range(4):
        machine.node(node, [(node * 4 + core,) for core in range(4)], package=0)
    machine.port("ens1", 2)
    assert tuned(machine).drift == []


def test_with_several_nodes_in_each_socket_the_whole_socket_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    machine = Machine(tmp_path)
    for node in range(4):
        machine.node(node, [(node * 4 + core,) for core in range(4)], package=node // 2)
    machine.port("ens1", 2)
    tuned(machine)
    assert "CPUAffinity=8-15" in drop_in(machine)


@pytest.mark.parametrize("node", [-1, 7])
def test_a_place_that_is_not_known_leaves_it_free(machine: Machine, node: int) -> None:
    machine.port("ens1", node)
    assert tuned(machine).drift == []


def test_running_smbd_is_not_restarted_and_the_restart_is_named(machine: Machine) -> None:
    machine.port("ens1", 1)
    machine.active.add("smbd.service")
    report = tuned(machine)
    assert report.warnings == ["the CPU affinity of smbd changes when it is restarted: systemctl restart smbd.service"]
    assert machine.called("systemctl restart") == []


def test_a_reload_that_fails_leaves_nothing_half_done(machine: Machine) -> None:
    machine.port("ens1", 1)
    machine.broken["systemctl daemon-reload"] = Result(1, "", "Connection refused")
    report = tuned(machine)
    assert "daemon-reload failed" in report.warnings[0] and drop_in(machine) == ""
    machine.broken.clear()
    assert tuned(machine).warnings == [] and drop_in(machine)


def test_reverting_takes_the_drop_in_away(machine: Machine) -> None:
    machine.port("ens1", 1)
    tuned(machine)
    tuned(machine, restore=True)
    assert drop_in(machine) == ""
