# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit: what to do, and one run at a time."""

from millrace.measure.bench.plan import prepare
from millrace.measure.bench.result import live
from millrace.measure.bench.result import store as results
from millrace.measure.bench.result.model import BenchState, Label, RunRequest
from millrace.measure.bench.result.outputs import BenchEstimate, BenchProgress, BenchStarted
from millrace.measure.bench.run import guard
from millrace.measure.bench.run.bench_job import JOB, ORDER, BenchOrder, allow_writing, allowed
from millrace.system.run import attempt
from millrace.system.users import invoking_user, only_root


def estimate(request: RunRequest) -> BenchEstimate:
    """Return the expected duration and size of a run, with all obstacles."""
    ready = prepare.prepare(request)
    verdict = guard.check(request, ready.site, attempt, JOB.obstacle(attempt, allowed(request)))
    return ready.estimate.model_copy(update={"obstacles": verdict.obstacles})


def ready(request: RunRequest) -> tuple[prepare.PreparedRun, list[Label]]:
    """Return a run that may start now, and its labels.

    Refused: there is an obstacle. BadInput: the request is not valid. Nothing was done in either case.
    """
    only_root()
    found = prepare.prepare(request)
    return found, guard.check(request, found.site, attempt, JOB.obstacle(attempt, allowed(request))).demand()


def start(ready: prepare.PreparedRun, labels: list[Label]) -> BenchStarted:
    """Start the unit. Refused: another job keeps it from that. Failed: it does not start; nothing is left behind."""
    order = BenchOrder(run=results.new_id(), by=invoking_user(), request=ready.request, labels=labels)
    with JOB.starting(attempt, f"run {order.run}", order.by, allowed(ready.request)):
        live.begin()
        live.write(
            BenchProgress(run=order.run, time=0, state=BenchState.RUNNING, what="starting", steps=len(ready.steps))
        )
        ORDER.write(order)
        allow_writing([device for step in ready.steps if step.work.writes for device in step.devices], attempt)
    return BenchStarted(run=order.run, unit=JOB.unit, estimate=ready.estimate)
