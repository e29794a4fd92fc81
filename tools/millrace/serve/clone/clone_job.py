# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit that clones, which does not end with the terminal that started it."""

import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from millrace.serve.clone import clone_model, clone_tree
from millrace.serve.clone.clone_model import Clone, CloneForecast, CloneLine, CloneOrder, CloneProgress, CloneStatus
from millrace.serve.clone.clone_place import ClonePlace, opened, parent, parse, refuse_shares
from millrace.serve.clone.clone_space import forecast
from millrace.serve.config import store
from millrace.serve.share.options import size as parsed_size
from millrace.serve.share.server import ShareServer
from millrace.system import locks, paths, reflink
from millrace.system.errors import BadInput, Failed
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs.job import KILLED, POLL, Document, Glance, Job, by_stopping
from millrace.system.run import Runner
from millrace.system.users import invoking_user, only_root

UNDER_WAY = "another clone is under way: millrace share clone-status"
ORDER = Document(job_paths.clone_order_file, CloneOrder)
PROGRESS = Document(job_paths.clone_progress_file, CloneProgress)


def _glance() -> Glance | None:
    now = PROGRESS.get()
    if now is None:
        return None
    return Glance(f"{now.source} to {now.target}", now.done / now.total if now.total else None, now.seconds_left)


JOB = Job(
    kind=kinds.CLONE,
    busy=UNDER_WAY,
    stop=by_stopping(kinds.CLONE),
    glance=_glance,
    files=(ORDER, PROGRESS),
)


@dataclass(frozen=True)
class Reflinks:
    """What only XFS does, for tests: share blocks between open files, read and set the project of a directory."""

    share: Callable[[int, int], None] = reflink.clone
    project: Callable[[int], int] = reflink.project
    set_project: Callable[[int, int], None] = reflink.set_project


def threads() -> int:
    """Return how many threads clone: most of their time they wait for the log of XFS."""
    return min(16, 2 * (os.cpu_count() or 1))


def prepare(source: str, target: str, seal: bool, limit: str | None, server: ShareServer) -> CloneOrder:
    """Verify what a clone needs and return its order.

    Refused: source or target are not as they have to be. BadInput: one of them is no place in a share.
    """
    only_root()
    origin, goal = parse(source), parse(target)
    size = None if limit is None else parsed_size(limit)
    if goal.path and size is not None:
        raise BadInput(f"--size is for a new share, and {goal} is a directory: its share has the limit")
    mountpoint = server.pool.filesystem.mountpoint
    refuse_shares(store.load(), origin, goal, seal, mountpoint)
    with opened(origin, mountpoint), parent(goal, mountpoint):
        pass
    return CloneOrder(
        id=uuid.uuid4().hex, source=str(origin), target=str(goal), seal=seal, size=size, by=invoking_user()
    )


def estimate(
    order: CloneOrder, server: ShareServer, tick: Callable[[clone_tree.Tally], None], links: Reflinks
) -> CloneForecast:
    """Count the source and return what its clone needs. Refused: source or target are gone."""
    source, target = parse(order.source), parse(order.target)
    mountpoint = server.pool.filesystem.mountpoint
    with opened(source, mountpoint) as tree:
        tally = clone_tree.count(tree, threads(), tick)
    with parent(target, mountpoint) as directory:
        project = links.project(directory) if target.path else None
    share = store.load().share(target.share)
    # a directory at the top of its share gets the quota of each of them
    limit = share.child_size if share is not None and len(target.path) == 1 else order.size
    return forecast(source, target, tally, project, limit, mountpoint, server.run)


def start(order: CloneOrder, server: ShareServer) -> None:
    """Start the unit. Refused: another job keeps it from that. Failed: it does not start."""
    with JOB.starting(server.run, f"{order.source} to {order.target}", order.by):
        ORDER.write(order)


def follow(order: CloneOrder, server: ShareServer) -> Iterator[CloneLine]:
    """Yield the progress until the unit has ended, then the clone. Failed: it did not begin; its last line."""
    yield from JOB.follow(PROGRESS.get, server.run, server.pause)
    ended = clone_model.load()
    if ended is None or ended.id != order.id:
        raise Failed(f"{order.source} is not cloned: {JOB.last_line(server.run)}")
    yield ended


def cancel(run: Runner) -> Clone:
    """Stop the clone under way; its unit removes what it made. Refused: none is under way. Failed: it does not stop."""
    only_root()
    JOB.cancel(run)
    ended = clone_model.load()
    if ended is None or ended.state == "running":
        raise Failed(f"the clone did not end: {JOB.last_line(run)}")
    return ended


def status(run: Runner) -> CloneStatus:
    """Return the last clone, and how far it is where its unit runs: a record cannot tell that its writer was killed."""
    last = clone_model.load()
    if last is None or last.state != "running":
        return CloneStatus(clone=last, progress=None)
    if JOB.runs(run):
        return CloneStatus(clone=last, progress=PROGRESS.get())
    # between the look at the record and that at the unit it may have ended well
    last = clone_model.load()
    if last is not None and last.state == "running":
        last = last.model_copy(update={"state": "interrupted", "reason": KILLED})
    return CloneStatus(clone=last, progress=None)


def lock(refusal: str | None = None) -> AbstractContextManager[None]:
    """Hold the lock of the directory in which clones are made; wait for it without `refusal`.

    Refused: another process has it, a clone or the cleanup after one.
    """
    return locks.held(paths.run_dir() / "clone/lock", refusal)


class ProgressWriter:
    """Writes the progress of an order once a second."""

    def __init__(self, source: ClonePlace, target: ClonePlace, total: int | None = None) -> None:
        self._source, self._target, self._total = source, target, total
        self._began, self._next = time.monotonic(), 0.0

    def __call__(self, tally: clone_tree.Tally) -> None:
        """Write how far it is, where a second has passed."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + POLL
        left = None
        if self._total and tally.entries:
            left = round((now - self._began) / tally.entries * max(self._total - tally.entries, 0))
        self.write("count" if self._total is None else "clone", tally.entries, left)

    def write(self, phase: clone_model.ClonePhase, done: int, left: int | None = None) -> None:
        """Write the progress now; `left` are seconds."""
        total = None if self._total is None else max(self._total, done)
        PROGRESS.write(
            CloneProgress(
                source=str(self._source),
                target=str(self._target),
                phase=phase,
                done=done,
                total=total,
                seconds_left=left,
            )
        )
