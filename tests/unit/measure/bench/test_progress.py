# SPDX-License-Identifier: Apache-2.0
"""Progress of a run, for whoever follows it."""

import time

import pytest

from millrace.measure.bench.plan.estimate import estimate
from millrace.measure.bench.plan.sizes import sizes
from millrace.measure.bench.plan.steps import planned_steps
from millrace.measure.bench.result import live
from millrace.measure.bench.result.fio_output import Flow, RepeatOutcome
from millrace.measure.bench.result.model import BenchState, Direction
from millrace.measure.bench.result.outputs import BenchProgress
from millrace.measure.bench.run.progress import ProgressReporter
from millrace.system import paths
from millrace.system.jobs import job_paths
from tests.unit.measure.bench.rungs import done
from tests.unit.measure.bench.sites import request, site


@pytest.fixture
def reporter(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> ProgressReporter:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    live.begin()
    wanted = request(profiles=["seq"], layers=["L1"])
    return ProgressReporter(
        "20260101-000000", estimate(wanted, planned_steps(wanted, site()), sizes(wanted, 1 << 40, 1 << 36, 8))
    )


def test_progress_grows_until_the_last_word(reporter: ProgressReporter) -> None:
    for number, name in enumerate(("L1/array/seq/read", "L1/xfs/seq/read", "L1/xfs/seq/write")):
        reporter.begin(number, name)
        for repeat in range(4):
            reporter.repeat(repeat, None)
        reporter.finished(done(name))
    reporter.end(BenchState.DONE, None)
    lines = reported()
    shares = [line.progress for line in lines]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert [line.finished.id for line in lines if line.finished] == [
        "L1/array/seq/read",
        "L1/xfs/seq/read",
        "L1/xfs/seq/write",
    ]
    assert lines[-1].state is BenchState.DONE
    assert live.latest() == lines[-1]


def reported() -> list[BenchProgress]:
    """What was written so far."""
    return [
        BenchProgress.model_validate_json(line) for line in job_paths.bench_progress_file().read_text().splitlines()
    ]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as a list of one."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def timed(clock: list[float], reporter: ProgressReporter) -> ProgressReporter:
    """The reporter, begun at 1000.0 by the clock."""
    return ProgressReporter("20260101-000000", reporter._estimate)


def test_a_line_says_how_far_a_run_is(timed: ProgressReporter, clock: list[float]) -> None:
    before = time.time()
    timed.begin(1, "L1/xfs/seq/read")
    timed.repeat(1, None)
    line = reported()[-1]
    assert before <= line.time <= time.time()
    # three rungs of equal length: one is done, and of the second the warm-up and one of three repeats begun
    progress = (1 + 1 / 4) / 3
    estimated = sum(rung.seconds for rung in timed._estimate.rungs)  # type: ignore[union-attr]
    assert estimated > 0
    assert line.model_copy(update={"time": 0}) == BenchProgress(
        run="20260101-000000",
        time=0,
        state=BenchState.RUNNING,
        what="L1/xfs/seq/read",
        rung="L1/xfs/seq/read",
        step=2,
        steps=3,
        repeat=1,
        repeats=3,
        progress=round(progress, 4),
        seconds_left=0,
    )
    # time left goes by how long it took so far
    clock[0] += 100
    timed.repeat(2, None)
    progress = (1 + 2 / 4) / 3
    assert (reported()[-1].progress, reported()[-1].seconds_left) == (0.5, 100.0)
    clock[0] += 11
    timed.begin(2, "L1/xfs/seq/write")
    assert (reported()[-1].repeat, reported()[-1].progress) == (0, 0.6667)
    assert reported()[-1].seconds_left == 55.5


def test_before_anything_is_measured_the_estimate_counts(timed: ProgressReporter, clock: list[float]) -> None:
    clock[0] += 5
    timed.begin(0, "L1/array/seq/read")
    assert reported()[-1].seconds_left == round(timed._estimate.seconds, 1)  # type: ignore[union-attr]
    timed.begin(0, "starting")
    assert reported()[-1].rung is None


def test_rates_are_between_two_looks_of_one_repeat(timed: ProgressReporter, clock: list[float]) -> None:
    def look(read: int, written: int, count: int) -> tuple[float | None, float | None]:
        flows: dict[Direction, Flow] = {
            "read": Flow(bytes=read, count=count),
            "write": Flow(bytes=written, count=count),
        }
        timed.repeat(1, RepeatOutcome(flows=flows))
        return reported()[-1].bandwidth, reported()[-1].operations

    timed.begin(0, "L1/array/seq/read")
    assert look(100, 50, 5) == (None, None)
    clock[0] += 2
    assert look(500, 150, 15) == (250.0, 10.0)
    # two looks at the same time have no rate
    assert look(900, 150, 15) == (None, None)
    clock[0] += 1
    timed.repeat(2, None)
    assert (reported()[-1].bandwidth, reported()[-1].repeat) == (None, 2)
    assert look(10, 0, 1) == (None, None)


@pytest.mark.parametrize(
    ("state", "reason", "what", "progress"),
    [
        (BenchState.DONE, None, "all is measured", 1.0),
        (BenchState.DONE, "1 of 3 workloads failed", "1 of 3 workloads failed", 1.0),
        (BenchState.STOPPED, None, "stopped", 1 / 3),
        (BenchState.STOPPED, "stopped by the user", "stopped by the user", 1 / 3),
    ],
)
def test_the_last_line_says_how_it_ended(
    timed: ProgressReporter, state: BenchState, reason: str | None, what: str, progress: float
) -> None:
    timed.begin(1, "L1/xfs/seq/read")
    timed.end(state, reason)
    last = reported()[-1]
    assert (last.run, last.state, last.what, last.steps, last.step) == ("20260101-000000", state, what, 3, 2)
    assert last.progress == pytest.approx(progress)
    assert abs(last.time - time.time()) < 60


def test_a_run_that_could_not_begin_has_no_steps(reporter: ProgressReporter) -> None:
    ProgressReporter.without_estimate("x").end(BenchState.FAILED, "no pool")
    last = reported()[-1]
    assert (last.run, last.what, last.progress, last.step, last.steps) == ("x", "no pool", 0.0, 0, 0)


def test_a_rung_that_has_its_result_is_told_with_all_repeats(timed: ProgressReporter) -> None:
    timed.begin(0, "L1/array/seq/read")
    timed.finished(done("L1/array/seq/read"))
    assert (reported()[-1].repeat, reported()[-1].progress) == (3, 0.25)
