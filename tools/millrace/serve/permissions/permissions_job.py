# SPDX-License-Identifier: Apache-2.0
"""From the verb to the unit that sets permissions, which does not end with the terminal that started it."""

import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict

from millrace.serve.clone import clone_tree
from millrace.serve.config import store
from millrace.serve.permissions.permissions_model import (
    PermissionsLine,
    PermissionsOrder,
    PermissionsProgress,
    PermissionsReport,
)
from millrace.serve.permissions.permissions_tree import PermissionsTally, PermissionsWalk
from millrace.serve.share import directories, permissions
from millrace.serve.share.model import Share
from millrace.serve.share.server import ShareServer
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.jobs import job_paths, kinds
from millrace.system.jobs.job import POLL, Document, Glance, Job, by_stopping
from millrace.system.names import share_name
from millrace.system.trees import nofollow
from millrace.system.users import invoking_user, only_root

ORDER = Document(job_paths.permissions_order_file, PermissionsOrder)
PROGRESS = Document(job_paths.permissions_progress_file, PermissionsProgress)
RESULT = Document(job_paths.permissions_result_file, PermissionsReport)


def _glance() -> Glance | None:
    now = PROGRESS.get()
    if now is None:
        return None
    return Glance(f"share {now.share}", now.done / now.total if now.total else None, now.seconds_left)


JOB = Job(
    kind=kinds.PERMISSIONS,
    busy="the permissions of a share are being set: millrace job show permissions",
    stop=by_stopping(kinds.PERMISSIONS),
    glance=_glance,
    files=(ORDER, PROGRESS),
)


def prepare(name: str, server: ShareServer) -> Share:
    """Return the share whose permissions can be set. Refused: it has none to set. BadInput: `name` is no name."""
    only_root()
    wanted = store.load().share(name)
    if wanted is None:
        try:
            share_name(name)
        except ValueError as error:
            raise BadInput(str(error)) from error
        raise Refused(f"share {name} does not exist: millrace share list")
    share = next(share for share in server.shares(store.load()) if share.name == name)
    if permissions.rule(share) is None:
        raise Refused(f"share {name} has the type {share.type}, which determines who may write: nothing to set")
    return share


def inspect(share: Share) -> PermissionsReport:
    """Count what differs from the rule of a share; change nothing. Failed: something cannot be read."""
    return _walk(share, "", False, None)


def start(share: Share, server: ShareServer) -> PermissionsOrder:
    """Start the unit. Refused: another job keeps it from that. Failed: it does not start."""
    order = PermissionsOrder(id=uuid.uuid4().hex, share=share.name, by=invoking_user())
    with JOB.starting(server.run, f"share {share.name}", order.by):
        RESULT.remove()
        ORDER.write(order)
    return order


def follow(order: PermissionsOrder, server: ShareServer) -> Iterator[PermissionsLine]:
    """Yield the progress until the unit has ended, then what was done. Failed: it did not end well, and why."""
    yield from JOB.follow(PROGRESS.get, server.run, server.pause)
    ended = RESULT.get()
    if ended is None or ended.id != order.id:
        last = JOB.last(server.run)
        reason = last.reason if last is not None and last.reason else JOB.last_line(server.run)
        raise Failed(f"the permissions of {order.share} are not set completely: {reason}; run the same command again")
    yield ended


def execute(server: ShareServer) -> PermissionsReport:
    """Carry out the order; what the unit runs.

    Refused: the share has no rule by now. Failed: something cannot be changed, or the rule is another one meanwhile.
    """
    with JOB.execution():
        order = ORDER.read()
        share = prepare(order.share, server)
        directories.set_rule(share)
        report = _walk(share, order.id, True, _Writer(order.share))
        now = prepare(order.share, server)
        if (permissions.rule(now), now.group) != (permissions.rule(share), share.group):
            raise Failed(f"who may write in {order.share} was changed meanwhile")
        RESULT.write(report)
        return report


def clean_up() -> None:
    """Record a walk that was killed; what the unit runs at its end."""
    only_root()
    JOB.clean_up()


def _walk(share: Share, order: str, applies: bool, writer: "_Writer | None") -> PermissionsReport:
    rule = permissions.rule(share)
    assert rule is not None
    # what belongs to each user keeps the group that it has
    gid = None if share.group is None else permissions.number(share)
    threads = min(8, os.cpu_count() or 1)
    with nofollow.directory(paths.ROOT / share.path.lstrip("/")) as top:
        if writer is not None:
            writer.total = clone_tree.count(top, threads, lambda tally: writer.write(tally.entries)).entries
        walk = PermissionsWalk(top, rule, gid, applies)
        done = walk.run(threads, lambda tally: writer(tally) if writer is not None else None)
    return PermissionsReport(id=order, share=share.name, applied=applies, **asdict(done))


class _Writer:
    """Writes the progress once a second. `total` is None while it counts."""

    def __init__(self, share: str) -> None:
        self._share, self._began, self._next = share, time.monotonic(), 0.0
        self.total: int | None = None

    def __call__(self, tally: PermissionsTally) -> None:
        """Write how far the walk is, where a second has passed."""
        self.write(tally.entries)

    def write(self, done: int) -> None:
        """Write that so many entries are done, or counted, where a second has passed."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + POLL
        left = None
        if self.total is not None and done:
            left = round((now - self._began) / done * max(self.total - done, 0))
        total = None if self.total is None else max(self.total, done)
        PROGRESS.write(PermissionsProgress(share=self._share, done=done, total=total, seconds_left=left))
