# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit of a run, which does not end with the terminal that started it."""

import time
from datetime import UTC, datetime
from pathlib import Path

from millrace.measure.bench.run import unit
from millrace.measure.tuner.model import State
from millrace.measure.tuner.run import guard, live, store
from millrace.measure.tuner.run.outputs import Estimate, Progress, Request, Started
from millrace.measure.tuner.run.plan import DEFAULT, Prepared, prepare
from millrace.system import paths
from millrace.system.documents import Contract, write_model
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Runner, last_words, must
from millrace.system.units import is_under_way
from millrace.system.users import invoking_user, only_root

UNIT = unit.TUNER
RUNNING = "the tuner is already running: `millrace tuner status` shows it, `millrace tuner stop` ends it"


class Order(Contract):
    """What the unit reads. `profile` is None where goals were named."""

    run: str
    by: str
    request: Request
    profile: str | None = None


def file() -> Path:
    """The order of this boot."""
    return paths.run_dir() / "tuner/order.json"


def active(run: Runner) -> bool:
    """Whether a run is active, or puts its settings back."""
    return is_under_way(UNIT, run)


def estimate(request: Request, run: Runner) -> Estimate:
    """Return what a run would try and how long, with all obstacles.

    BadInput, Refused: the request cannot be carried out on this server.
    """
    ready = prepare(request, run)
    found = [RUNNING] if active(run) else [*_too_short(ready), *guard.obstacles(ready.bench, ready.site, run)]
    return ready.estimate.model_copy(update={"obstacles": found})


def _too_short(ready: Prepared) -> list[str]:
    try:
        ready.check_budget()
    except BadInput as error:
        return [str(error)]
    return []


def ready(request: Request, run: Runner) -> Prepared:
    """Return a run that may start now. Refused: there is an obstacle. BadInput: the request is not valid."""
    only_root()
    if active(run):
        raise Refused(RUNNING)
    found = prepare(request, run)
    found.check_budget()
    for sentence in guard.obstacles(found.bench, found.site, run):
        raise Refused(sentence)
    return found


def start(ready: Prepared, run: Runner) -> Started:
    """Start the unit. Failed: it does not start; nothing is left behind."""
    request = ready.request
    profile = None if request.goals is not None else request.profile or DEFAULT
    order = Order(run=store.new_id(), by=invoking_user(), request=request, profile=profile)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    live.write(Progress(run=order.run, time=time.time(), started=now, state=State.RUNNING, what="starting"))
    write_model(file(), order)
    result = run(["systemctl", "start", UNIT])
    if result.status != 0:
        file().unlink(missing_ok=True)
        live.file().unlink(missing_ok=True)
        raise Failed(f"{UNIT} does not start: {last_words(result)}")
    return Started(run=order.run, unit=UNIT, estimate=ready.estimate)


def stop(run: Runner) -> None:
    """End the run; return when its settings are back. Failed: systemd does not end it."""
    must(run, ["systemctl", "stop", UNIT])
