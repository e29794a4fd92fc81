# SPDX-License-Identifier: Apache-2.0
"""A run of the tuner from its order to its end: beside nothing that measures or writes, and followed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.measure.bench.run import bench_job
from millrace.measure.tuner.model import TunerState
from millrace.measure.tuner.run import live, order, restore, session
from millrace.measure.tuner.run.outputs import TunerProgress, TunerRequest
from millrace.measure.tuner.run.plan import PreparedSearch, prepare
from millrace.measure.tuner.run.tuner_job import JOB, ORDER, TunerOrder, follow
from millrace.system.errors import Failed, Refused
from millrace.system.jobs import record
from millrace.system.jobs.job import KILLED
from millrace.system.run import Result
from tests.fakes.jobs import JobManager
from tests.unit.measure.bench.sites import site
from tests.unit.measure.tuner.machines import TunedServer

RUN = "20261124-160000"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TunedServer:
    made = TunedServer(tmp_path, monkeypatch)
    monkeypatch.setattr("millrace.measure.tuner.run.plan.sites.site", lambda clients: site(pool=made.pool))
    return made


@pytest.fixture
def systemd(machine: TunedServer) -> JobManager:
    made = JobManager("millrace-tuner.service")
    made.started = True
    return made


@pytest.fixture
def ready(machine: TunedServer) -> PreparedSearch:
    return prepare(TunerRequest(budget=7200), machine)


def line(what: str, state: TunerState = TunerState.RUNNING) -> TunerProgress:
    return TunerProgress(run=RUN, time=1, state=state, what=what, progress=0.5, seconds_left=60)


def test_started_run_has_an_order_and_a_first_line(machine: TunedServer, ready: PreparedSearch) -> None:
    started = order.start(ready, machine)
    assert ORDER.read().run == started.run and started.unit == "millrace-tuner.service"
    first = live.latest()
    assert first is not None and (first.what, first.state) == ("starting", TunerState.RUNNING)
    assert machine.called("systemctl start") == ["systemctl start --no-block millrace-tuner.service"]


def test_unit_that_does_not_start_leaves_neither_order_nor_progress(
    machine: TunedServer, ready: PreparedSearch
) -> None:
    machine.broken["systemctl start"] = Result(1, "", "Unit is masked.\n")
    with pytest.raises(Failed, match=r"millrace-tuner\.service does not start: Unit is masked"):
        order.start(ready, machine)
    assert (ORDER.get(), live.latest()) == (None, None)


def test_progress_of_a_run_outlives_a_second_start(machine: TunedServer, ready: PreparedSearch) -> None:
    order.start(ready, machine)
    live.write(line("reading 7"))
    machine.unit_runs(True)
    with pytest.raises(Refused, match="the tuner is already running"):
        order.start(ready, machine)
    assert live.latest() == line("reading 7")


@pytest.mark.parametrize(
    ("unit", "words"),
    [("bench", "a benchmark is running"), ("drive-test", "a drive is being tested"), ("update", "an update is being")],
)
def test_other_job_refuses_the_start(machine: TunedServer, ready: PreparedSearch, unit: str, words: str) -> None:
    machine.unit_runs(True, f"millrace-{unit}.service")
    with pytest.raises(Refused, match=words):
        order.start(ready, machine)
    assert ORDER.get() is None


def test_run_is_followed_until_its_settings_are_back(systemd: JobManager) -> None:
    live.write(line("reading 1"))
    systemd.states = ["active", "active", "deactivating", "inactive"]
    more = iter([line("reading 2"), line("no gain", TunerState.DONE), line("no gain", TunerState.DONE)])
    names = [one.what for one in follow(systemd, lambda _: live.write(next(more)))]
    assert names == ["reading 1", "reading 2", "no gain"] and list(more) == []


def test_killed_run_gets_a_last_line(systemd: JobManager) -> None:
    live.write(line("reading 1"))
    first, last = follow(systemd)
    assert first == line("reading 1")
    assert (last.state, last.what, last.seconds_left) == (TunerState.INTERRUPTED, KILLED, None)


@pytest.mark.parametrize(
    ("ended", "ending"),
    [
        (SimpleNamespace(state=TunerState.DONE, reason="no gain"), ("done", None)),
        (SimpleNamespace(state=TunerState.STOPPED, reason=session.BY_USER), ("cancelled", session.BY_USER)),
        (SimpleNamespace(state=TunerState.FAILED, reason="clients are connected"), ("failed", "clients are connected")),
    ],
)
def test_job_ends_as_its_run_does(
    machine: TunedServer,
    ready: PreparedSearch,
    monkeypatch: pytest.MonkeyPatch,
    ended: SimpleNamespace,
    ending: tuple[str, str | None],
) -> None:
    def run_all(_: Any) -> Any:
        # a clean-up of the benchmark would remove the files of the run
        with pytest.raises(Refused, match="a benchmark is already running"), bench_job.JOB.alone():
            raise AssertionError
        return ended

    monkeypatch.setattr(session.signal, "signal", lambda *_: None)
    monkeypatch.setattr(session.guard, "obstacles", lambda *_, **__: [])
    monkeypatch.setattr(session.TunerSession, "run_all", run_all)
    ORDER.write(TunerOrder(run=RUN, by="anna", request=TunerRequest(budget=7200)))
    assert session.execute(machine) == ended
    job = record.load("tuner")
    assert job is not None and (job.state, job.reason, ORDER.get()) == (*ending, None)


def test_end_of_the_unit_ends_its_job_and_a_restore_by_hand_leaves_the_next_order(
    machine: TunedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "restore", lambda _: [])
    record.begin("tuner", f"run {RUN}", "anna")
    ORDER.write(TunerOrder(run=RUN, by="anna", request=TunerRequest()))
    restore.sweep(machine)
    assert ORDER.get() is not None and record.load("tuner").state == "running"  # type: ignore[union-attr]
    monkeypatch.setenv("SERVICE_RESULT", "signal")
    restore.sweep(machine)
    assert ORDER.get() is None and record.load("tuner").state == "interrupted"  # type: ignore[union-attr]


def test_list_of_jobs_shows_how_far_a_run_is(machine: TunedServer) -> None:
    assert JOB.glance() is None
    live.write(line("reading 3"))
    assert JOB.glance() == ("reading 3", 0.5, 60, None)
    live.write(line("no gain", TunerState.DONE))
    assert JOB.glance() is None
