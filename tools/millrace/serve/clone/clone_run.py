# SPDX-License-Identifier: Apache-2.0
"""What millrace-reflink@clone.service does: clone out of the reach of clients, then move the tree to its place.

Until then it is below a directory of root alone, which millrace-cleanup@clone.service removes, or the next clone. It is
moved in one step: a power cut leaves no tree, or the complete one.
"""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from millrace.serve.clone import clone_job, clone_model, clone_tree
from millrace.serve.clone.clone_job import JOB, ORDER, ProgressWriter, Reflinks
from millrace.serve.clone.clone_model import Clone, CloneOrder, CloneState
from millrace.serve.clone.clone_place import ClonePlace, opened, parent, parse, refuse_shares
from millrace.serve.config import store
from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.render.reconcile import Reconciliation
from millrace.serve.render.registry import Change, RenderPart
from millrace.serve.share import quota
from millrace.serve.share.server import ShareServer
from millrace.serve.share.share_change import ShareChange
from millrace.system import locks, paths
from millrace.system.boot import boot_id
from millrace.system.documents import checked
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.files import describe, sync
from millrace.system.jobs import record
from millrace.system.jobs.job import KILLED
from millrace.system.run import must
from millrace.system.trees import nofollow

TREE = "tree"
CANCELLED = "it was cancelled, or the server was shut down"


def execute(server: ShareServer, links: Reflinks) -> Clone:
    """Carry out the order and record how it ends; what the unit runs.

    Waits for a cleanup. Refused, Failed: nothing was cloned, and nothing of it remains; recorded.
    """
    with JOB.execution(), clone_job.lock():
        order = ORDER.read()
        clone = _begun(order)
        remove_rest(server)
        clone_model.save(clone)
        try:
            done = _clone(order, clone, server, links)
        except (MillraceError, OSError) as error:
            reason = str(error) if isinstance(error, MillraceError) else describe(error)
            clone_model.save(_ended(clone, state="failed", reason=reason))
            remove_rest(server)
            raise Failed(f"{order.source} is not cloned: {reason}") from error
        clone_model.save(done)
        return done


def end(server: Callable[[], ShareServer], stopped: bool) -> None:
    """Record a clone that did not end itself; `stopped` is whether that was asked for. What the unit runs at its end.

    What it made is removed by millrace-cleanup@clone.service, which nothing waits for. A record needs no pool unless
    the tree was about to be moved. Failed, BadInput: then the pool cannot be asked; the next start of the server
    asks it.
    """
    killed = JOB.clean_up()
    if _record_end(server, stopped) == "done" and killed is not None:
        record.end(killed, "done")


