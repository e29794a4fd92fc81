# SPDX-License-Identifier: Apache-2.0
"""Each queue of a port has its own core on the port's node; unsupported settings are left alone."""

import errno
from pathlib import Path

import pytest

from millrace.plan.defaults import PortSettings
from millrace.plan.settings import planned_settings
from millrace.system import paths
from millrace.system.run import Result
from millrace.tune.collect import Collected, everything_else, queues
from millrace.tune.model import TuneReport
from millrace.tune.run import run
from millrace.tune.tuner_hold import SENTENCE, held
from tests.fakes.samples import plan, pool
from tests.unit.tune.machine import ALL, MLX5, Machine, refuse, two_sockets


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Two sockets of 24 cores with two threads each and no port yet; CPUs 24-47 and 72-95 are node 1."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    machine = Machine(tmp_path)
    two_sockets(machine)
    return machine


def tuned(machine: Machine, diff_only: bool = False, wanted: PortSettings | None = None) -> TuneReport:
    """Tune the ports of a server that has nothing else to tune."""
    bare, bare_pool = planned_settings(plan([]).model_copy(update={"sysctl": {}})), pool([])
    bare = bare.model_copy(update={"ports": wanted or PortSettings()})

    def rest() -> Collected:
        settings, warnings = everything_else(bare, bare_pool, machine)
        return [one for one in settings if "proc/sys" not in one.label], warnings

    return run([lambda: queues(bare, machine), rest], diff_only)


def mlx5(machine: Machine, name: str = "ens1np0", now: int = 63, node: int = 1) -> Path:
    """A 400 Gbit/s port as it comes up: a vector for commands and many for completions."""
    function = machine.port(name, node)
    machine.queues(name, now, 63, MLX5)
    return function


def test_a_port_gets_one_queue_for_each_core_of_its_node_and_each_queue_a_core(machine: Machine) -> None:
    mlx5(machine)
    report = tuned(machine)
    assert report.warnings == []
    assert len(machine.called("ethtool -L ens1np0 combined 24")) == 1
    assert machine.irqs("ens1np0") == {MLX5.format(queue): str(24 + queue) for queue in range(24)}
    # both threads of a core send through the queue that the core takes interrupts of
    assert machine.read("sys/class/net/ens1np0/queues/tx-0/xps_cpus") == "00000100,00000000,01000000"
    assert machine.read("sys/class/net/ens1np0/queues/tx-23/xps_cpus") == "80000000,00008000,00000000"


def test_fewer_cores_of_the_policy_take_the_interrupts_in_turn_and_the_rest_stays(machine: Machine) -> None:
    mlx5(machine)
    tuned(machine)
    before = machine.snapshot()
    report = tuned(machine, wanted=PortSettings(interrupt_cores=6))
    assert report.warnings == [] and len(report.drift) == 18
    assert report.drift[0].reason == "the policy has 6 cores take the interrupts of ens1np0"
    assert machine.irqs("ens1np0") == {MLX5.format(queue): str(24 + queue % 6) for queue in range(24)}
    assert len(machine.called("ethtool -L")) == 1
    # more than the node has is one for each queue
    tuned(machine, wanted=PortSettings(interrupt_cores=1000))
    assert machine.snapshot() == before


def test_policy_gives_each_port_fewer_queues_and_other_rings(machine: Machine) -> None:
    mlx5(machine)
    machine.rings["ens1np0"] = {"rx": 1024, "rx-max": 8192, "tx": 1024, "tx-max": 8192}
    tuned(machine)
    # the rings are the driver's
    assert not machine.called("ethtool -G") and not machine.called("ethtool --json -g")
    report = tuned(machine, wanted=PortSettings(most_queues=8, rx_ring=4096))
    assert report.warnings == []
    changed = {
        setting.path: (setting.before, setting.wanted, setting.reason)
        for setting in report.drift
        if setting.path.startswith("ethtool")
    }
    reason = "one queue for each physical core of the port's node, at most 8 by the policy"
    assert changed == {
        "ethtool -L ens1np0 combined": ("24", "8", reason),
        "ethtool -G ens1np0 rx": ("1024", "4096", "set by the policy"),
    }
    assert machine.rings["ens1np0"]["tx"] == 1024
    # the driver has started again twice, and all cores of the node send through the queues that are left
    assert machine.irqs("ens1np0") == {MLX5.format(queue): str(24 + queue) for queue in range(8)}
    assert machine.read("sys/class/net/ens1np0/queues/tx-0/xps_cpus") == "01010100,00000101,01000000"
    # more than the node has is one for each core; the ring goes back to the driver's
    report = tuned(machine, wanted=PortSettings(most_queues=1000))
    assert len(machine.irqs("ens1np0")) == 24 and machine.rings["ens1np0"]["rx"] == 1024
    (back,) = [setting for setting in report.drift if setting.path == "ethtool -G ens1np0 rx"]
    assert (back.wanted, back.reason) == ("1024", "as before: the policy does not set it any more")


