# SPDX-License-Identifier: Apache-2.0
"""What a run has changed is put back: after a kill at any write, after a power cut, and where it cannot be, aloud."""

from contextlib import suppress
from pathlib import Path

import pytest

from millrace.measure.tuner.knobs.checks import check_settings
from millrace.measure.tuner.knobs.entry import Load
from millrace.measure.tuner.knobs.surface import every_setting
from millrace.measure.tuner.model import Combination
from millrace.measure.tuner.run import tuner_journal
from millrace.measure.tuner.run.rebuild import beside
from millrace.measure.tuner.run.restore import NotRestored, put_back
from millrace.measure.tuner.run.tuner_journal import TunerJournal
from millrace.observe.health.checks import tuner as health
from millrace.observe.health.host import Host
from millrace.plan.policy.model import MdPolicy, Policy
from millrace.system import paths, sysfs
from millrace.tune.collect import stages
from millrace.tune.run import run as tune
from millrace.tune.tuner_hold import endings, held
from tests.fakes.tools import stand_in
from tests.unit.measure.tuner.machines import OTHER_BOOT, TunedServer, wired
from tests.unit.tune.machine import refuse

RUN = "20261124-160000"
# 12 drives with two settings each, three of the array, two limits, the threads, two I/O modes of nfsd
WRITES = 12 * 2 + 3 + 2 + 1 + 2


class Killed(BaseException):
    """The program is killed: nothing after this runs."""


class Switch:
    """Kills the program after so many settings were written."""

    def __init__(self, patch: pytest.MonkeyPatch, after: int) -> None:
        self.left, self._write = after, sysfs.write
        patch.setattr(sysfs, "write", self._count)

    def _count(self, path: Path, value: str) -> None:
        if self.left == 0:
            raise Killed
        self.left -= 1
        self._write(path, value)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TunedServer:
    return TunedServer(tmp_path, monkeypatch)


def other(machine: TunedServer) -> Combination:
    """Another level of every knob."""
    return {one.name: next(level for level in one.levels if level != one.planned) for one in machine.surface().knobs}


@pytest.mark.parametrize("cut", range(WRITES))
def test_a_kill_at_any_write_leaves_the_plans_settings(machine: TunedServer, cut: int) -> None:
    before, files = machine.values(), machine.snapshot()
    with pytest.MonkeyPatch.context() as killing, pytest.raises(Killed):
        Switch(killing, cut)
        machine.surface().apply(other(machine), TunerJournal(RUN).before)
        # the threads are set last, by a command
        raise Killed
    put_back(machine)
    assert machine.values() == before
    assert machine.snapshot() == files
    assert not paths.tuner_journal_file().exists()


