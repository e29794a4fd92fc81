# SPDX-License-Identifier: Apache-2.0
"""Direct reads of degraded arrays are switched by the policy on a running server."""

from pathlib import Path

import pytest

from millrace import paths
from millrace.plan.defaults import DegradedReads, plan_degraded_reads
from millrace.plan.policy import MdPolicy
from millrace.tune.arrays import read_settings
from millrace.tune.run import run
from tests.unit.tune.machine import Machine

SWITCH = "sys/module/raid456/parameters/direct_degraded_reads"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return Machine(tmp_path)


def test_switch_follows_the_policy_and_back(machine: Machine) -> None:
    off, decisions = plan_degraded_reads(MdPolicy(direct_degraded_reads=False))
    assert [(one.name, one.value) for one in decisions] == [("md.direct_degraded_reads", False)]
    on, decisions = plan_degraded_reads(MdPolicy())
    assert (on, decisions) == (DegradedReads(), [])
    machine.write(SWITCH, "Y")
    assert run([lambda: (read_settings(on), [])], diff_only=False).drift == []
    for wanted, value in ((off, "N"), (on, "Y")):
        (drift,) = run([lambda wanted=wanted: (read_settings(wanted), [])], diff_only=False).drift
        assert (drift.wanted, drift.changed, machine.read(SWITCH)) == (value, True, value)


def test_module_without_a_switch_has_no_such_setting(machine: Machine) -> None:
    assert read_settings(DegradedReads()) == []
