# SPDX-License-Identifier: Apache-2.0
"""A share becomes what a snapshot of it is: what millrace-reflink@snapshot.service does for such an order.

The snapshot is cloned out of the reach of clients. The clone and the directory of the share are exchanged in one step,
and what the share held becomes a snapshot: a clone again, as clients have handles of its files, by which nfsd would let
them write into a snapshot (no_subtree_check, nfsd(7)). Then it is removed, and the handles are stale.

A power cut before the exchange leaves the share as it was, and one after it the share as the snapshot is: the next boot
keeps what it held, and then removes it.

A rollback that does not come to its end keeps no snapshot of another share from being made.
"""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial

from millrace.protect.snapshot import rollback_try, snapshot_job, snapshot_rollback, snapshot_run
from millrace.protect.snapshot.rollback_model import RollbackJournal
from millrace.protect.snapshot.snapshot_job import JOB, SnapshotWriter
from millrace.protect.snapshot.snapshot_model import SnapshotManifest, SnapshotOrder
from millrace.protect.snapshot.snapshot_run import PROJECTS, SnapshotSource
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.clone import clone_job, clone_place, clone_tree
from millrace.serve.clone.clone_again import ChangeClock
from millrace.serve.clone.clone_job import Reflinks
from millrace.serve.clone.clone_place import ClonePlace
from millrace.serve.clone.clone_tree import Tally, TreeClone
from millrace.serve.config import store
from millrace.serve.config.model import DesiredShare
from millrace.serve.share import directories, project_walk, quota
from millrace.serve.share.kept_snapshots import LARGEST, SNAPSHOT_TREE
from millrace.serve.share.model import Share
from millrace.serve.share.reopen import reopen
from millrace.serve.share.server import ShareServer
from millrace.serve.share.services import restart_child_quota
from millrace.system import locks, paths
from millrace.system.boot import boot_id
from millrace.system.documents import parse_model, write_model
from millrace.system.errors import BadInput, Failed, LaterRelease, MillraceError, Refused
from millrace.system.files import describe
from millrace.system.jobs import record
from millrace.system.jobs.job import no_start
from millrace.system.text import one_line
from millrace.system.trees import nofollow
from millrace.system.trees.exchange import exchange

JOURNAL = "rollback.json"
BOUND = PROJECTS + (1 << 29)
"""The project of a share between the exchange and the count of its files, with its limits, is this one and its own."""
LEAST = 2
"""Percent of the pool, and of its inodes, that stay free while what a share held becomes a snapshot.

The rollback has begun with room for both clones; what clients write since then must not fill the pool.
"""


def carry_out(
    order: SnapshotOrder, snapshots: SnapshotStore, server: ShareServer, links: Reflinks, clock: ChangeClock
) -> SnapshotManifest:
    """Finish what a power cut ended, and do what an order asks for; return the snapshot that is made.

    A rollback of another share that cannot be finished is a line in the journal, and the snapshot is made. Refused,
    Failed, BadInput, OSError: it cannot be done; a share is as it was, or is rolled back and the sentence says so.
    """
    snapshots.require_own()
    try:
        open_journal = exchanged(snapshots)
    except MillraceError as error:
        if order.rollback is not None:
            raise
        _say(str(error))
        return snapshot_run.make(order, snapshots, server, links, clock)
    if open_journal is None:
        snapshots.drop_rollback()
    elif open_journal.order.id == order.id:
        return _finish(open_journal, snapshots, server, links, clock)
    else:
        _finish_before(order, open_journal, snapshots, server, links, clock)
    if order.rollback is None:
        return snapshot_run.make(order, snapshots, server, links, clock)
    journal = _cloned(order, order.rollback, snapshots, server, links)
    _exchange(journal, snapshots, server)
    return _finish(journal, snapshots, server, links, clock)


def resume(server: ShareServer) -> str | None:
    """Order the end of a rollback that a power cut or a kill ended; what was never exchanged is removed.

    Return why a rollback remains that was tried in this boot: it is not tried again by itself. Nothing is done while a
    snapshot is being made, which does it first. Failed, BadInput, OSError: the pool fails, or the journal cannot be
    read.
    """
    snapshots = SnapshotStore(server.pool.filesystem.mountpoint)
    snapshots.require_own()
    try:
        with snapshot_job.lock(snapshot_job.UNDER_WAY):
            journal = exchanged(snapshots)
            if journal is None or (
                rollback_try.was_begun(journal) and snapshot_job.made(journal.order, server) is not None
            ):
                snapshots.drop_rollback()
                journal = None
    except locks.Busy:
        return None
    if journal is None:
        snapshots.remove_old(server.run)
        return None
    if rollback_try.was_begun(journal):
        return rollback_try.unfinished(journal)
    # where another job runs, the next snapshot or the next boot does it
    with suppress(Refused):
        snapshot_rollback.start(journal.order, server)
    return None


