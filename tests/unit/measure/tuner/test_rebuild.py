# SPDX-License-Identifier: Apache-2.0
"""The goal `rebuild`: the arrays are checked while the others are measured, again and again, and left as they were."""

import errno
from pathlib import Path

import pytest

from millrace.measure.tuner.knobs.checks import check_settings
from millrace.measure.tuner.run import plan as planning
from millrace.measure.tuner.run import rebuild
from millrace.measure.tuner.run.outputs import TunerRequest
from millrace.measure.tuner.run.rebuild import beside
from millrace.measure.tuner.run.tuner_journal import TunerJournal, load
from millrace.storage.array import resync
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from tests.unit.measure.bench.sites import site
from tests.unit.measure.tuner.machines import TunedServer
from tests.unit.tune.machine import refuse

MD = "sys/class/block/md127/md"
MDSTAT = """\
Personalities : [raid1] [raid4] [raid5] [raid6]
md126 : active raid1 nvme1n1p1[1] nvme0n1p1[0]
      2094080 blocks super 1.2 [2/2] [UU]

md127 : active raid6 nvme11n1p1[9] nvme2n1p1[0]
      8000 blocks super 1.2 level 6, 64k chunk, algorithm 2 [10/10] [UUUUUUUUUU]
      [==>..................]  check = {percent}% ({read}/1000) finish=0.3min speed=2048K/sec
      bitmap: 0/1 pages [0KB], 65536KB chunk

unused devices: <none>
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TunedServer:
    machine = TunedServer(tmp_path, monkeypatch)
    monkeypatch.setattr(rebuild, "POLL", 3600.0)
    return machine


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(rebuild.time, "monotonic", lambda: now[0])
    return now


def reads(machine: TunedServer, kib: int) -> None:
    machine.write("proc/mdstat", MDSTAT.format(percent=kib / 10, read=kib))


def test_figure_is_what_was_read_of_each_drive_in_a_second(machine: TunedServer, clock: list[float]) -> None:
    with beside(check_settings(machine.pool), TunerJournal("one").before) as rate:
        assert machine.read(f"{MD}/sync_action") == "check"
        journal = load()
        assert journal is not None
        # the log has no part in it
        assert [(change.setting, change.old, change.new) for change in journal.changed] == [
            (str(paths.ROOT / MD / "sync_action"), "idle", "check")
        ]
        reads(machine, 250)
        clock[0] += 10
        assert rate() == 250 * 1024 / 10
    assert [machine.read(f"{MD}/{name}") for name in ("sync_action", "sync_min", "sync_max")] == ["idle", "0", "max"]


def test_array_that_was_read_to_its_end_is_read_again(
    machine: TunedServer, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "POLL", 0.001)
    with beside(check_settings(machine.pool), TunerJournal("one").before) as rate:
        # at once, as md says it
        machine.write(f"{MD}/ended", "idle")
        (machine.root / MD / "ended").replace((machine.root / MD / "sync_action").resolve())
        while machine.read(f"{MD}/sync_action") != "check":
            pass
        reads(machine, 100)
        clock[0] += 10
        assert rate() == 1100 * 1024 / 10


def test_check_that_has_read_nothing_is_no_figure(machine: TunedServer, clock: list[float]) -> None:
    beginning = beside(check_settings(machine.pool), TunerJournal("one").before)
    with pytest.raises(Failed, match="the check of the arrays has read nothing"), beginning as rate:
        clock[0] += 10
        rate()
    assert machine.read(f"{MD}/sync_action") == "idle"


def test_array_that_cannot_be_checked_is_one_sentence(machine: TunedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(monkeypatch, machine.root / MD / "sync_action", error=errno.EINVAL)
    beginning = beside(check_settings(machine.pool), TunerJournal("one").before)
    with pytest.raises(Failed, match=r"md127/md/sync_action cannot be set to check: refused"), beginning:
        raise AssertionError


def test_checks_are_counted_only_where_md_says_that_it_checks(machine: TunedServer) -> None:
    assert resync.read_kib("md127") is None
    reads(machine, 370)
    assert (resync.read_kib("md127"), resync.read_kib("md126"), resync.read_kib("md12")) == (370, None, None)


def test_run_with_the_goal_tries_the_floor_and_one_without_an_array_is_refused(
    machine: TunedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning.sites, "site", lambda clients: site(pool=machine.pool))
    ready = planning.prepare(TunerRequest(goals="local-rand-read=3,rebuild=1"), machine)
    assert [goal.name for goal in ready.goals] == ["local-rand-read", "rebuild"]
    assert [goal.name for goal in ready.measured] == ["local-rand-read"] and len(ready.steps) == 1
    assert [check.device for check in ready.checks] == ["md127"]
    assert "md.rebuild_min_kib" in [knob.name for knob in ready.knobs]
    assert ready.each == planning.prepare(TunerRequest(goals="local-rand-read"), machine).each
    bare = machine.pool.model_copy(update={"arrays": []})
    monkeypatch.setattr(planning.sites, "site", lambda clients: site(pool=bare))
    with pytest.raises(Refused, match="this pool has none: leave it out"):
        planning.prepare(TunerRequest(goals="local-rand-read,rebuild"), machine)
