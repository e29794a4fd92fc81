# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit that brings a replica up to date, which does not end with the terminal that started it."""

import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

from millrace.protect.replica.replica_model import (
    STATES,
    DrillReport,
    ReplicaAction,
    ReplicaOrder,
    ReplicaProgress,
    ReplicaReport,
    ReplicaStates,
)
from millrace.protect.replica.tree_build import Built
from millrace.serve.config import store
from millrace.serve.config.model import Config
from millrace.serve.config.replica import ReplicaSource
from millrace.serve.share.server import ShareServer
from millrace.system.command import command
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs.job import KILLED, POLL, Document, Glance, Job, stop_unit
from millrace.system.names import share_name
from millrace.system.run import Runner
from millrace.system.users import invoking_user, only_root

ORDER = Document(job_paths.replica_order_file, ReplicaOrder)
PROGRESS = Document(job_paths.replica_progress_file, ReplicaProgress)


def _glance() -> Glance | None:
    now = PROGRESS.get()
    if now is None:
        return None
    return Glance(f"replica {now.share}", now.entries / now.total if now.total else None, None, now.rate)


def _stop(run: Runner) -> None:
    order = ORDER.get()
    if order is not None and order.action == "sync":
        # before its end, which starts the next replica: this one is not due before its next period
        problem = f"it was cancelled by {invoking_user()}; the next run goes on"
        _note(order, {"tried_at": _now(), "problem": problem, "unfinished": None})
    stop_unit(kinds.REPLICA, run)


def end() -> None:
    """Record a run that was killed, also of its replica. Refused: a process carries one out."""
    order = ORDER.get()
    JOB.clean_up()
    states = STATES.get()
    if order is not None and states is not None and states.of(order.share).unfinished == order.id:
        _note(order, {"problem": f"{KILLED}; the next run goes on"})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _note(order: ReplicaOrder, what: dict[str, str | None]) -> None:
    states = STATES.get() or ReplicaStates()
    STATES.write(states.with_state(states.of(order.share).model_copy(update=what)))


JOB = Job(
    kind=kinds.REPLICA,
    busy="another replica is being brought up to date: millrace job show replica",
    stop=_stop,
    glance=_glance,
    files=(ORDER, PROGRESS),
)


def source_of(config: Config, name: str) -> ReplicaSource:
    """Return of what a share is a replica. BadInput: `name` is no name. Refused: it is none, or there is no share."""
    share = config.share(name)
    if share is None:
        try:
            share_name(name)
        except ValueError as error:
            raise BadInput(str(error)) from error
    if share is None or share.replica is None:
        raise Refused(f"{name} is no replica: millrace replica list")
    return share.replica


def prepare(share: str, action: ReplicaAction, full: bool = False, by: str = "") -> ReplicaOrder:
    """Return the order; `by` is who orders it (default: the invoking user).

    BadInput: `share` is no name. Refused: it is no replica, or it is paused.
    """
    only_root()
    source = source_of(store.load(), share)
    if source.paused and action == "sync":
        raise Refused(f"replica {share} is paused: {command('millrace replica resume', share)}")
    return ReplicaOrder(id=uuid.uuid4().hex, share=share, action=action, full=full, by=by or invoking_user())


def start(order: ReplicaOrder, server: ShareServer) -> None:
    """Start the unit. Refused: another job keeps it from that. Failed: it does not start."""
    with JOB.starting(server.run, f"replica {order.share}", order.by):
        ORDER.write(order)
        if order.action == "sync":
            # before the unit, whose end starts what is due: one that ends at once is not started in a loop
            _note(order, {"tried_at": _now()})


def follow(order: ReplicaOrder, server: ShareServer) -> Iterator[ReplicaProgress | ReplicaReport | DrillReport]:
    """Yield the progress until the unit has ended, then how it ended. Failed: it did not end well, and why."""
    yield from JOB.follow(PROGRESS.get, server.run, server.pause)
    states = STATES.get()
    state = None if states is None else states.of(order.share)
    ended = None if state is None else state.drill if order.action == "drill" else state.report
    if ended is None or ended.id != order.id:
        last = JOB.last(server.run)
        reason = last.reason if last is not None and last.reason else JOB.last_line(server.run)
        raise Failed(f"replica {order.share} is not up to date: {reason}")
    yield ended


class ReplicaWriter:
    """Writes the progress of a replica once a second."""

    def __init__(self, share: str, snapshot: str, total: int) -> None:
        self._share, self._snapshot, self._total = share, snapshot, total
        self._began, self._next = time.monotonic(), 0.0

    def __call__(self, done: Built) -> bool:
        """Write what is done where a second has passed, and return whether that was so."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + POLL
        seconds = now - self._began
        PROGRESS.write(
            ReplicaProgress(
                share=self._share,
                snapshot=self._snapshot,
                entries=done.entries,
                total=max(self._total, done.entries),
                fetched=done.fetched,
                rate=int(done.fetched / seconds) if seconds else 0,
            )
        )
        return True
