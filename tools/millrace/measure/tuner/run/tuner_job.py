# SPDX-License-Identifier: Apache-2.0
"""A run of the tuner as a job: its order, its unit, and how far it is."""

from collections.abc import Callable, Iterator
from time import sleep

from millrace.measure.tuner.model import TunerState
from millrace.measure.tuner.run import live
from millrace.measure.tuner.run.outputs import TunerProgress, TunerRequest
from millrace.system.documents import Contract
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs.job import KILLED, Document, Glance, Job, by_stopping
from millrace.system.run import Runner


class TunerOrder(Contract):
    """What the unit reads. `profile` is None where goals were named."""

    run: str
    by: str
    request: TunerRequest
    profile: str | None = None


ORDER = Document(job_paths.tuner_order_file, TunerOrder)


def _running() -> TunerProgress | None:
    last = live.latest()
    return last if last is not None and last.state is TunerState.RUNNING else None


def _glance() -> Glance | None:
    now = _running()
    return Glance(now.doing, now.progress, now.seconds_left) if now else None


JOB = Job(
    kind=kinds.TUNER,
    busy="the tuner is already running: `millrace tuner status` shows it, `millrace tuner stop` ends it",
    stop=by_stopping(kinds.TUNER),
    glance=_glance,
    files=(ORDER,),
)


def follow(run: Runner, pause: Callable[[float], None] = sleep) -> Iterator[TunerProgress]:
    """Yield what is new until the run has ended and its settings are back, then how it ended."""
    yield from JOB.follow(_running, run, pause)
    last = live.latest()
    if last is not None:
        killed = {"state": TunerState.INTERRUPTED, "what": KILLED, "seconds_left": None}
        yield last.model_copy(update=killed) if last.state is TunerState.RUNNING else last