def test_rings_that_a_driver_refuses_are_not_tried_again(machine: Machine) -> None:
    mlx5(machine, now=24)
    machine.rings["ens1np0"] = {"rx": 1024, "rx-max": 8192, "tx": 1024, "tx-max": 8192}
    machine.refusing = {"ens1np0"}
    wanted = PortSettings(tx_ring=512)
    words = "ethtool -G ens1np0 tx cannot be set to 512: netlink error: Operation not supported"
    assert tuned(machine, wanted=wanted).warnings == [words]
    assert tuned(machine, wanted=wanted).warnings == ["ethtool -G ens1np0 tx rejected 512; not retried in this boot"]
    assert len(machine.called("ethtool -G")) == 1
    machine.broken["ethtool --json -g ens1np0"] = Result(0, "[]", "")
    [warning] = tuned(machine, wanted=wanted).warnings
    assert warning.startswith("some settings could not be read: ethtool does not report the rings of ens1np0: ")


def test_settings_that_the_tuner_tries_are_left_alone_until_it_has_ended(machine: Machine) -> None:
    mlx5(machine)
    with held([" combined", "/smp_affinity_list"]):
        report = tuned(machine)
        assert report.warnings == [SENTENCE]
        assert report.drift and not [
            setting for setting in report.drift if setting.path.endswith(("combined", "_list"))
        ]
        assert tuned(machine, diff_only=True).warnings == [SENTENCE]
    assert not machine.called("ethtool -L")
    # the file of one that was killed is left, its lock is not
    assert (machine.root / "run/millrace/tuner.held").exists()
    assert tuned(machine).warnings == [] and len(machine.irqs("ens1np0")) == 24


def test_a_second_run_changes_nothing_and_asks_for_nothing(machine: Machine) -> None:
    mlx5(machine)
    tuned(machine)
    before, machine.calls = machine.snapshot(), []
    assert tuned(machine).drift == []
    assert tuned(machine, diff_only=True).drift == []
    assert machine.snapshot() == before
    assert machine.called("ethtool -L") == []


def test_vectors_beyond_the_queues_serve_rdma_and_stay_on_the_node(machine: Machine) -> None:
    function = mlx5(machine, now=24)
    more = [machine.vector(function, MLX5.format(queue)) for queue in range(24, 63)]
    control = machine.vector(function, "mlx5_async0@pci:0000:81:00.0")
    tuned(machine)
    assert [machine.read(f"proc/irq/{irq}/smp_affinity_list") for irq in more[:3]] == ["24", "25", "26"]
    used = {int(cpus) for handler, cpus in machine.irqs("ens1np0").items() if "comp" in handler}
    assert used == set(range(24, 48)), "the cores of node 1, and never the second thread of one"
    assert machine.read(f"proc/irq/{control}/smp_affinity_list") == ALL


def test_the_log_says_from_what_to_what(machine: Machine) -> None:
    mlx5(machine)
    changes = {one.path: (one.before, one.wanted, one.changed) for one in tuned(machine).drift}
    assert changes["ethtool -L ens1np0 combined"] == ("63", "24", True)
    assert (ALL, "24", True) in changes.values()


def test_looking_tells_of_the_queues_without_touching_them(machine: Machine) -> None:
    mlx5(machine)
    before = machine.snapshot()
    report = tuned(machine, diff_only=True)
    assert "ethtool -L ens1np0 combined" in [one.path for one in report.drift]
    assert machine.snapshot() == before and not (machine.root / "run").exists()


def test_a_virtual_port_with_one_queue(machine: Machine) -> None:
    function = machine.port("enp1s0", 0, link="2.5 GT/s PCIe", width=1)
    machine.queues("enp1s0", 1, 1, xps=False)
    for handler in ("virtio3-config", "virtio3-input.0", "virtio3-output.0"):
        machine.vector(function, handler)
    report = tuned(machine)
    assert report.warnings == [] and report.managed == []
    assert machine.irqs("enp1s0") == {"virtio3-config": ALL, "virtio3-input.0": "0", "virtio3-output.0": "0"}
    assert tuned(machine).drift == []