def exchanged(snapshots: SnapshotStore) -> RollbackJournal | None:
    """Return the journal of a rollback whose share is exchanged and that is not at its end; None where there is none.

    Failed: it cannot be read, or its directory is not of root alone, and what to do. LaterRelease: a later one wrote
    it.
    """
    place = snapshots.rollback
    nofollow.require_private(place)
    try:
        if not os.path.lexists(place / JOURNAL):
            return None
        journal = parse_model(nofollow.read_file(place / JOURNAL, LARGEST), place / JOURNAL, RollbackJournal)
        return None if (place / SNAPSHOT_TREE).lstat().st_ino == journal.inode else journal
    except LaterRelease:
        raise
    except (BadInput, Failed, OSError) as error:
        raise Failed(
            f"the journal of a rollback cannot be read, and no share can be rolled back: {describe(error)}; examine "
            f"{place / SNAPSHOT_TREE}, which may be the only copy of files of a share, then remove {place}"
        ) from error


def _finish_before(
    order: SnapshotOrder,
    journal: RollbackJournal,
    snapshots: SnapshotStore,
    server: ShareServer,
    links: Reflinks,
    clock: ChangeClock,
) -> None:
    """Finish a rollback before another order. Failed: that needs it, as it is of the same share, or a rollback."""
    is_needed = order.rollback is not None or order.share == journal.order.share
    if not is_needed and rollback_try.was_begun(journal):
        _say(rollback_try.unfinished(journal))
        return
    try:
        _finish(journal, snapshots, server, links, clock)
    except Failed as failed:
        if is_needed:
            raise
        _say(str(failed))


def _cloned(
    order: SnapshotOrder, rollback: str, snapshots: SnapshotStore, server: ShareServer, links: Reflinks
) -> RollbackJournal:
    """Clone the snapshot beside the share, and write the journal of what follows."""
    share, _ = snapshot_rollback.allowed(store.load(), order.share, rollback, snapshots)
    writer, threads = SnapshotWriter(order.share), clone_job.threads()
    with ExitStack() as stack:
        opened = (ClonePlace(order.share, (), rollback), ClonePlace(order.share, ()))
        source, current = (stack.enter_context(clone_place.opened(place, snapshots.mountpoint)) for place in opened)
        counts = [clone_tree.count(tree, threads, lambda tally: writer(tally.entries)) for tree in (source, current)]
        # one clone is what the share becomes, the other one keeps what it was
        both = Tally(entries=sum(tally.entries for tally in counts), bytes=sum(tally.bytes for tally in counts))
        snapshot_run.refuse_full(order, both, snapshots.mountpoint)
        tree = stack.enter_context(nofollow.directory(SNAPSHOT_TREE, stack.enter_context(_stage(snapshots))))
        if quota.enabled(snapshots.mountpoint):
            # that of the share counts two trees until the end, and would be full
            links.set_project(tree, BOUND + share.project)
        writer.begin("clone", counts[0].entries)
        tally = TreeClone(source, tree, links.share).run(threads, lambda tally: writer(tally.entries))
        if tally.changed:
            raise Failed(f"{order.share}@{rollback} was removed while it was cloned: nothing was changed")
        # who may open the share is decided by its settings of now
        clone_tree.dress(current, tree)
        inode = os.fstat(tree).st_ino
    journal = RollbackJournal(order=order, project=share.project, type=share.type, inode=inode)
    write_model(snapshots.rollback / JOURNAL, journal, 0o600)
    return journal


def _exchange(journal: RollbackJournal, snapshots: SnapshotStore, server: ShareServer) -> None:
    """Put the clone in the place of the share. Refused: a job has begun with the share, or its settings changed."""
    order = journal.order
    top = paths.ROOT / snapshots.mountpoint.lstrip("/")
    with no_start(JOB.kind.title), store.config_lock():
        if obstacle := snapshot_rollback.busy(order.share, server.run):
            raise Refused(obstacle)
        snapshot_rollback.allowed(store.load(), order.share, str(order.rollback), snapshots)
        if quota.enabled(snapshots.mountpoint):
            # what is counted is another tree: a power cut has the boot count it
            quota.forget(order.share, server.pool)
            for served in _served(journal, server):
                # what clients write before it is counted is bounded, too
                _attempt(partial(quota.bound, BOUND + served.project, served, snapshots.mountpoint, server.run))
        with nofollow.directory(top) as pool, nofollow.directory(snapshots.rollback) as own:
            with nofollow.directory(order.share, pool) as share, nofollow.directory(SNAPSHOT_TREE, own) as tree:
                # whom the settings have shut out since the clone began stays out
                clone_tree.dress(share, tree)
            exchange(SNAPSHOT_TREE, own, order.share, pool)


