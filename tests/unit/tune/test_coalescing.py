# SPDX-License-Identifier: Apache-2.0
"""Coalescing of the network ports is the drivers' unless the policy has it, and goes back to what it was."""

from pathlib import Path

import pytest

from millrace.inventory.nics import nics
from millrace.plan.defaults import PortSettings
from millrace.plan.server import data_ports
from millrace.plan.settings import planned_settings
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.run import Result
from millrace.tune.coalescing import CoalescingKnob, coalescing, coalescing_settings
from millrace.tune.collect import stages
from millrace.tune.model import TuneReport
from millrace.tune.run import run
from tests.fakes.samples import plan, pool
from tests.unit.tune.machine import Machine


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A port that adapts to the load, one whose driver cannot, and one without coalescing."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    machine = Machine(tmp_path)
    for bus, name in enumerate(("ens1", "ens2", "ens3"), 0x81):
        machine.port(name, 0, bus)
    machine.coalescing = {"ens1": {"adaptive-rx": True, "rx-usecs": 8}, "ens2": {"rx-usecs": 3}}
    return machine


def tuned(machine: Machine, wanted: PortSettings, restore: bool = False) -> TuneReport:
    ports = data_ports(nics(machine.root, machine))
    return run([lambda: (coalescing_settings(wanted, ports, machine), [])], restore=restore)


def test_without_a_policy_no_port_is_asked(machine: Machine) -> None:
    assert tuned(machine, PortSettings()).settings == 0
    assert not machine.called("ethtool --json -c")


def test_policy_is_set_on_every_port_that_has_it_and_restored(machine: Machine) -> None:
    before = {name: dict(has) for name, has in machine.coalescing.items()}
    report = tuned(machine, PortSettings(rx_usecs=32))
    assert [(setting.path, setting.before, setting.wanted) for setting in report.drift] == [
        ("ethtool -C ens1 rx-usecs", "adaptive", "32"),
        ("ethtool -C ens2 rx-usecs", "3", "32"),
    ]
    assert machine.coalescing == {"ens1": {"adaptive-rx": False, "rx-usecs": 32}, "ens2": {"rx-usecs": 32}}
    assert tuned(machine, PortSettings(rx_usecs=32)).drift == []
    tuned(machine, PortSettings(rx_usecs=32), restore=True)
    assert machine.coalescing["ens1"]["adaptive-rx"] is True and machine.coalescing["ens2"] == before["ens2"]


def test_tune_sets_it_after_the_queues(machine: Machine) -> None:
    settings = planned_settings(plan()).model_copy(update={"ports": PortSettings(rx_usecs="adaptive")})
    first, second = stages(settings, pool(), machine)
    assert not [one for one in first()[0] if isinstance(one, CoalescingKnob)]
    found = [one for one in second()[0] if isinstance(one, CoalescingKnob)]
    assert [(one.port, one.wanted) for one in found] == [("ens1", "adaptive"), ("ens2", "adaptive")]


def test_driver_that_refuses_is_a_warning_with_its_words(machine: Machine) -> None:
    machine.refusing = {"ens2"}
    report = tuned(machine, PortSettings(rx_usecs=32))
    [warning] = report.warnings
    assert warning == "ethtool -C ens2 rx-usecs cannot be set to 32: netlink error: Operation not supported"
    assert machine.coalescing["ens1"]["rx-usecs"] == 32


def test_output_that_cannot_be_parsed_is_no_coalescing(machine: Machine) -> None:
    machine.broken["ethtool --json -c ens1"] = Result(0, "[]", "")
    with pytest.raises(Failed, match="ethtool does not report the coalescing of ens1"):
        coalescing("ens1", machine)
