# SPDX-License-Identifier: Apache-2.0
"""What the policy had set in this boot and sets no more goes back to what it was, and nothing else does."""

from pathlib import Path

import pytest

from millrace.plan.defaults import IoSettings, MemberSettings, PortSettings
from millrace.plan.settings import planned_settings
from millrace.system import paths
from millrace.tune.collect import stages
from millrace.tune.model import TuneReport
from millrace.tune.run import run
from tests.fakes.samples import plan, pool
from tests.unit.tune.fake_sysfs import add_array, add_drive, add_nfsd_io_modes
from tests.unit.tune.machine import Machine

REASON = "as before: the policy does not set it any more"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A port with coalescing and rings, and nfsd with its I/O modes."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    machine = Machine(tmp_path)
    machine.port("ens1", 0)
    machine.coalescing = {"ens1": {"adaptive-rx": True, "rx-usecs": 8}}
    machine.rings["ens1"] = {"rx": 1024, "rx-max": 8192, "tx": 512, "tx-max": 8192}
    machine.queues("ens1", 1, 1)
    add_nfsd_io_modes(tmp_path, monkeypatch)
    return machine


def tuned(machine: Machine, diff_only: bool = False, **more: object) -> TuneReport:
    return run(stages(planned_settings(plan()).model_copy(update=more), pool(), machine), diff_only)


WITH = {"ports": PortSettings(rx_usecs=32, rx_ring=4096), "io": IoSettings(read="direct")}


def test_key_that_the_policy_has_no_more_is_given_back(machine: Machine) -> None:
    before = machine.snapshot(), dict(machine.rings["ens1"]), dict(machine.coalescing["ens1"])
    tuned(machine, **WITH)
    assert machine.rings["ens1"]["rx"] == 4096 and machine.coalescing["ens1"]["rx-usecs"] == 32
    # what is still in the policy stays
    half = {**WITH, "ports": PortSettings(rx_ring=4096)}
    expected = {"ethtool -C ens1 rx-usecs": ("32", "adaptive")}
    for diff_only in (True, False):
        drift = tuned(machine, diff_only, **half).drift
        assert {
            setting.path: (setting.before, setting.wanted) for setting in drift if setting.reason == REASON
        } == expected
    assert machine.rings["ens1"]["rx"] == 4096 and machine.coalescing["ens1"]["adaptive-rx"] is True
    tuned(machine)
    assert machine.rings["ens1"] == before[1] and machine.coalescing["ens1"]["adaptive-rx"] is True
    kept = "sys/kernel/debug/nfsd/io_cache_read"
    assert machine.snapshot()[kept] == before[0][kept]
    # once is enough
    assert [setting for setting in tuned(machine).drift if setting.reason == REASON] == []


def test_what_millrace_did_not_change_is_not_looked_at(machine: Machine) -> None:
    tuned(machine)
    machine.rings["ens1"]["rx"] = 2048
    report = tuned(machine)
    assert [one for one in report.drift if one.reason == REASON] == []
    assert machine.rings["ens1"]["rx"] == 2048
    assert not machine.called("ethtool --json -g") and not machine.called("ethtool --json -c")


def test_queues_of_drives_are_given_back(machine: Machine) -> None:
    for number in range(3):
        add_drive(machine.root, f"nvme{number}n1")
        machine.write(f"sys/class/block/nvme{number}n1/queue/nr_requests", "1023")
    add_array(machine.root, "data", "md127", [f"nvme{number}n1p1" for number in range(3)], parity=True)
    tuned(machine, members=MemberSettings(requests=64))
    assert machine.read("sys/class/block/nvme1n1/queue/nr_requests") == "64"
    back = [one.path for one in tuned(machine).drift if one.reason == REASON]
    assert len(back) == 3 and machine.read("sys/class/block/nvme1n1/queue/nr_requests") == "1023"
