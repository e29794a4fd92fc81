# SPDX-License-Identifier: Apache-2.0
"""What the system refuses where a place is opened is the reason of its rungs; the other places are measured."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from millrace import __version__
from millrace.inventory.model import DriveState
from millrace.measure.bench.plan.job import Target
from millrace.measure.bench.plan.prepare import PreparedRun
from millrace.measure.bench.plan.sizes import sizes
from millrace.measure.bench.plan.steps import RungStep, planned_steps
from millrace.measure.bench.plan.workloads import digest
from millrace.measure.bench.report.export import METRICS
from millrace.measure.bench.result import figures, live
from millrace.measure.bench.result import store as results
from millrace.measure.bench.result.ceilings import with_ceilings
from millrace.measure.bench.result.choices import BenchLayer
from millrace.measure.bench.result.fio_output import Full
from millrace.measure.bench.result.model import BenchState, Rung
from millrace.measure.bench.run import session
from millrace.measure.bench.run.bench_job import JOB, ORDER, BenchOrder
from millrace.measure.bench.run.local import RepeatStopped
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from millrace.system.jobs import record
from tests.unit.measure.bench.rungs import done, repeat
from tests.unit.measure.bench.sites import request, site
from tests.unit.measure.bench.tools import Tools


def test_a_missing_device_is_the_reason_of_its_rungs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)

    @contextmanager
    def opened(step: RungStep, *_: Any) -> Iterator[Target]:
        if step.target == "array":
            raise FileNotFoundError(2, "No such file or directory", "/dev/md/millrace-data")
        yield Target(directory=tmp_path)

    def run(_: Any, rung: Rung, *rest: Any) -> Rung:
        return done(rung.id)

    monkeypatch.setattr(session.targets, "opened", opened)
    monkeypatch.setattr(session.space, "make", lambda *_: tmp_path)
    monkeypatch.setattr(session.StepRunner, "run", run)
    wanted = request(profiles=["seq"], layers=[BenchLayer.L1])
    here = site()
    ready = PreparedRun(wanted, here, sizes(wanted, 1 << 40, 1 << 36, 8), planned_steps(wanted, here))
    order = BenchOrder(run="20260101-000000", request=wanted, labels=[], by="admin")
    made = session.BenchSession(order, ready, Tools(), Event()).run_steps()
    reasons = {rung.id: (rung.state, rung.reason or "") for rung in made.rungs}
    state, reason = reasons["L1/array/seq/read"]
    assert state is BenchState.FAILED and "/dev/md/millrace-data" in reason
    assert reasons["L1/xfs/seq/read"] == (BenchState.DONE, "")
    assert made.state is BenchState.DONE


class Run:
    """A run whose places open and whose rungs end as `ends` says by their ids; the others are done."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, ends: dict[str, Exception], **wanted: Any) -> None:
        self.opened: list[str] = []
        self.removed: list[str] = []
        monkeypatch.setattr(paths, "ROOT", root)
        monkeypatch.setattr(session.targets, "opened", self._opened)
        monkeypatch.setattr(session.space, "make", lambda mountpoint, *_: root / mountpoint.lstrip("/"))
        monkeypatch.setattr(session.space, "remove", lambda mountpoint, _: self.removed.append(mountpoint))

        def run(_: Any, rung: Rung, step: RungStep, target: Target, measurer: Any, report: Any) -> Rung:
            assert rung.state is BenchState.RUNNING and step.id == rung.id
            if rung.id in ends:
                raise ends[rung.id]
            return figures.completed(rung, [repeat("write" if step.work.writes else "read")], [], 1)

        monkeypatch.setattr(session.StepRunner, "run", run)
        asked, here = request(**wanted), site()
        ready = PreparedRun(asked, here, sizes(asked, 1 << 40, 1 << 36, 8), planned_steps(asked, here))
        asked_for = BenchOrder(run="20260101-000000", request=asked, labels=["degraded"], by="anna")
        self.session = session.BenchSession(asked_for, ready, Tools(), Event())

    @contextmanager
    def _opened(self, step: RungStep, directory: Path, nodes: Path, run: Any) -> Iterator[Target]:
        assert nodes.name == "dev" and directory.name == "pool"
        self.opened.append(step.id)
        yield Target(directory=directory, write_devices=bool(step.devices) and step.work.writes)

    def run_steps(self) -> tuple[BenchState, str | None, dict[str, tuple[BenchState, str | None]]]:
        made = self.session.run_steps()
        assert results.load("latest") == made
        return made.state, made.reason, {rung.id: (rung.state, rung.reason) for rung in made.rungs}


