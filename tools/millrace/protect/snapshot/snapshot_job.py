# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit that makes a snapshot, which does not end with the terminal that started it."""

import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime

from millrace.protect.snapshot.snapshot_model import (
    SnapshotKind,
    SnapshotLine,
    SnapshotManifest,
    SnapshotOrder,
    SnapshotPhase,
    SnapshotProgress,
)
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.config import store
from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.share.server import ShareServer
from millrace.system import locks, paths
from millrace.system.command import command
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs.job import POLL, Document, Glance, Job, by_stopping
from millrace.system.names import share_name
from millrace.system.users import invoking_user, only_root

UNDER_WAY = "another snapshot is being made: millrace job show snapshot"
ORDER = Document(job_paths.snapshot_order_file, SnapshotOrder)
PROGRESS = Document(job_paths.snapshot_progress_file, SnapshotProgress)


def _glance() -> Glance | None:
    now = PROGRESS.get()
    if now is None:
        return None
    return Glance(f"share {now.share}", now.done / now.total if now.total else None, now.seconds_left)


JOB = Job(
    kind=kinds.SNAPSHOT,
    busy=UNDER_WAY,
    stop=by_stopping(kinds.SNAPSHOT),
    glance=_glance,
    files=(ORDER, PROGRESS),
)


def present(config: Config, name: str) -> DesiredShare:
    """Return a share. BadInput: `name` is no name of one. Refused: there is none."""
    share = config.share(name)
    if share is None:
        try:
            share_name(name)
        except ValueError as error:
            raise BadInput(str(error)) from error
        raise Refused(f"share {name} does not exist: millrace share list")
    return share


def prepare(share: str, large: bool, server: ShareServer, kind: SnapshotKind = "manual", by: str = "") -> SnapshotOrder:
    """Return the order of a snapshot of now; `by` is who orders it (default: the invoking user).

    BadInput, Refused: there is no such share, it is a replica, whose snapshots are those of its source, or it has a
    snapshot of this second.
    """
    only_root()
    if present(store.load(), share).replica is not None:
        status = command("millrace replica status", share)
        raise Refused(f"share {share} is a replica: its snapshots come from its source ({status})")
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{kind}"
    if SnapshotStore(server.pool.filesystem.mountpoint).place(share, name).exists():
        raise Refused(f"{share} has a snapshot of this second: {share}@{name}")
    return SnapshotOrder(id=uuid.uuid4().hex, share=share, name=name, large=large, by=by or invoking_user())


def start(order: SnapshotOrder, server: ShareServer) -> None:
    """Start the unit. Refused: another job keeps it from that. Failed: it does not start."""
    with JOB.starting(server.run, f"share {order.share}", order.by):
        ORDER.write(order)


def follow(order: SnapshotOrder, server: ShareServer) -> Iterator[SnapshotLine]:
    """Yield the progress until the unit has ended, then what the snapshot is. Failed: there is none, and why."""
    yield from JOB.follow(PROGRESS.get, server.run, server.pause)
    ended = made(order, server)
    if ended is None:
        last = JOB.last(server.run)
        reason = last.reason if last is not None and last.reason else JOB.last_line(server.run)
        raise Failed(f"there is no snapshot of {order.share}: {reason}")
    yield ended


def made(order: SnapshotOrder, server: ShareServer) -> SnapshotManifest | None:
    """Return what the snapshot of an order is; None where there is none."""
    with suppress(BadInput, OSError):
        manifest = SnapshotStore(server.pool.filesystem.mountpoint).manifest(order.share, order.name)
        return manifest if manifest.id == order.id else None
    return None


def lock(refusal: str | None = None) -> AbstractContextManager[None]:
    """Hold the lock of the place where snapshots are made; wait for it without `refusal`.

    Refused: another process has it, a snapshot or the cleanup after one.
    """
    return locks.held(paths.run_dir() / "snapshot/lock", refusal)


class SnapshotWriter:
    """Writes the progress of a snapshot once a second. `total` is None while it counts."""

    def __init__(self, share: str) -> None:
        self._share, self._next = share, 0.0
        self._began = time.monotonic()
        self._phase: SnapshotPhase = "count"
        self._total: int | None = None

    def begin(self, phase: SnapshotPhase, total: int) -> None:
        """Begin the next phase, of so many files and directories."""
        self._phase, self._total, self._began, self._next = phase, total, time.monotonic(), 0.0

    def __call__(self, done: int) -> None:
        """Write that so many files and directories are done, where a second has passed."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + POLL
        left = None
        if self._total is not None and done:
            left = round((now - self._began) / done * max(self._total - done, 0))
        total = None if self._total is None else max(self._total, done)
        PROGRESS.write(
            SnapshotProgress(share=self._share, phase=self._phase, done=done, total=total, seconds_left=left)
        )