def _finish(
    journal: RollbackJournal, snapshots: SnapshotStore, server: ShareServer, links: Reflinks, clock: ChangeClock
) -> SnapshotManifest:
    """Serve the share as it is now, and make a snapshot of what it held. Failed: it is not kept yet, and why."""
    order = journal.order
    problems: list[str] = []
    try:
        # a kill, and what nobody expected, must not have the cleanup begin again for ever
        rollback_try.begin(journal)
        if not rollback_try.is_served(journal):
            _serve(journal, snapshots, server)
            rollback_try.serve(journal)
        with nofollow.directory(snapshots.rollback / SNAPSHOT_TREE) as former:
            if quota.enabled(snapshots.mountpoint):
                project_walk.count(former, PROJECTS + journal.project, server.projects, clone_job.threads())
                problems = _count(journal, server)
                quota.release(BOUND + journal.project, snapshots.mountpoint, server.run)
            kept = snapshot_job.made(order, server)
            if kept is None:
                snapshots.remove_new(server.run)
                source = SnapshotSource(former, journal.project, journal.type)
                kept = snapshot_run.take(order, source, snapshots, server, links, clock, LEAST)
        snapshots.drop_rollback()
    except (MillraceError, OSError) as error:
        reason = describe(error)
        _note(journal.model_copy(update={"error": reason, "boot": boot_id()}), snapshots, server)
        raise Failed(rollback_try.unfinished(journal, reason)) from error
    _end(order, problems)
    return kept


def _note(failed: RollbackJournal, snapshots: SnapshotStore, server: ShareServer) -> None:
    """Write why a rollback is not at its end; what was made of its snapshot goes first, as the pool may be full."""
    with suppress(MillraceError, OSError):
        snapshots.remove_new(server.run)
    # the error itself is what is reported
    with suppress(OSError):
        write_model(snapshots.rollback / JOURNAL, failed, 0o600)


def _end(order: SnapshotOrder, problems: Sequence[str]) -> None:
    """Report what keeps the limits of the share from being in force, also in the record of its job."""
    for problem in problems:
        _say(problem)
    ordered, job_record = snapshot_job.ORDER.get(), record.load(JOB.kind.name)
    is_its_job = ordered is not None and ordered.id == order.id
    if problems and is_its_job and job_record is not None and job_record.state == "running":
        record.end(job_record, "done", "; ".join(problems))


def _serve(journal: RollbackJournal, snapshots: SnapshotStore, server: ShareServer) -> None:
    share = _share(journal)
    if share is None:
        return
    for served in _served(journal, server):
        # a snapshot has no homes of users who came later
        _attempt(partial(directories.create, served))
    reopen(share, server.run)
    if share.child_size and quota.enabled(snapshots.mountpoint):
        restart_child_quota(server.run)


def _count(journal: RollbackJournal, server: ShareServer) -> list[str]:
    """Count the files of the share to its project, and set its limits; return what XFS did not accept, in words.

    The next rendering of the shares tries that again.
    """
    shares = _served(journal, server)
    return server.count(shares, {share.name for share in shares}) if shares else []


def _served(journal: RollbackJournal, server: ShareServer) -> list[Share]:
    """Return the share as it is served; an empty list where it was removed meanwhile."""
    share = _share(journal)
    return [] if share is None else [each for each in server.shares(store.load()) if each.name == share.name]


def _attempt(do: Callable[[], object]) -> None:
    """Do what a rollback goes on without; its error is a line in the journal of the unit."""
    try:
        do()
    except (MillraceError, OSError) as error:
        _say(describe(error))


def _share(journal: RollbackJournal) -> DesiredShare | None:
    """Return the share; None where it was removed meanwhile, also where another one has its name."""
    share = store.load().share(journal.order.share)
    return share if share is not None and share.project == journal.project else None


def _stage(snapshots: SnapshotStore) -> AbstractContextManager[int]:
    """Open the empty directory of the rollback."""
    for directory in (snapshots.top, snapshots.rollback, snapshots.rollback / SNAPSHOT_TREE):
        directory.mkdir(mode=0o700, exist_ok=True)
    return nofollow.directory(snapshots.rollback)


def _say(sentence: str) -> None:
    """Write a sentence to the journal of the unit."""
    print(f"millrace: {one_line(sentence)}", file=sys.stderr, flush=True)
