# SPDX-License-Identifier: Apache-2.0
"""The whitelist on a server: levels around the plan, set as `tune` sets them; the rest has its reason."""

import errno
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from millrace.measure.tuner.knobs import links
from millrace.measure.tuner.knobs.entry import Load
from millrace.measure.tuner.knobs.surface import KnobChange
from millrace.measure.tuner.knobs.whitelist import LEFT_OUT, WHITELIST
from millrace.plan.defaults import SmbdSettings
from millrace.plan.measured import SECTIONS, Overrides
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from millrace.tune.originals import SavedOriginals
from tests.unit.measure.tuner.machines import TunedServer, wired
from tests.unit.tune.machine import MLX5, refuse


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TunedServer:
    return TunedServer(tmp_path, monkeypatch)


def test_every_knob_is_a_key_of_the_policy_and_no_knob_costs_durability() -> None:
    for entry in WHITELIST:
        section, _, key = entry.key.partition(".")
        assert section in SECTIONS and key in type(getattr(Overrides(), section)).model_fields
    assert not [one for one in WHITELIST if re.search("sync|flush|async|delay|log|chunk", one.key)]


def test_knobs_of_a_1u12_have_the_plan_and_the_kernels_default_among_their_levels(machine: TunedServer) -> None:
    wired(machine)
    here = machine.surface(Load(smb=True, clients=True, rebuild=True))
    assert [knob.name for knob in here.knobs] == [knob.key for knob in WHITELIST]
    for knob in here.knobs:
        assert knob.planned in knob.levels and knob.default in knob.levels and len(knob.levels) >= 2
        assert not knob.ordered or knob.levels == sorted(knob.levels, key=int)
    words = ["nfsd.io_cache_read", "nfsd.io_cache_write", "ports.rx_usecs"]
    assert [knob.name for knob in here.knobs if not knob.ordered] == words
    known = {knob.name: knob for knob in here.knobs}
    assert known["md.stripe_cache_size"].default == 256
    assert known["md.stripe_cache_size"].planned == machine.settings.md.stripe_cache_size
    assert known["md.stripe_cache_size"].setting == "/sys/class/block/*/md/stripe_cache_size"
    assert known["md.group_thread_cnt"].default == 0
    assert known["md.member_requests"].planned == known["md.member_requests"].default == 1023
    assert known["sysctl.dirty_bytes"].planned == int(machine.settings.sysctl["vm.dirty_bytes"])
    # what a run never tries is named with its reason
    assert {omitted.name for omitted in here.left_out} == set(LEFT_OUT)
    assert all(knob.setting for knob in here.knobs)


def test_floor_of_a_rebuild_is_tried_beside_one(machine: TunedServer) -> None:
    floor = machine.root / "sys/class/block/md127/md/sync_speed_min"
    reasons = {omitted.name: omitted.reason for omitted in machine.surface().left_out}
    assert reasons["md.rebuild_min_kib"] == "only beside a rebuild does it do anything: add the goal rebuild"
    here = machine.surface(Load(rebuild=True))
    [knob] = [knob for knob in here.knobs if knob.name == "md.rebuild_min_kib"]
    assert knob.levels == [1000, 10_000, 100_000, 500_000, 1_000_000]
    assert machine.settings.md.sync_speed_max == 4_000_000
    assert (knob.planned, knob.default, knob.cost) == (100_000, 1000, "none")
    here.apply(here.planned | {"md.rebuild_min_kib": 10_000}, lambda _: None)
    assert floor.read_text() == "10000\n"
    here.apply(here.planned, lambda _: None)
    assert floor.read_text() == "100000\n"


def test_smbd_is_tried_where_a_goal_is_over_smb_and_nothing_of_the_server_is_set_for_it(machine: TunedServer) -> None:
    reasons = {omitted.name: omitted.reason for omitted in machine.surface().left_out}
    assert reasons["smbd.max_credits"] == "no goal is measured over SMB, such as smb-seq-read"
    here = machine.surface(Load(smb=True))
    known = {knob.name: knob for knob in here.knobs}
    credits, smallest = known["smbd.max_credits"], known["smbd.aio_min_bytes"]
    assert (credits.default, credits.planned, credits.cost) == (8192, 8192, "none")
    assert (smallest.default, smallest.planned, smallest.setting) == (1, 1, "smb.conf: aio read size, aio write size")
    wanted = here.planned | {"smbd.max_credits": 512, "smbd.aio_min_bytes": 65536}
    assert here.changes(wanted) == []
    assert here.wanted(wanted).smbd == SmbdSettings(max_credits=512, aio_min_bytes=65536)
    assert here.wanted(here.planned).smbd == machine.settings.smbd == SmbdSettings()