@pytest.mark.parametrize("error", [errno.EPERM, errno.EIO])
def test_interrupts_that_the_kernel_manages_are_left_and_not_tried_again(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    function = machine.port("ens1np0", 1)
    machine.queues("ens1np0", 2, 2, xps=False)
    mine, theirs = (machine.vector(function, f"ens1np0-TxRx-{queue}") for queue in range(2))
    refuse(monkeypatch, machine.root / f"proc/irq/{theirs}/smp_affinity_list", error=error)
    first = tuned(machine)
    assert first.warnings == []
    assert first.managed == [str(machine.root / f"proc/irq/{theirs}/smp_affinity_list")]
    assert machine.read(f"proc/irq/{mine}/smp_affinity_list") == "24"
    for again in (tuned(machine), tuned(machine, diff_only=True)):
        assert again.drift == [] and again.warnings == [] and again.managed == first.managed


def test_a_driver_without_transmit_choice_gets_its_interrupts_placed(machine: Machine) -> None:
    machine.port("ens1np0", 1)
    machine.queues("ens1np0", 4, 4, "ens1np0-TxRx-{}", xps=False)
    assert tuned(machine).warnings == []
    assert list(machine.irqs("ens1np0").values()) == ["24", "25", "26", "27"]


def test_fewer_queues_than_cores_serve_all_cores(machine: Machine) -> None:
    machine.port("ens1np0", 0)
    machine.queues("ens1np0", 8, 8, "ice-ens1np0-TxRx-{}")
    tuned(machine)
    masks = [machine.read(f"sys/class/net/ens1np0/queues/tx-{queue}/xps_cpus") for queue in range(8)]
    together = [int(mask.replace(",", ""), 16) for mask in masks]
    assert sum(together) == sum(1 << cpu for cpu in [*range(24), *range(48, 72)]), "each CPU of the node, once"


def test_two_such_ports_do_not_share_cores(machine: Machine) -> None:
    for name, bus in (("ens1f0", 0x81), ("ens1f1", 0x82)):
        machine.port(name, 0, bus)
        machine.queues(name, 8, 8, f"ice-{name}-TxRx-{{}}")
    tuned(machine)
    assert [*machine.irqs("ens1f0").values(), *machine.irqs("ens1f1").values()] == [str(cpu) for cpu in range(16)]


def test_a_driver_that_refuses_the_number_of_queues_is_a_warning_and_the_rest_is_done(machine: Machine) -> None:
    mlx5(machine, now=24)
    machine.port("ens2", 0, 0x90)
    machine.queues("ens2", 4, 64, "ice-ens2-TxRx-{}")
    machine.broken["ethtool -L"] = Result(1, "", "netlink error: Device or resource busy\n")
    report = tuned(machine)
    assert len(report.warnings) == 1
    assert "ethtool -L ens2 combined cannot be set to 24: netlink error: Device or resource busy" in report.warnings[0]
    assert list(machine.irqs("ens2").values()) == ["0", "1", "2", "3"]
    assert machine.irqs("ens1np0")[MLX5.format(23)] == "47"


def test_what_a_driver_refused_is_not_tried_again_for_the_link_may_go_down_each_time(machine: Machine) -> None:
    mlx5(machine)
    machine.broken["ethtool -L"] = Result(1, "", "netlink error: Device or resource busy\n")
    tuned(machine)
    report = tuned(machine)
    assert len(machine.called("ethtool -L")) == 1
    assert report.warnings == ["ethtool -L ens1np0 combined rejected 24; not retried in this boot"]


def test_a_driver_without_a_number_of_queues_is_no_warning(machine: Machine) -> None:
    function = machine.port("ens1", 0)
    machine.vector(function, "ens1-rx-0")
    assert tuned(machine).warnings == []
    assert machine.irqs("ens1") == {"ens1-rx-0": "0"}


def test_the_port_for_management_is_left_alone(machine: Machine) -> None:
    mlx5(machine, now=24)
    machine.port("eno1", 0, 0x05, link="5.0 GT/s PCIe", width=1)
    machine.queues("eno1", 8, 8, "eno1-TxRx-{}")
    tuned(machine)
    assert set(machine.irqs("eno1").values()) == {ALL}


def test_a_port_of_unknown_place_is_spread_over_all_nodes(machine: Machine) -> None:
    machine.port("ens1", -1)
    machine.queues("ens1", 4, 4, "ens1-TxRx-{}")
    tuned(machine)
    assert list(machine.irqs("ens1").values()) == ["0", "24", "1", "25"]


def test_a_port_that_is_added_later_is_tuned_and_the_others_stay(machine: Machine) -> None:
    mlx5(machine)
    tuned(machine)
    machine.port("ens2", 0, 0x90)
    machine.queues("ens2", 4, 64, "ice-ens2-TxRx-{}")
    drift = [one for one in tuned(machine).drift if "smbd" not in one.path]
    assert drift and all("ens2" in one.path or "ens2" in one.reason for one in drift)
    assert list(machine.irqs("ens2").values()) == [str(cpu) for cpu in range(24)]


def test_lost_packets_are_reported(machine: Machine) -> None:
    mlx5(machine, now=24)
    machine.write("sys/class/net/ens1np0/statistics/rx_missed_errors", "5000")
    machine.write("sys/class/net/ens1np0/statistics/rx_packets", "100000")
    [warning] = tuned(machine).warnings
    assert "ens1np0 dropped 5000 of 105000 packets" in warning and "ethtool -g ens1np0" in warning


def test_without_ethtool_interrupts_are_placed_all_the_same(machine: Machine) -> None:
    mlx5(machine, now=24)
    machine.port("ens2", 0, 0x90)
    machine.missing.add("ethtool")
    report = tuned(machine)
    assert report.warnings == ["ethtool is not installed; queues of network ports are not changed"]
    assert machine.irqs("ens1np0")[MLX5.format(5)] == "29"
