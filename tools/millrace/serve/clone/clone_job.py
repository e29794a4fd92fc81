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
from millrace.serve.clone.clone_place import Place, opened, parent, parse, refuse_shares
from millrace.serve.clone.clone_space import forecast
from millrace.serve.config import store
from millrace.serve.share.options import size as parsed_size
from millrace.serve.share.server import Server
from millrace.system import locks, paths, reflink
from millrace.system.documents import write_model
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Runner, last_words
from millrace.system.units import is_under_way
from millrace.system.users import invoking_user, only_root

UNIT = "millrace-clone.service"
POLL = 1.0
"""Seconds between two looks."""
RESTARTED = "the server was restarted, or the service was killed"
UNDER_WAY = "another clone is under way: millrace share clone-status"


@dataclass(frozen=True)
class Reflinks:
    """What only XFS does, for tests: share blocks between open files, read and set the project of a directory."""

    share: Callable[[int, int], None] = reflink.clone
    project: Callable[[int], int] = reflink.project
    set_project: Callable[[int, int], None] = reflink.set_project


def threads() -> int:
    """Return how many threads clone: most of their time they wait for the log of XFS."""
    return min(16, 2 * (os.cpu_count() or 1))


def prepare(source: str, target: str, seal: bool, limit: str | None, server: Server) -> CloneOrder:
    """Verify what a clone needs and return its order.

    Refused: source or target are not as they have to be. BadInput: one of them is no place in a share.
    """
    only_root()
    origin, goal = parse(source), parse(target)
    size = None if limit is None else parsed_size(limit)
    if goal.path and size is not None:
        raise BadInput(f"--size is for a new share, and {goal} is a directory: its share has the limit")
    refuse_shares(store.load(), origin, goal, seal)
    mountpoint = server.pool.filesystem.mountpoint
    with opened(origin, mountpoint), parent(goal, mountpoint):
        pass
    return CloneOrder(
        id=uuid.uuid4().hex, source=str(origin), target=str(goal), seal=seal, size=size, by=invoking_user()
    )


def estimate(
    order: CloneOrder, server: Server, tick: Callable[[clone_tree.Tally], None], links: Reflinks
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


def start(order: CloneOrder, server: Server) -> None:
    """Start the unit. Refused: another clone is under way. Failed: it does not start."""
    # until its unit runs, another order would take the place of this one
    with locks.held(paths.run_dir() / "clone/start.lock"):
        if is_under_way(UNIT, server.run):
            raise Refused(UNDER_WAY)
        paths.clone_progress_file().unlink(missing_ok=True)
        write_model(paths.clone_order_file(), order)
        began = server.run(["systemctl", "start", UNIT])
        if began.status != 0:
            paths.clone_order_file().unlink(missing_ok=True)
            raise Failed(f"{UNIT} does not start: {last_words(began)}")


def follow(order: CloneOrder, server: Server) -> Iterator[CloneLine]:
    """Yield the progress until the unit has ended, then the clone. Failed: it did not begin; its last line."""
    shown: CloneProgress | None = None
    while is_under_way(UNIT, server.run):
        now = clone_model.progress()
        if now is not None and now != shown:
            yield now
            shown = now
        server.pause(POLL)
    ended = clone_model.load()
    if ended is None or ended.id != order.id:
        raise Failed(f"{order.source} is not cloned: see `journalctl -u {UNIT}`")
    yield ended


def cancel(server: Server) -> Clone:
    """Stop the clone under way; its unit removes what it made. Refused: none is under way. Failed: it does not stop."""
    only_root()
    if not is_under_way(UNIT, server.run):
        raise Refused("no clone is under way: millrace share clone-status")
    stopped = server.run(["systemctl", "stop", UNIT])
    ended = clone_model.load()
    if stopped.status != 0 or ended is None or ended.state == "running":
        raise Failed(f"{UNIT} does not stop: {last_words(stopped)}")
    return ended


def status(run: Runner) -> CloneStatus:
    """Return the last clone, and how far it is where its unit runs: a record cannot tell that its writer was killed."""
    last = clone_model.load()
    if last is None or last.state != "running":
        return CloneStatus(clone=last, progress=None)
    if is_under_way(UNIT, run):
        return CloneStatus(clone=last, progress=clone_model.progress())
    # between the look at the record and that at the unit it may have ended well
    last = clone_model.load()
    if last is not None and last.state == "running":
        last = last.model_copy(update={"state": "interrupted", "reason": RESTARTED})
    return CloneStatus(clone=last, progress=None)


def lock(refusal: str | None = None) -> AbstractContextManager[None]:
    """Hold the lock of clones and of their cleanup; wait for it without `refusal`. Refused: another process has it."""
    return locks.held(paths.run_dir() / "clone/lock", refusal)


class ProgressWriter:
    """Writes the progress of an order once a second."""

    def __init__(self, source: Place, target: Place, total: int | None = None) -> None:
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
        write_model(
            paths.clone_progress_file(),
            CloneProgress(
                source=str(self._source),
                target=str(self._target),
                phase=phase,
                done=done,
                total=total,
                seconds_left=left,
            ),
        )
