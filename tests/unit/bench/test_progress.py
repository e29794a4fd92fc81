# SPDX-License-Identifier: Apache-2.0
"""Progress of a run, for whoever follows it."""

import time

import pytest

from millrace import paths
from millrace.bench.plan.estimate import estimate
from millrace.bench.plan.sizes import sizes
from millrace.bench.plan.steps import planned_steps
from millrace.bench.result import live
from millrace.bench.result.model import State
from millrace.bench.result.outputs import Progress
from millrace.bench.run.progress import ProgressReporter
from tests.unit.bench.rungs import done
from tests.unit.bench.sites import request, site


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
    reporter.end(State.DONE, None)
    lines = list(live.follow(lambda: False))
    shares = [line.progress for line in lines]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert [line.finished.id for line in lines if line.finished] == [
        "L1/array/seq/read",
        "L1/xfs/seq/read",
        "L1/xfs/seq/write",
    ]
    assert lines[-1].state is State.DONE
    assert live.latest() == lines[-1]


def test_a_run_that_died_gets_a_last_word(reporter: ProgressReporter) -> None:
    reporter.begin(0, "L1/array/seq/read")
    lines = list(live.follow(lambda: False))
    assert [line.state for line in lines] == [State.RUNNING, State.INTERRUPTED]


def test_who_follows_late_sees_everything_and_waits_for_more(reporter: ProgressReporter) -> None:
    reporter.begin(0, "L1/array/seq/read")
    rounds = []

    def wait(seconds: float) -> None:
        rounds.append(seconds)
        if len(rounds) == 2:
            live.write(Progress(run="x", time=time.time(), state=State.STOPPED, what="enough"))

    # the last word is said before the unit has cleaned up, and before that no other run may start
    followed = live.follow(lambda: len(rounds) < 4, wait)
    assert [line.what for line in followed] == ["L1/array/seq/read", "enough"]
    assert len(rounds) == 4


def test_who_follows_does_not_wait_for_a_run_that_begins_meanwhile(reporter: ProgressReporter) -> None:
    reporter.end(State.DONE, None)

    def wait(_: float) -> None:
        live.begin()
        live.write(Progress(run="another", time=time.time(), state=State.RUNNING, what="starting"))

    assert [line.state for line in live.follow(lambda: True, wait)] == [State.DONE]