def sweep(server: ShareServer) -> bool:
    """Record a clone that a power cut ended, and remove what one left; False where a clone is under way.

    The boot calls it, and systemd after each clone. A stop ends it at any moment: the next boot goes on. Failed:
    something remains.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(clone_job.lock(clone_job.UNDER_WAY))
        except Refused:
            return False
        state = _record_end(lambda: server, stopped=False)
        ordered = record.load(JOB.kind.name)
        if state is not None and ordered is not None and ordered.state == "running":
            # a power cut came between its end and its record
            record.end(ordered, state if state != "running" else "interrupted")
        remove_rest(server)
    return True


def _record_end(server: Callable[[], ShareServer], stopped: bool) -> CloneState | None:
    """Record how a clone ended that says it is running; return that. A clone that is in its place is complete."""
    with locks.held(paths.run_dir() / "clone/record.lock"):
        clone = clone_model.load()
        if clone is None or clone.state != "running":
            return None
        if clone.inode is not None and _is_complete(clone, server()):
            ended = _ended(clone, state="done")
        elif stopped:
            ended = _ended(clone, state="cancelled", reason=CANCELLED)
        else:
            ended = _ended(clone, state="interrupted", reason=KILLED)
        clone_model.save(ended)
        return ended.state


def _is_complete(clone: Clone, server: ShareServer) -> bool:
    """Whether a tree is in its place; one whose share was never made is moved back."""
    target = parse(clone.target)
    if not _is_in_place(clone, target, server):
        return False
    # a change of shares that is under way writes the same records, and may be about to make this share
    with store.config_lock():
        if target.path or store.load().share(target.share) is not None:
            return True
        _move_back(target, server)
        quota.expect(target.share, 0, server.pool)
    return False


def remove_rest(server: ShareServer) -> None:
    """Remove what is in the directory of clones, which no client can reach. Failed: something of it remains."""
    rest = _top(server) / paths.CLONES
    if os.path.lexists(rest):
        must(server.run, ["rm", "-rf", "--one-file-system", "--", str(rest)])


def _clone(order: CloneOrder, clone: Clone, server: ShareServer, links: Reflinks) -> Clone:
    source, target = parse(order.source), parse(order.target)
    refuse_shares(store.load(), source, target, order.seal, server.pool.filesystem.mountpoint)
    estimate = clone_job.estimate(order, server, ProgressWriter(source, target), links)
    if estimate.obstacle:
        raise Refused(estimate.obstacle)
    began = time.monotonic()
    mountpoint = server.pool.filesystem.mountpoint
    with nofollow.directory(_top(server)) as top:
        nofollow.make_directory(paths.CLONES, 0o700, top)
        with nofollow.directory(paths.CLONES, top) as stage:
            nofollow.make_directory(TREE, 0o700, stage)
            with nofollow.directory(TREE, stage) as tree, opened(source, mountpoint) as origin:
                project = _project(target, server, links)
                if project:
                    links.set_project(tree, project)
                writer = ProgressWriter(source, target, estimate.entries)
                tally = clone_tree.TreeClone(origin, tree, links.share).run(clone_job.threads(), writer)
                clone = clone.model_copy(
                    update={
                        "entries": tally.entries,
                        "changed": tally.changed,
                        "skipped": tally.skipped,
                        "seconds": time.monotonic() - began,
                        "inode": os.fstat(tree).st_ino,
                    }
                )
            # which tree it is, before it is anywhere: after a power cut nothing else tells that
            clone_model.save(clone)
            writer.write("serve", tally.entries)
            if not target.path:
                return _serve(order, clone, target, project, stage, server)
            with parent(target, mountpoint) as directory:
                _move(target, stage, directory)
    return _ended(clone, state="done")


def _project(target: ClonePlace, server: ShareServer, links: Reflinks) -> int | None:
    """The quota project of what is cloned: that of the directory that it comes into, or that of the next share."""
    mountpoint = server.pool.filesystem.mountpoint
    if not quota.enabled(mountpoint):
        return None
    if not target.path:
        return store.load().next_project
    with parent(target, mountpoint) as directory:
        return links.project(directory)


def _move(target: ClonePlace, stage: int, directory: int) -> None:
    """Move the tree to its place in one step. Refused: the target exists by now."""
    name = (target.share, *target.path)[-1]
    try:
        # rename(2) replaces an empty directory at most
        os.rename(TREE, name, src_dir_fd=stage, dst_dir_fd=directory)
    except OSError as error:
        raise Refused(f"{target} cannot be created ({error.strerror}): another one has its place") from error
    os.fsync(directory)
    os.fsync(stage)


def _move_back(target: ClonePlace, server: ShareServer) -> None:
    with nofollow.directory(_top(server)) as top, nofollow.directory(paths.CLONES, top) as stage:
        os.rename(target.share, TREE, src_dir_fd=top, dst_dir_fd=stage)
    sync(_top(server))


class _Move(RenderPart):
    """Move the tree to the directory of its share, which is not served before."""

    def __init__(self, target: ClonePlace, project: int | None, stage: int, server: ShareServer) -> None:
        self._target, self._project, self._stage, self._server = target, project, stage, server

    def prepare(self, change: Change) -> None:
        """Move it. Refused: another directory has its place."""
        with parent(self._target, self._server.pool.filesystem.mountpoint) as directory:
            _move(self._target, self._stage, directory)
        change.on_failure(partial(_move_back, self._target, self._server))
        share = change.new.share(self._target.share)
        if self._project and share is not None and share.project == self._project:
            quota.expect(self._target.share, self._project, self._server.pool)
            change.on_failure(partial(quota.expect, self._target.share, 0, self._server.pool))


def _serve(
    order: CloneOrder, clone: Clone, target: ClonePlace, project: int | None, stage: int, server: ShareServer
) -> Clone:
    source = parse(order.source)

    def mutate(config: Config) -> Config:
        refuse_shares(config, source, target, order.seal, server.pool.filesystem.mountpoint)
        created = _share(config, source, target, order)
        return config.model_copy(update={"shares": [*config.shares, created]})

    made = Reconciliation([_Move(target, project, stage, server), ShareChange(lambda: server)])
    what = f"share clone {source} {target}" + (" --seal" if order.seal else "")
    store.change(order.by, what, mutate, made)
    return _ended(clone, state="done", verified=made.verified, warnings=made.warnings)


def _share(config: Config, source: ClonePlace, target: ClonePlace, order: CloneOrder) -> DesiredShare:
    """A share for the same clients and users as that of the source; a sealed one for reading."""
    origin = config.share(source.share)
    assert origin is not None
    values: dict[str, Any] = origin.model_dump() | {
        "name": target.share,
        "project": config.next_project,
        "fsid": None,
        "size": order.size,
        "soft_size": None,
        "child_size": None,
        "sealed": order.seal,
    }
    if order.seal:
        values["type"] = "dataset-ro"
        values["nfs"]["clients"] = [{**client, "access": "ro"} for client in values["nfs"]["clients"]]
        values["smb"]["time_machine"] = False
    return checked(lambda: DesiredShare.model_validate(values))


def _is_in_place(clone: Clone, target: ClonePlace, server: ShareServer) -> bool:
    if clone.inode is None:
        return False
    with suppress(MillraceError), opened(target, server.pool.filesystem.mountpoint) as found:
        return os.fstat(found).st_ino == clone.inode
    return False


def _top(server: ShareServer) -> Path:
    return paths.ROOT / server.pool.filesystem.mountpoint.lstrip("/")


def _begun(order: CloneOrder) -> Clone:
    return Clone(
        id=order.id,
        source=order.source,
        target=order.target,
        sealed=order.seal,
        share="/" not in order.target,
        by=order.by,
        state="running",
        boot=boot_id(),
        began=_now(),
    )


def _ended(clone: Clone, **changes: object) -> Clone:
    return clone.model_copy(update={"ended": _now(), **changes})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
