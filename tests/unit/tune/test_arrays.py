# SPDX-License-Identifier: Apache-2.0
"""Settings of arrays: of an external device the read-ahead alone, and how a degraded array is read by the policy."""

from pathlib import Path

import pytest

from millrace.plan.defaults import DegradedReads, plan_degraded_reads
from millrace.plan.md import no_arrays, plan_md
from millrace.plan.policy.model import MdPolicy, Policy
from millrace.plan.server import Server
from millrace.system import paths
from millrace.tune import settings
from millrace.tune.arrays import array_settings, read_settings
from millrace.tune.collect import sysctl_settings
from millrace.tune.run import run
from tests.fakes.samples import EXTERNAL, add_external, external_pool, plan, pool
from tests.unit.tune.machine import Machine

SERVER = Server(memory=64 << 30, cores=16, cores_per_node=16, compute_nodes=1, nic_cores=0, nic_nodes=[], port_cores={})


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return tmp_path


def test_the_read_ahead_of_the_device_of_the_data_is_set_alone(root: Path) -> None:
    add_external(root, "vda1")
    add_external(root, "vdb1", EXTERNAL[1])
    found, warnings = array_settings(plan().md, external_pool("VOL", "VLOG"))
    assert [one.label.removeprefix(str(root)) for one in found] == ["/sys/class/block/vda/queue/read_ahead_kb"]
    assert warnings == []


@pytest.mark.usefixtures("root")
def test_limits_of_a_rebuild_are_left_alone() -> None:
    wanted = settings.planned_settings(plan())
    labels = [one.label for one in sysctl_settings(wanted, external_pool("VOL"))]
    assert not [one for one in labels if "raid" in one]
    assert [one for one in map(lambda one: one.label, sysctl_settings(wanted, pool())) if "raid" in one]


def test_settings_are_computed_from_the_stripes_of_the_file_system() -> None:
    found = settings._arrays(external_pool("VOL"))
    assert found == no_arrays(1 << 20) and found.external
    md, decisions = plan_md(found, 0, SERVER, Policy())
    assert ([one.name for one in decisions], md.read_ahead) == (["md.read_ahead"], 768)


SWITCH = "sys/module/raid456/parameters/direct_degraded_reads"


def test_direct_reads_follow_the_policy_and_back(root: Path) -> None:
    machine = Machine(root)
    off, decisions = plan_degraded_reads(MdPolicy(direct_degraded_reads=False))
    assert [(decision.name, decision.value) for decision in decisions] == [("md.direct_degraded_reads", False)]
    on, decisions = plan_degraded_reads(MdPolicy())
    assert (on, decisions) == (DegradedReads(), [])
    machine.write(SWITCH, "Y")
    assert run([lambda: (read_settings(on), [])], diff_only=False).drift == []
    for wanted, value in ((off, "N"), (on, "Y")):
        (drift,) = run([lambda wanted=wanted: (read_settings(wanted), [])], diff_only=False).drift
        assert (drift.wanted, drift.changed, machine.read(SWITCH)) == (value, True, value)


@pytest.mark.usefixtures("root")
def test_module_without_a_switch_has_no_such_setting() -> None:
    assert read_settings(DegradedReads()) == []
