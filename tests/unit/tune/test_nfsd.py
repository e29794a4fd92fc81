# SPDX-License-Identifier: Apache-2.0
"""Settings of a running nfsd that can change do; others name the restart that they need."""

from pathlib import Path

import pytest

from millrace.plan.defaults import IoSettings
from millrace.plan.model import Nfsd
from millrace.plan.settings import planned_settings
from millrace.system import paths
from millrace.system.run import Result
from millrace.tune.collect import stages
from millrace.tune.model import TuneReport
from millrace.tune.nfsd import IoModeKnob, io_settings, localio_settings, nfsd_settings
from millrace.tune.run import run
from tests.fakes.samples import NFSD, plan, pool
from tests.unit.tune.fake_sysfs import add_nfsd, add_nfsd_io_modes, add_rdma_device
from tests.unit.tune.machine import Machine

TCP = ["tcp 2049", "tcp 2049"]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """nfsd serves as planned: 8 to 64 threads in two pools."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    machine = Machine(tmp_path)
    machine.write("sys/module/sunrpc/parameters/pool_mode", "pernode")
    add_nfsd(tmp_path, 64, TCP)
    machine.write("proc/fs/nfsd/max_block_size", "1048576")
    return machine


def tuned(machine: Machine, nfsd: Nfsd = NFSD, diff_only: bool = False) -> TuneReport:
    return run([lambda: (nfsd_settings(nfsd, machine), [])], diff_only)


def test_as_planned_nothing_is_done(machine: Machine) -> None:
    report = tuned(machine)
    assert report.drift == [] and report.warnings == []
    assert machine.calls == [["nfsdctl", "threads"]]


def test_threads_change_while_it_serves(machine: Machine) -> None:
    report = tuned(machine, NFSD.model_copy(update={"threads_max": 128}))
    assert [(one.before, one.wanted, one.changed) for one in report.drift] == [("-m 8 64", "-m 8 128", True)]
    assert machine.nfsd_threads == [8, 128]


def test_another_pool_mode_waits_for_a_restart(machine: Machine) -> None:
    wanted = NFSD.model_copy(update={"pool_mode": "global", "max_block_size": 4 << 20})
    for report in (tuned(machine, wanted), tuned(machine, wanted, diff_only=True)):
        assert [one.changed for one in report.drift] == [False, False]
        assert len(report.warnings) == 2
        assert all("systemctl restart nfs-server.service" in warning for warning in report.warnings)
    assert machine.read("sys/module/sunrpc/parameters/pool_mode") == "pernode"
    assert machine.called("systemctl") == []


@pytest.mark.parametrize("threads", [0, None])
def test_one_that_does_not_run_is_left_to_its_unit(machine: Machine, threads: int | None) -> None:
    (machine.root / "proc/fs/nfsd/threads").unlink()
    if threads is not None:
        machine.write("proc/fs/nfsd/threads", str(threads))
    add_rdma_device(machine.root)
    assert nfsd_settings(NFSD, machine) == []


def test_a_kernel_without_dynamic_threads_is_a_warning(machine: Machine) -> None:
    machine.broken["/usr/lib/millrace/nfsd-threads -m"] = Result(
        1, "", "nfsdctl: This kernel does not support dynamic threading.\n"
    )
    machine.nfsd_threads = [0, 64]
    [warning] = tuned(machine).warnings
    assert warning == (
        "nfsdctl threads cannot be set to -m 8 64: nfsdctl: This kernel does not support dynamic threading"
    )


def test_a_tool_that_is_not_understood_is_a_warning(machine: Machine) -> None:
    machine.broken["nfsdctl threads"] = Result(1, "", "nfsdctl: command not found\n")
    report = tuned(machine)
    assert report.unreadable == 1 and "nfsdctl does not report the threads" in report.warnings[0]


def test_an_rdma_device_that_came_late_gets_its_listener(machine: Machine) -> None:
    add_rdma_device(machine.root)
    report = tuned(machine, diff_only=True)
    assert [(one.before, one.wanted) for one in report.drift] == [("tcp 2049", "rdma 20049")]


def test_a_listener_that_is_there_is_not_added_again(machine: Machine) -> None:
    add_rdma_device(machine.root)
    machine.write("proc/fs/nfsd/portlist", "rdma 20049\nrdma 20049\ntcp 2049")
    assert tuned(machine).drift == []


def test_no_listener_is_taken_away(machine: Machine) -> None:
    add_rdma_device(machine.root)
    machine.write("proc/fs/nfsd/portlist", "rdma 20049\ntcp 2049")
    before = machine.snapshot()
    run([lambda: (nfsd_settings(NFSD, machine), [])], restore=True)
    assert machine.snapshot() == before


def test_localio_follows_the_policy_where_the_client_is_loaded(machine: Machine) -> None:
    off = NFSD.model_copy(update={"localio": False})
    assert localio_settings(off) == []
    machine.write("sys/module/nfs/parameters/localio_enabled", "Y")
    assert run([lambda: (localio_settings(NFSD), [])], diff_only=False).drift == []
    (drift,) = run([lambda: (localio_settings(off), [])], diff_only=False).drift
    assert (drift.before, drift.wanted, drift.changed) == ("Y", "N", True)
    assert machine.read("sys/module/nfs/parameters/localio_enabled") == "N"


DEBUG = "sys/kernel/debug/nfsd"


def modes(machine: Machine, wanted: IoSettings, restore: bool = False) -> TuneReport:
    return run([lambda: (io_settings(wanted), [])], restore=restore)


def test_io_modes_are_the_kernels_without_a_policy_and_are_not_looked_at(machine: Machine) -> None:
    assert modes(machine, IoSettings()).settings == 0
    settings = planned_settings(plan()).model_copy(update={"io": IoSettings(write="direct")})
    _, second = stages(settings, pool(), machine)
    [found] = [one for one in second()[0] if isinstance(one, IoModeKnob)]
    assert (found.label, found.wanted) == (str(machine.root / DEBUG / "io_cache_write"), "direct")


def test_io_modes_of_the_policy_are_set_and_go_back_with_the_hand_over_of_pages(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_nfsd_io_modes(machine.root, monkeypatch)
    wanted = IoSettings(read="direct", write="dontcache")
    report = modes(machine, wanted)
    assert [(setting.before, setting.wanted, setting.changed) for setting in report.drift] == [
        ("buffered", "direct", True),
        ("buffered", "dontcache", True),
    ]
    assert [machine.read(f"{DEBUG}/io_cache_{direction}") for direction in ("read", "write")] == ["2", "1"]
    assert machine.read(f"{DEBUG}/disable-splice-read") == "1"
    assert modes(machine, wanted).drift == []
    modes(machine, wanted, restore=True)
    names = ("io_cache_read", "io_cache_write", "disable-splice-read")
    assert [machine.read(f"{DEBUG}/{name}") for name in names] == ["0", "0", "0"]


def test_reads_that_copy_are_not_the_kernels_own(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    add_nfsd_io_modes(machine.root, monkeypatch)
    machine.write(f"{DEBUG}/disable-splice-read", "1")
    knob = IoModeKnob("read", "buffered", "set by the policy")
    assert (knob.read(), knob.matches(knob.read())) == ("buffered, copied", False)
    knob.write("direct")
    knob.write("buffered, copied")
    assert knob.read() == "buffered, copied"
    knob.write("buffered")
    assert (knob.read(), machine.read(f"{DEBUG}/disable-splice-read")) == ("buffered", "0")


def test_io_modes_that_are_hidden_or_unknown_are_a_warning(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    [warning] = modes(machine, IoSettings(read="direct")).warnings
    assert "io_cache_read" in warning and "No such file" in warning
    add_nfsd_io_modes(machine.root, monkeypatch)
    machine.write(f"{DEBUG}/io_cache_write", "7")
    [warning] = modes(machine, IoSettings(write="direct")).warnings
    assert "unknown mode 7" in warning
