# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit: what to do, and one run at a time."""

from contextlib import AbstractContextManager
from pathlib import Path

from pydantic import Field

from millrace.measure.bench.plan import prepare
from millrace.measure.bench.result import live
from millrace.measure.bench.result import store as results
from millrace.measure.bench.result.model import Label, RunRequest, State
from millrace.measure.bench.result.outputs import Estimate, Progress, Started
from millrace.measure.bench.run import guard, unit
from millrace.system import locks, paths
from millrace.system.documents import Contract, write_model
from millrace.system.errors import Failed
from millrace.system.run import attempt, last_words
from millrace.system.users import invoking_user, only_root


class Order(Contract):
    """What the unit reads."""

    run: str
    by: str
    request: RunRequest
    labels: list[Label] = Field(default_factory=list)


def file() -> Path:
    """The order of this boot."""
    return paths.run_dir() / "bench/order.json"


def estimate(request: RunRequest) -> Estimate:
    """Return the expected duration and size of a run, with all obstacles."""
    ready = prepare.prepare(request)
    verdict = guard.check(request, ready.site, attempt)
    return ready.estimate.model_copy(update={"obstacles": verdict.obstacles})


def ready(request: RunRequest) -> tuple[prepare.Prepared, list[Label]]:
    """Return a run that may start now, and its labels.

    Refused: there is an obstacle. BadInput: the request is not valid. Nothing was done in either case.
    """
    only_root()
    found = prepare.prepare(request)
    return found, guard.check(request, found.site, attempt).demand()


def start(ready: prepare.Prepared, labels: list[Label]) -> Started:
    """Start the unit. Failed: it does not start; nothing is left behind."""
    order = Order(run=results.new_id(), by=invoking_user(), request=ready.request, labels=labels)
    live.begin()
    live.write(Progress(run=order.run, time=0, state=State.RUNNING, what="starting", steps=len(ready.steps)))
    write_model(file(), order)
    unit.allow_writing([device for step in ready.steps if step.work.writes for device in step.devices])
    result = attempt(["systemctl", "start", unit.NAME])
    if result.status != 0:
        file().unlink(missing_ok=True)
        raise Failed(f"{unit.NAME} does not start: {last_words(result)}")
    return Started(run=order.run, unit=unit.NAME, estimate=ready.estimate)


def only_run() -> AbstractContextManager[None]:
    """Hold the lock of the benchmark; the kernel frees it with its process. Refused: another run has it."""
    sentence = "a benchmark is already running: `millrace bench follow` watches it"
    return locks.held(paths.run_dir() / "bench/lock", sentence)