def test_a_run_keeps_who_asked_for_what_and_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path, monkeypatch, {}, profiles=["seq"], layers=["L1", "L2"])
    state, reason, rungs = run.run_steps()
    assert (state, reason) == (BenchState.DONE, None)
    assert {state for state, _ in rungs.values()} == {BenchState.DONE}
    made = run.session.result
    assert (made.id, made.labels, made.provenance.started_by) == ("20260101-000000", ["degraded"], "anna")
    assert made.provenance.version == __version__
    # two workloads at five places
    assert made.provenance.workload_hash == digest(sorted({rung.workload.sha256 for rung in made.rungs}))
    assert made.request == request(profiles=["seq"], layers=["L1", "L2"])
    assert made.ended and made.started <= made.ended and made.started.endswith("+00:00")
    # devices for each rung, a protocol once for all of them
    assert run.opened == [
        "L1/array/seq/read",
        "L1/xfs/seq/read",
        "L2/nfs-tcp/seq/read",
        "L2/nfs-rdma/seq/read",
        "L2/smb/seq/read",
    ]
    # the reason of the last line, the pool is empty again, and other programs can read the figures
    last = live.latest()
    assert last is not None and (last.state, last.what, last.progress) == (BenchState.DONE, "all is measured", 1.0)
    assert set(run.removed) == {"/srv/pool"}
    assert "millrace_bench" in (results.home() / METRICS).read_text()
    # a degraded server is compared with what it can do then
    (array, *_) = made.rungs
    healthy = with_ceilings([done("L1/array/seq/read")], site().inventory, site().arrays, False)[0].ceiling.predicted
    assert array.ceiling.predicted and healthy and array.ceiling.predicted < healthy


def test_a_rung_that_fails_does_not_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = {"L1/xfs/seq/read": Failed("fio ended with status 3")}
    state, reason, rungs = Run(tmp_path, monkeypatch, ends, profiles=["seq"], layers=["L1"]).run_steps()
    assert (state, reason) == (BenchState.DONE, "1 of 3 workloads failed")
    assert rungs == {
        "L1/array/seq/read": (BenchState.DONE, None),
        "L1/xfs/seq/read": (BenchState.FAILED, "fio ended with status 3"),
        "L1/xfs/seq/write": (BenchState.DONE, None),
    }


def test_a_run_of_which_nothing_was_measured_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = dict.fromkeys(("L1/xfs/meta/create", "L1/xfs/meta/stat", "L1/xfs/meta/delete"), Failed("no"))
    state, reason, _ = Run(tmp_path, monkeypatch, dict(ends), profiles=["meta"], layers=["L1"]).run_steps()
    assert (state, reason) == (BenchState.FAILED, "no")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RepeatStopped("the measurement was stopped"), "stopped by the user"),
        (Full("the pool is full"), "the pool is full"),
    ],
)
def test_a_run_that_is_stopped_leaves_the_rest_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    run = Run(tmp_path, monkeypatch, {"L1/xfs/seq/read": error}, profiles=["seq"], layers=["L1", "L2"])
    state, said, rungs = run.run_steps()
    assert (state, said) == (BenchState.STOPPED, reason)
    assert rungs["L1/array/seq/read"] == (BenchState.DONE, None)
    assert rungs["L1/xfs/seq/read"] == (BenchState.STOPPED, None)
    assert rungs["L1/xfs/seq/write"] == rungs["L2/smb/seq/read"] == (BenchState.PENDING, None)
    last = live.latest()
    assert last is not None and (last.state, last.what) == (BenchState.STOPPED, reason)


def test_what_the_hardware_said_is_the_reason_of_a_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path, monkeypatch, {"L1/xfs/seq/read": RepeatStopped("x")}, profiles=["seq"], layers=["L1"])
    monitor = session.monitor_of(run.session.ready.site, run.session._stop)
    monitor.reason = "drive SN003 is gone"
    monkeypatch.setattr(session, "monitor_of", lambda *_: monitor)
    assert run.run_steps()[:2] == (BenchState.STOPPED, "drive SN003 is gone")


def test_a_pool_that_cannot_be_written_ends_the_run_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, monkeypatch, {}, profiles=["seq"], layers=["L1"])

    def make(*_: object) -> Path:
        raise Refused("/srv/pool cannot be written")

    monkeypatch.setattr(session.space, "make", make)
    state, reason, rungs = run.run_steps()
    assert (state, reason) == (BenchState.FAILED, "/srv/pool cannot be written")
    assert {state for state, _ in rungs.values()} == {BenchState.PENDING}