def test_ports_are_tried_all_together_where_clients_drive_the_load(machine: TunedServer) -> None:
    wired(machine)
    reasons = {omitted.name: omitted.reason for omitted in machine.surface().left_out}
    assert reasons["ports.rx_usecs"] == "only clients over the network make ports raise interrupts: give --client"
    here = machine.surface(Load(clients=True))
    [usecs] = [knob for knob in here.knobs if knob.name == "ports.rx_usecs"]
    assert (usecs.planned, usecs.default, usecs.ordered, usecs.cost) == ("adaptive", "adaptive", False, "none")
    assert usecs.levels == ["adaptive", 8, 32, 128, 0] and usecs.setting == "ethtool -C PORT rx-usecs"
    seen: list[tuple[str, str, str]] = []
    wanted = here.planned | {"ports.rx_usecs": 32}
    here.apply(
        wanted, lambda changes: seen.extend((change.setting.label, change.old, change.new) for change in changes)
    )
    assert seen == [(f"ethtool -C {port} rx-usecs", "adaptive", "32") for port in ("ens1", "ens2")]
    assert all(has == {"adaptive-rx": False, "rx-usecs": 32} for has in machine.coalescing.values())
    assert here.differing(wanted) == []
    here.apply(here.planned, lambda _: None)
    assert all(has["adaptive-rx"] for has in machine.coalescing.values())


def test_interrupts_are_tried_on_fewer_cores_of_the_node(machine: TunedServer) -> None:
    wired(machine)
    reasons = {omitted.name: omitted.reason for omitted in machine.surface().left_out}
    assert (
        reasons["ports.interrupt_cores"] == "only clients over the network make ports raise interrupts: give --client"
    )
    here = machine.surface(Load(clients=True))
    [knob] = [knob for knob in here.knobs if knob.name == "ports.interrupt_cores"]
    assert (knob.levels, knob.planned, knob.default) == ([4, 8, 16, 32], 32, 32)
    assert knob.setting == "/proc/irq/*/smp_affinity_list"
    before = machine.irqs("ens1")
    assert before == {MLX5.format(queue): str(queue) for queue in range(32)}
    here.apply(here.planned | {"ports.interrupt_cores": 8}, lambda _: None)
    assert machine.irqs("ens1") == {MLX5.format(queue): str(queue % 8) for queue in range(32)}
    here.apply(here.planned, lambda _: None)
    assert machine.irqs("ens1") == before


def test_fewer_queues_are_tried_with_the_cores_that_follow_them(machine: TunedServer) -> None:
    wired(machine)
    here = machine.surface(Load(clients=True))
    [knob] = [knob for knob in here.knobs if knob.name == "ports.most_queues"]
    assert (knob.levels, knob.planned, knob.default, knob.cost) == ([4, 8, 16, 32], 32, 32, "link")
    assert knob.setting == "ethtool -L PORT combined"
    before, stages = machine.irqs("ens1"), []
    here.apply(here.planned | {"ports.most_queues": 8}, lambda changes: stages.append(labels(changes)))
    assert machine.irqs("ens1") == {MLX5.format(queue): str(queue) for queue in range(8)}
    # the second stage has the files of the new interrupts
    assert stages[0] == ["ethtool -L ens1 combined"] and len(stages) == 2
    assert all(str(paths.ROOT / "proc/irq") in label or label.endswith("/xps_cpus") for label in stages[1])
    assert here.differing(here.planned | {"ports.most_queues": 8}) == []
    here.apply(here.planned, lambda _: None)
    assert machine.irqs("ens1") == before


