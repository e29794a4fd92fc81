# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit of a run, which does not end with the terminal that started it."""

import time
from datetime import UTC, datetime

from millrace.measure.tuner.model import TunerState
from millrace.measure.tuner.run import guard, live, store
from millrace.measure.tuner.run.outputs import TunerEstimate, TunerProgress, TunerRequest, TunerStarted
from millrace.measure.tuner.run.plan import DEFAULT, PreparedSearch, prepare
from millrace.measure.tuner.run.tuner_job import JOB, ORDER, TunerOrder
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Runner
from millrace.system.users import invoking_user, only_root


def estimate(request: TunerRequest, run: Runner) -> TunerEstimate:
    """Return what a run would try and how long, with all obstacles.

    BadInput, Refused: the request cannot be carried out on this server.
    """
    ready = prepare(request, run)
    found = [JOB.busy] if JOB.runs(run) else [*_too_short(ready), *guard.obstacles(ready.bench, ready.site, run)]
    return ready.estimate.model_copy(update={"obstacles": found})


def _too_short(ready: PreparedSearch) -> list[str]:
    try:
        ready.check_budget()
    except BadInput as error:
        return [str(error)]
    return []


def ready(request: TunerRequest, run: Runner) -> PreparedSearch:
    """Return a run that may start now. Refused: there is an obstacle. BadInput: the request is not valid."""
    only_root()
    if JOB.runs(run):
        raise Refused(JOB.busy)
    found = prepare(request, run)
    found.check_budget()
    for sentence in guard.obstacles(found.bench, found.site, run):
        raise Refused(sentence)
    return found


def start(ready: PreparedSearch, run: Runner) -> TunerStarted:
    """Start the unit. Refused: another job keeps it from that. Failed: it does not start; nothing is left behind."""
    request = ready.request
    profile = None if request.goals is not None else request.profile or DEFAULT
    order = TunerOrder(run=store.new_id(), by=invoking_user(), request=request, profile=profile)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        with JOB.starting(run, f"run {order.run}", order.by):
            live.write(
                TunerProgress(run=order.run, time=time.time(), started=now, state=TunerState.RUNNING, what="starting")
            )
            ORDER.write(order)
    except Failed:
        live.file().unlink(missing_ok=True)
        raise
    return TunerStarted(run=order.run, unit=JOB.unit, estimate=ready.estimate)