@pytest.mark.parametrize("state", list(DriveState))
def test_a_drive_is_looked_at_again_right_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: DriveState
) -> None:
    run = Run(tmp_path, monkeypatch, {}, profiles=["seq"], layers=["L0"], write_drives=["BLANK1"])
    drive = site().blank[0].model_copy(update={"state": state})
    seen = site().inventory.model_copy(update={"drives": [drive]})
    monkeypatch.setattr(session.Linux, "scan", lambda _: seen)
    ended, reason, rungs = run.run_steps()
    if state is DriveState.BLANK:
        assert (ended, rungs["L0/BLANK1/seq/write"]) == (BenchState.DONE, (BenchState.DONE, None))
    else:
        assert (ended, reason) == (BenchState.FAILED, "drive BLANK1 is no longer blank and is not written")
        assert rungs["L0/BLANK1/seq/read"][0] is BenchState.DONE
        assert rungs["L0/BLANK1/seq/write"][0] is BenchState.PENDING


@pytest.fixture
def booted(root: Path) -> Path:
    boot = root / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text("5f0e\n")
    return root


@pytest.mark.parametrize(
    ("ended", "ending"),
    [
        (SimpleNamespace(state=BenchState.DONE, reason="1 of 3 workloads failed"), ("done", None)),
        (SimpleNamespace(state=BenchState.STOPPED, reason="stopped by the user"), ("cancelled", "stopped by the user")),
        (SimpleNamespace(state=BenchState.STOPPED, reason="drive SN003 is gone"), ("failed", "drive SN003 is gone")),
        (SimpleNamespace(state=BenchState.FAILED, reason="no"), ("failed", "no")),
    ],
)
def test_an_order_is_done_once_and_a_signal_stops_it(
    booted: Path, monkeypatch: pytest.MonkeyPatch, ended: SimpleNamespace, ending: tuple[str, str | None]
) -> None:
    handlers: dict[int, Any] = {}
    monkeypatch.setattr(session.signal, "signal", handlers.__setitem__)
    asked, here = request(profiles=["seq"]), site()
    ready = PreparedRun(asked, here, sizes(asked, 1 << 40, 1 << 36, 8), planned_steps(asked, here))
    monkeypatch.setattr(session, "prepare", lambda wanted: ready if wanted == asked else None)
    made: list[Any] = []

    class Fake:
        def __init__(self, *given: Any) -> None:
            made.extend(given)

        def run_steps(self) -> Any:
            with pytest.raises(Refused, match="already running"), JOB.alone():
                raise AssertionError
            return ended

    monkeypatch.setattr(session, "BenchSession", Fake)
    wanted = BenchOrder(run="20260101-000000", request=asked, labels=[], by="anna")
    ORDER.write(wanted)
    tools = Tools()
    assert session.execute(tools) == ended
    job = record.load("benchmark")
    assert job is not None and (job.state, job.reason) == ending
    assert made[:3] == [wanted, ready, tools]
    assert ORDER.get() is None
    assert set(handlers) == {signal.SIGTERM, signal.SIGINT}
    assert not made[3].is_set()
    handlers[signal.SIGTERM](15, None)
    assert made[3].is_set()


def test_failed_start_is_reported_to_followers(booted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.signal, "signal", lambda *_: None)

    def prepare(_: object) -> PreparedRun:
        raise Refused("/srv/pool is not mounted")

    monkeypatch.setattr(session, "prepare", prepare)
    ORDER.write(BenchOrder(run="20260101-000000", request=request(), labels=[], by="anna"))
    live.begin()
    with pytest.raises(Refused, match="not mounted"):
        session.execute(Tools())
    last = live.latest()
    assert last is not None
    assert (last.run, last.state, last.what) == ("20260101-000000", BenchState.FAILED, "/srv/pool is not mounted")
    assert ORDER.get() is None


def test_the_drives_and_arrays_of_the_pool_are_watched(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "dev/md").mkdir(parents=True)
    for number, name in enumerate(held.array.name for held in site().pool.arrays):
        os.symlink(f"../md{number}", root / f"dev/md/millrace-{name}")
    made = Run(root, monkeypatch, {}, profiles=["seq"]).session
    monitor = session.monitor_of(made.ready.site, made._stop)
    names = [held.array.name for held in site().pool.arrays]
    assert monitor._watch.arrays == [(f"md{number}", name) for number, name in enumerate(names)]
    assert monitor._watch.drives == [(f"nvme{number}n1", f"SN{number:03}") for number in range(12)]
    assert monitor._sampler.drives == [f"nvme{number}n1" for number in range(10)]
    assert monitor._sampler.array == f"md{names.index('data')}"


def test_fio_works_in_a_directory_that_is_empty(root: Path) -> None:
    (root / "run/millrace/bench/cwd").mkdir(parents=True)
    (root / "run/millrace/bench/cwd/left").touch()
    where = session.working_directory()
    assert where == root / "run/millrace/bench"
    assert list((where / "cwd").iterdir()) == []