def test_rings_are_tried_up_to_what_the_driver_has(machine: TunedServer) -> None:
    wired(machine)
    here = machine.surface(Load(clients=True))
    known = {knob.name: knob for knob in here.knobs}
    receive, send = known["ports.rx_ring"], known["ports.tx_ring"]
    assert (receive.levels, receive.planned, receive.default) == ([256, 1024, 4096, 8192], 1024, 1024)
    assert (send.levels, send.planned, send.setting) == ([256, 512, 1024, 4096], 512, "ethtool -G PORT tx")
    here.apply({"ports.rx_ring": 256}, lambda _: None)
    assert machine.rings["ens1"] == {"rx": 256, "rx-max": 8192, "tx": 512, "tx-max": 4096}
    # the driver has started again: its interrupts are where they are to be
    assert machine.irqs("ens1") == {MLX5.format(queue): str(queue) for queue in range(32)}
    here.apply(here.planned, lambda _: None)
    machine.queues("ens2", 32, 32)
    machine.rings["ens2"] = {"rx": 2048, "rx-max": 2048, "tx": 512, "tx-max": 512}
    here = machine.surface(Load(clients=True))
    reasons = {omitted.name: omitted.reason for omitted in here.left_out}
    assert reasons["ports.rx_ring"] == "the network ports differ in it: set ports.rx_ring in the policy first"
    [send] = [knob for knob in here.knobs if knob.name == "ports.tx_ring"]
    assert send.levels == [256, 512]


def test_measuring_begins_when_the_port_has_its_address_again(machine: TunedServer) -> None:
    wired(machine)
    here = machine.surface(Load(clients=True))
    machine.away = 3
    here.apply({"ports.rx_ring": 256}, lambda _: None)
    looks = machine.calls[machine.calls.index(["ethtool", "-G", "ens1", "rx", "256"]) :]
    assert looks.count(["ip", "-j", "addr"]) == 4


