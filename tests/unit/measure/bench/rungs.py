# SPDX-License-Identifier: Apache-2.0
"""Rungs and repeats as they are after a measurement."""

from typing import Any

from millrace.measure.bench.plan.sizes import sizes
from millrace.measure.bench.plan.steps import pending, planned_steps
from millrace.measure.bench.result import figures
from millrace.measure.bench.result.choices import BenchLayer
from millrace.measure.bench.result.fio_output import Flow, Histogram, RepeatOutcome
from millrace.measure.bench.result.model import BenchState, Direction, Moment, Rung
from tests.unit.measure.bench.remotes import client
from tests.unit.measure.bench.sites import request, site


def flow(bandwidth: float = 1e9, operations: float = 1e3, slowest: float = 1.0, nanoseconds: int = 100_000) -> Flow:
    histogram = Histogram()
    histogram.add(
        {"N": 10, "min": nanoseconds, "max": nanoseconds, "mean": nanoseconds, "bins": {str(nanoseconds): 10}}
    )
    return Flow(
        bytes=round(bandwidth),
        count=round(operations),
        bandwidth=bandwidth,
        operations=operations,
        slowest=slowest,
        histogram=histogram,
    )


def repeat(direction: Direction = "read", **more: Any) -> RepeatOutcome:
    return RepeatOutcome(flows={direction: flow(**more)})


def waiting(name: str, **wanted: Any) -> Rung:
    """A rung of the 1U12 before its step runs, by its id."""
    measure = sizes(request(**wanted), 1 << 40, 128 << 30, 32)
    clients = [client("gpu1")]
    wanted = {"layers": list(BenchLayer), "clients": ["gpu1"], **wanted}
    steps = planned_steps(request(mode="full", **wanted), site(clients=clients))
    return next(pending(step, measure) for step in steps if step.id == name)


def done(name: str, bandwidth: float = 1e9, *, now: Moment | None = None, **more: Any) -> Rung:
    """A rung that was measured: three equal repeats."""
    direction: Direction = "read" if name.endswith(("read", "load")) else "write"
    direction = "commit" if name.endswith("fsync") else direction
    repeats = [repeat(direction, bandwidth=bandwidth, **more)] * 3
    moments = [now or Moment(at=1, read=bandwidth, written=bandwidth)]
    rung = figures.completed(waiting(name), repeats, moments, 3)
    assert rung.state is BenchState.DONE
    return rung