def test_a_journal_that_cannot_be_written_lets_nothing_be_changed(
    machine: TunedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = machine.values()

    def full(*_: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tuner_journal, "write_model", full)
    with pytest.raises(OSError, match="No space left"):
        machine.surface().apply(other(machine), TunerJournal(RUN).before)
    assert machine.values() == before


def test_first_value_is_restored_and_not_one_of_the_run(machine: TunedServer) -> None:
    here, record = machine.surface(), TunerJournal(RUN)
    before = machine.values()
    for level in (64, 128, 256):
        here.apply(here.planned | {"md.member_requests": level}, record.before)
    kept = tuner_journal.load()
    assert kept is not None
    assert {(one.old, one.new) for one in kept.changed} == {("1023", "256")}
    assert put_back(machine) and machine.values() == before


def test_interrupts_of_ports_are_as_their_drivers_had_them(machine: TunedServer) -> None:
    for bus, name in enumerate(("ens1", "ens2"), 0x81):
        machine.port(name, 0, bus)
        machine.coalescing[name] = {"adaptive-rx": True, "rx-usecs": 8}
    machine.surface(Load(clients=True)).apply({"ports.rx_usecs": 128}, TunerJournal(RUN).before)
    restored = put_back(machine)
    assert restored == [f"ethtool -C {name} rx-usecs: adaptive" for name in ("ens2", "ens1")]
    assert all(has["adaptive-rx"] for has in machine.coalescing.values())
    assert not paths.tuner_journal_file().exists()


@pytest.mark.parametrize("cut", [1, 20, 60, None])
def test_queues_and_rings_are_back_with_all_that_follows_them_after_a_kill(
    machine: TunedServer, cut: int | None
) -> None:
    """Interrupts are tried before the queues: the files that the journal has first are gone with the first queue."""
    wired(machine)
    put_back(machine)
    before, rings = machine.irqs("ens1"), dict(machine.rings["ens1"])
    here, record = machine.surface(Load(clients=True)), TunerJournal(RUN)
    with pytest.MonkeyPatch.context() as killing, suppress(Killed), held(here.endings(here.knobs)):
        if cut is not None:
            Switch(killing, cut)
        here.apply(here.planned | {"ports.interrupt_cores": 4}, record.before)
        here.apply(here.planned | {"ports.most_queues": 8, "ports.rx_ring": 256}, record.before)
        # a link that comes back: what the tuner tries stays
        tune(stages(machine.settings, machine.pool, machine))
        assert len(machine.irqs("ens1")) == 8 and machine.rings["ens1"]["rx"] == 256
    put_back(machine)
    assert (machine.irqs("ens1"), machine.rings["ens1"]) == (before, rings)
    drift = tune(stages(machine.settings, machine.pool, machine)).drift
    assert [
        setting.path
        for setting in drift
        if "ethtool" in setting.path or "/irq/" in setting.path or "/net/" in setting.path
    ] == []
    assert endings() == () and not paths.tuner_journal_file().exists()


def test_masks_are_restored_as_the_kernel_shows_them(machine: TunedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    wired(machine)
    put_back(machine)
    write = sysfs.write

    def shown(path: Path, value: str) -> None:
        # kernel 7.2: as many digits as there are CPUs
        write(path, f"{int(value.replace(',', ''), 16):x}\n" if path.name == "xps_cpus" else value)

    monkeypatch.setattr(sysfs, "write", shown)
    machine.surface(Load(clients=True)).apply({"ports.most_queues": 8}, TunerJournal(RUN).before)
    restored = put_back(machine)
    assert "ethtool -L ens1 combined: 32" in restored and len(machine.irqs("ens1")) == 32
    assert machine.read("sys/class/net/ens1/queues/tx-3/xps_cpus") == "8"
    assert put_back(machine) == [] and not paths.tuner_journal_file().exists()


def test_setting_that_was_set_by_hand_is_the_plans_afterwards(machine: TunedServer) -> None:
    machine.write("sys/class/block/md127/md/stripe_cache_size", "300")
    here = machine.surface()
    here.apply(here.planned | {"md.stripe_cache_size": 256}, TunerJournal(RUN).before)
    put_back(machine)
    assert machine.values()["stripes"] == str(machine.settings.md.stripe_cache_size)


def test_after_a_power_cut_nothing_is_left_but_the_record(machine: TunedServer) -> None:
    machine.surface().apply(other(machine), TunerJournal(RUN).before)
    machine.write("proc/sys/kernel/random/boot_id", OTHER_BOOT)
    now = machine.values()
    assert tuner_journal.in_force() is None and health.check(Host()) == []
    # millrace-tune.service has set the plan's; nothing is written over them
    assert put_back(machine) == [] and machine.values() == now
    assert not paths.tuner_journal_file().exists()


def test_check_of_a_run_that_was_killed_ends(machine: TunedServer) -> None:
    md = "sys/class/block/md127/md"
    with pytest.MonkeyPatch.context() as killing, pytest.raises(Killed):
        # three writes begin a check and the fourth is the end of it
        Switch(killing, 4)
        with beside(check_settings(machine.pool), TunerJournal(RUN).before):
            assert machine.read(f"{md}/sync_action") == "check" and machine.read(f"{md}/sync_max") == "2000"
    assert put_back(machine) == [f"{paths.ROOT}/{md}/sync_action: idle"]
    assert [machine.read(f"{md}/{name}") for name in ("sync_action", "sync_min", "sync_max")] == ["idle", "0", "max"]
    assert not paths.tuner_journal_file().exists()


@pytest.mark.parametrize("policy", [Policy(), Policy(md=MdPolicy(member_requests=64))])
def test_every_setting_of_a_run_is_set_by_tune_at_boot_or_begins_as_the_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: Policy
) -> None:
    machine = TunedServer(tmp_path, monkeypatch, policy)
    known, planned = every_setting(machine.settings, machine.pool, machine)
    kernels = {label for label in known if label not in planned}
    ends = (
        "/queue/nr_requests",
        "/queue/max_sectors_kb",
        "/nfsd/io_cache_read",
        "/nfsd/io_cache_write",
        "/md/sync_action",
    )
    assert all(label.endswith(ends) for label in kernels)
    # files of the running kernel and threads of nfsd: none is on a disk
    roots = tuple(str(paths.ROOT / top) for top in ("sys", "proc"))
    assert all(label.startswith(roots) or label == "nfsdctl threads" for label in known)


def test_without_a_journal_that_can_be_read_the_plan_is_set(machine: TunedServer) -> None:
    before = machine.values()
    here = machine.surface()
    here.apply(here.planned | {"md.stripe_cache_size": 256, "nfsd.threads": 64}, TunerJournal(RUN).before)
    paths.tuner_journal_file().write_text("{")
    put_back(machine)
    assert machine.values() == before
    assert not paths.tuner_journal_file().exists()


def test_what_cannot_be_restored_stays_in_the_journal_and_health_says_so(
    machine: TunedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.surface().apply(other(machine), TunerJournal(RUN).before)
    stripes = machine.root / "sys/class/block/md127/md/stripe_cache_size"
    left = stripes.read_text().strip()
    with monkeypatch.context() as patch:
        refuse(patch, stripes)
        with pytest.raises(NotRestored, match="stripe_cache_size cannot be restored to") as error:
            put_back(machine)
    assert len(error.value.restored) == WRITES - 1
    stand_in(monkeypatch, machine)
    [finding] = health.check(Host())
    assert finding.sentence == f"Tuner run {RUN} has ended and left settings: {stripes} is {left}."
    assert finding.todo == "millrace tuner stop"
    # while a run is active they are meant to be
    machine.unit_runs(True)
    assert health.check(Host()) == []
    assert len(put_back(machine)) == 1 and health.check(Host()) == []


def test_drive_that_was_removed_took_its_settings_with_it(machine: TunedServer) -> None:
    machine.surface().apply(other(machine), TunerJournal(RUN).before)
    (machine.root / "sys/class/block/md127/slaves/nvme5n1p1").unlink()
    put_back(machine)
    assert not paths.tuner_journal_file().exists()
    assert machine.read("sys/class/block/nvme6n1/queue/nr_requests") == "1023"