def test_port_whose_link_does_not_come_back_is_left_out(machine: TunedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    wired(machine)
    here = machine.surface(Load(clients=True))
    monkeypatch.setattr(links, "PAUSES", (0.0,) * 3)
    rings, machine.away = dict(machine.rings["ens1"]), 10
    [ring] = [one for one in here.knobs if one.name == "ports.rx_ring"]
    [refused] = here.refused([ring], lambda _: None)
    assert refused.reason == "port ens1 has no link or no address a minute later"
    assert machine.rings["ens1"] == rings


def labels(changes: Sequence[KnobChange]) -> list[str]:
    return [one.setting.label for one in changes]


def test_interrupts_that_the_kernel_manages_are_left_out_with_its_words(
    machine: TunedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    wired(machine)
    managed = sorted(machine.root.glob("proc/irq/*/smp_affinity_list"))[-1]
    refuse(monkeypatch, managed, error=errno.EIO)
    here = machine.surface(Load(clients=True))
    [cores_of_it] = [knob for knob in here.knobs if knob.name == "ports.interrupt_cores"]
    [refused] = here.refused([cores_of_it], lambda _: None)
    assert refused.name == "ports.interrupt_cores"
    assert refused.reason.startswith(f"{managed} cannot be set to ")


def test_port_without_adaptive_interrupts_has_numbers_in_their_order(machine: TunedServer) -> None:
    wired(machine)
    machine.coalescing = {"ens1": {"rx-usecs": 200}, "ens2": {"rx-usecs": 200}}
    [usecs] = [one for one in machine.surface(Load(clients=True)).knobs if one.name == "ports.rx_usecs"]
    assert (usecs.levels, usecs.planned, usecs.ordered) == ([0, 8, 32, 128, 200], 200, True)


def test_ports_that_differ_or_report_nothing_are_left_out(machine: TunedServer) -> None:
    wired(machine, second=False)
    reasons = {one.name: one.reason for one in machine.surface(Load(clients=True)).left_out}
    assert reasons["ports.rx_usecs"] == "the network ports differ in it: set ports.rx_usecs in the policy first"
    machine.coalescing = {}
    reasons = {one.name: one.reason for one in machine.surface(Load(clients=True)).left_out}
    assert reasons["ports.rx_usecs"] == "no driver of a network port reports it"


def test_knob_that_a_driver_refuses_is_named_with_its_words_and_all_is_as_before(machine: TunedServer) -> None:
    wired(machine)
    here, before = machine.surface(Load(clients=True)), dict(machine.coalescing)
    assert here.refused(here.knobs, lambda _: None) == []
    machine.refusing = {"ens2"}
    [refused] = here.refused(here.knobs, lambda _: None)
    words = "ethtool -C ens2 rx-usecs cannot be set to 8: netlink error: Operation not supported"
    assert (refused.name, refused.reason) == ("ports.rx_usecs", words)
    assert machine.coalescing == before


def test_kernels_read_ahead_is_what_tune_found_at_its_first_run(machine: TunedServer) -> None:
    label = str(paths.ROOT / "sys/class/block/md127/queue/read_ahead_kb")
    SavedOriginals().save({label: "4096"})
    known = {one.name: one for one in machine.surface().knobs}
    assert known["md.read_ahead_kib"].default == 4096


def test_io_modes_of_nfsd_are_tried_where_the_kernel_shows_them(machine: TunedServer) -> None:
    here = machine.surface()
    [read] = [one for one in here.knobs if one.name == "nfsd.io_cache_read"]
    assert (read.levels, read.planned, read.default) == (["buffered", "dontcache", "direct"], "buffered", "buffered")
    here.apply(here.planned | {"nfsd.io_cache_read": "direct"}, lambda _: None)
    files = ("io_cache_read", "disable-splice-read")
    assert [machine.read(f"sys/kernel/debug/nfsd/{name}") for name in files] == ["2", "1"]
    here.apply(here.planned, lambda _: None)
    assert [machine.read(f"sys/kernel/debug/nfsd/{name}") for name in files] == ["0", "0"]


def test_io_modes_of_a_kernel_that_is_locked_down_are_left_out_with_its_words(
    machine: TunedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Path.read_text

    def read_text(self: Path, *more: object, **options: object) -> str:
        if self.name.startswith("io_cache_"):
            raise PermissionError(errno.EPERM, "Operation not permitted", str(self))
        return read(self)

    monkeypatch.setattr(Path, "read_text", read_text)
    reasons = {omitted.name: omitted.reason for omitted in machine.surface().left_out}
    file = paths.ROOT / "sys/kernel/debug/nfsd/io_cache_write"
    assert reasons["nfsd.io_cache_write"] == f"{file} cannot be read: Operation not permitted"


def test_pool_without_parity_and_a_server_without_nfs_leave_their_knobs_out(machine: TunedServer) -> None:
    (machine.root / "proc/fs/nfsd/threads").unlink()
    plain = machine.basis.model_copy(update={"arrays": machine.basis.arrays.model_copy(update={"parity": False})})
    machine.settings = machine.settings.model_copy(update={"basis": plain})
    here = machine.surface()
    reasons = {one.name: one.reason for one in here.left_out}
    assert reasons["md.stripe_cache_size"] == "the pool has no parity array"
    assert reasons["nfsd.threads"] == "the NFS server does not run"
    assert "md.read_ahead_kib" in {one.name for one in here.knobs}


def test_settings_that_were_not_computed_are_no_plan_to_tune(machine: TunedServer) -> None:
    machine.settings = machine.settings.model_copy(update={"basis": None})
    with pytest.raises(Refused, match="were not computed"):
        machine.surface()


def test_combination_is_journalled_first_and_set_as_tune_would(machine: TunedServer) -> None:
    here = machine.surface()
    before = machine.values()
    seen: list[tuple[str, str, str]] = []

    def written(changes: Sequence[KnobChange]) -> None:
        assert machine.values() == before
        seen.extend((one.knob, one.old, one.new) for one in changes)

    wanted = here.planned | {
        "md.stripe_cache_size": 256,
        "nfsd.threads": 64,
        "sysctl.dirty_bytes": 1 << 28,
        "md.member_requests": 128,
    }
    here.apply(wanted, written)
    now = machine.values()
    assert (now["stripes"], now["requests"]) == ("256", "128")
    assert (now["dirty"], now["background"]) == (str(1 << 28), str(1 << 26))
    assert machine.nfsd_threads == [machine.settings.nfsd.threads_min, 64]
    assert ("md.stripe_cache_size", before["stripes"], "256") in seen
    # each drive of each array, and nothing twice
    assert sum(knob == "md.member_requests" for knob, _, _ in seen) == 12
    seen.clear()
    here.apply(wanted, written)
    assert seen == [] and here.differing(wanted) == []
    assert here.differing(here.planned)


def test_knob_that_the_kernel_refuses_is_a_failure_that_names_it(
    machine: TunedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine.surface()
    refuse(monkeypatch, machine.root / "sys/class/block/md127/md/stripe_cache_size")
    with pytest.raises(Failed, match="stripe_cache_size cannot be set to 256: refused"):
        here.apply(here.planned | {"md.stripe_cache_size": 256}, lambda _: None)
