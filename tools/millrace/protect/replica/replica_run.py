# SPDX-License-Identifier: Apache-2.0
"""What millrace-reflink@replica.service does: build the newest snapshot of the source here, and keep it."""

import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime

from millrace.plan.policy import policy_in_force
from millrace.protect.replica import replica_drill, replica_failures, replica_source, replica_stage
from millrace.protect.replica.file_list import FILE_LIST, FileListHeader
from millrace.protect.replica.replica_failures import AGAIN, of_records, of_source
from millrace.protect.replica.replica_job import JOB, ORDER, ReplicaWriter, source_of
from millrace.protect.replica.replica_model import (
    STATES,
    DrillReport,
    ReplicaOrder,
    ReplicaReport,
    ReplicaState,
    ReplicaStates,
)
from millrace.protect.replica.replica_source import OfferedSnapshot
from millrace.protect.replica.replica_stage import PARTS, ReplicaStage, entries_of
from millrace.protect.replica.tree_build import Built, ChangedList, DamagedSource, DifferentContent, TreeBuild
from millrace.protect.snapshot import snapshot_counts, snapshot_remove
from millrace.protect.snapshot.snapshot_model import SnapshotKind, kind_of
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.clone.clone_job import Reflinks
from millrace.serve.config import store
from millrace.serve.config.model import DesiredShare
from millrace.serve.config.replica import ReplicaSource
from millrace.serve.share import kept_snapshots
from millrace.serve.share.kept_snapshots import SNAPSHOT_TREE
from millrace.serve.share.server import ShareServer
from millrace.system.errors import BadInput, Failed, MillraceError, Refused
from millrace.system.files import describe
from millrace.system.text import one_line
from millrace.system.trees import nofollow

MARGIN = 2
"""By so many percent a run ends above the floor of free space (policy: snapshots.free), below which scheduled snapshots
of all shares are removed: a source that suddenly has other content takes none from them."""

_IN_JOURNAL = f"(the journal has the name: journalctl -u {JOB.unit}); {AGAIN}"
LONGEST_KEPT: tuple[SnapshotKind, ...] = ("monthly", "weekly", "daily", "manual")
"""Kinds of snapshots that a source keeps for long, the longest first; of `manual` ones nobody knows."""


def execute(server: ShareServer, links: Reflinks) -> ReplicaReport | DrillReport:
    """Carry out the order; what the unit runs. Refused, Failed: it did not end well, and no snapshot was added."""
    with JOB.execution():
        order = ORDER.read()
        source = source_of(store.load(), order.share)
        state = _states().of(order.share)
        if order.action == "sync":
            began = _now()
            state = state.model_copy(update={"tried_at": began, "since": state.since or began, "unfinished": order.id})
            # now: a run that is killed writes nothing more
            _write(state)
            state = state.model_copy(update={"unfinished": None})
        try:
            ended = _carry_out(order, source, state, server, links)
        except (MillraceError, OSError) as error:
            replica_failures.log(error)
            sentence = replica_failures.sentence(error, source, JOB.unit)
            differs = isinstance(error, DifferentContent)
            _write(state.model_copy(update={"problem": sentence, "distrusted": state.distrusted or differs}))
            raise Failed(sentence) from error
        if isinstance(ended, DrillReport):
            changed = {"drill": ended, "distrusted": state.distrusted or ended.different > 0}
        else:
            current = _now() if ended.is_newest else state.current_at
            distrusted = state.distrusted and not ended.is_new
            changed = {"report": ended, "current_at": current, "distrusted": distrusted}
            changed |= {"newest": ended.snapshot, "moment": ended.moment}
        _write(state.model_copy(update={"problem": None, **changed}))
        return ended


def _carry_out(
    order: ReplicaOrder, source: ReplicaSource, state: ReplicaState, server: ShareServer, links: Reflinks
) -> ReplicaReport | DrillReport:
    snapshots = SnapshotStore(server.pool.filesystem.mountpoint)
    stage = ReplicaStage(snapshots, order.share)
    stage.require_own()
    with of_records():
        replica_source.trust_sources(store.load(), server.run)
    with replica_source.mounted(source, server) as at:
        if order.action == "drill":
            with _without_names():
                return replica_drill.drill(order, stage, at, links)
        try:
            return sync(order, source, stage, at, server, links, state.distrusted)
        except DifferentContent as error:
            stage.clear(server.run)
            raise DifferentContent(f"{error}: the next run reads all files again") from error


def sync(
    order: ReplicaOrder,
    source: ReplicaSource,
    stage: ReplicaStage,
    at: int,
    server: ShareServer,
    links: Reflinks,
    distrusted: bool = False,
) -> ReplicaReport:
    """Bring a replica up to date from the open directory of the snapshots of its source.

    `distrusted`: what is here differed from the source, so all is read.

    Refused: the source has none yet, or the pool too little room. Failed, DifferentContent, BadInput, OSError: it is
    not complete.
    """
    began = time.monotonic()
    share = store.load().share(order.share)
    assert share is not None
    with of_source():
        newest = replica_source.newest(at, source)
        offers = replica_source.offered(at)
    held = replica_stage.replicated(stage.snapshots, order.share)
    offer = _chosen(offers, newest, stage, is_first=not held)
    known = held.get(offer.name)
    if known is not None and known.id != offer.manifest.id:
        raise Failed(
            f"snapshot {offer.name} of {source.place} is another one than the snapshot of that name here: the source "
            "was made again, or is another server; nothing was changed"
        )
    done = Built()
    if known is None:
        if stage.snapshots.place(order.share, offer.name).exists():
            raise Failed(f"{order.share}@{offer.name} is a snapshot of this server: nothing was changed")
        done = _build(order, offer, stage, at, share, server, links, distrusted)
    removed = _thin(source, stage, server)
    snapshot_counts.write(stage.snapshots.mountpoint)
    return ReplicaReport(
        id=order.id,
        share=order.share,
        source=source.place,
        snapshot=offer.name,
        moment=offer.moment,
        at=_now(),
        is_new=known is None,
        is_newest=offer.name == newest.name,
        entries=done.entries,
        shared=done.shared,
        changed=done.changed,
        fetched=done.fetched,
        verified=done.verified,
        seconds=round(time.monotonic() - began),
        removed=removed,
        unread=done.unread if known is None else known.unread_count,
    )


def _chosen(
    offers: list[OfferedSnapshot], newest: OfferedSnapshot, stage: ReplicaStage, is_first: bool
) -> OfferedSnapshot:
    """A snapshot that is half built and that the source still has is built to its end first.

    The first one, of which all is read, may take days: it is the newest of those that the source keeps for long.
    """
    for offer in reversed(offers):
        begun = stage.manifest(offer.name) if offer.name in stage.begun() else None
        if begun is not None and begun.id == offer.manifest.id:
            return offer
    for kind in LONGEST_KEPT if is_first else ():
        if lasting := [offer for offer in offers if kind_of(offer.name) == kind]:
            return lasting[-1]
    return newest


def _build(
    order: ReplicaOrder,
    offer: OfferedSnapshot,
    stage: ReplicaStage,
    at: int,
    share: DesiredShare,
    server: ShareServer,
    links: Reflinks,
    distrusted: bool,
) -> Built:
    writer = ReplicaWriter(order.share, offer.name, offer.manifest.entries)
    least = policy_in_force.in_force().snapshots.free + MARGIN
    begun, former = stage.manifest(offer.name), stage.fullest(offer.name)
    is_ours = begun is not None and begun.id == offer.manifest.id
    stage.clear(server.run, {former, offer.name if is_ours else None})
    _require_room(stage.snapshots.mountpoint, least, offer.manifest.entries)

    def tick(done: Built) -> None:
        with of_records():
            is_due = writer(done)
        if is_due:
            _require_room(stage.snapshots.mountpoint, least)

    with ExitStack() as stack:
        directory, tree = stack.enter_context(replica_source.opened(at, offer.name))
        place = stage.begin(offer, directory, share, links)
        try:
            with replica_stage.listing(place) as listed:
                header = listed.header
            _require_same(header, offer)
        except BadInput:
            (place / FILE_LIST).unlink(missing_ok=True)
            raise
        live = {(each.name, each.id) for each in header.live}
        based = [] if distrusted else replica_stage.bases(stage, former, live, stack)
        target = stack.enter_context(nofollow.directory(place / SNAPSHOT_TREE))
        parts = stack.enter_context(nofollow.directory(place / PARTS))
        build = TreeBuild(tree, target, parts, based, tick, links.share, random.SystemRandom())
        try:
            with _without_names():
                done = build.run(entries_of(place), order.full)
        except (BadInput, ChangedList):
            # a damaged copy of the list would end each run: the next one copies it again
            (place / FILE_LIST).unlink(missing_ok=True)
            raise
    mine = {
        "share": order.share,
        "project": share.project,
        "by": f"replica of {offer.manifest.share}",
        "unread_count": done.unread,
        "unread": done.unread_names,
    }
    stage.publish(offer.name, offer.manifest.model_copy(update=mine))
    return done


@contextmanager
def _without_names() -> Iterator[None]:
    """Leave names that clients chose to the journal: everybody who sees this server reads why a run ended."""
    try:
        yield
    except (DifferentContent, DamagedSource, ChangedList, Refused, BadInput, OSError):
        # sentences without any; the journal gets the name of an OSError where the run ends
        raise
    except MillraceError as error:
        print(one_line(describe(error)), file=sys.stderr, flush=True)
        if isinstance(error.__cause__, OSError):
            raise error.__cause__ from error
        raise Failed(f"a file or directory cannot be read or written {_IN_JOURNAL}") from error


def _require_same(header: FileListHeader, offer: OfferedSnapshot) -> None:
    if (header.id, header.name) != (offer.manifest.id, offer.name):
        raise BadInput(f"the list of files of snapshot {offer.name} of the source is that of another snapshot")


def _require_room(mountpoint: str, least: int, entries: int = 0) -> None:
    """Refused: less than `least` percent of the pool, or of its inodes, is free, or would be with so many entries."""
    pool = os.statvfs(kept_snapshots.top(mountpoint).parent)
    blocks, inodes = pool.f_bavail * 100 < pool.f_blocks * least, (pool.f_favail - entries) * 100 < pool.f_files * least
    if blocks or inodes:
        what = "the pool" if blocks else "the inodes of the pool"
        raise Refused(
            f"less than {least} % of {what} of this server would be free, {MARGIN} more than policy snapshots.free: "
            f"remove files, or {snapshot_remove.remedy()}; {AGAIN}"
        )


def _thin(source: ReplicaSource, stage: ReplicaStage, server: ShareServer) -> list[str]:
    """Remove ended builds, and the oldest snapshots of the source beyond those that are kept; a locked one stays."""
    if stage.begun():
        stage.clear(server.run)
    removed = []
    for name in list(replica_stage.replicated(stage.snapshots, stage.share))[: -source.keep]:
        with suppress(Refused):
            snapshot_remove.remove(f"{stage.share}@{name}", server)
            removed.append(name)
    return removed


def _states() -> ReplicaStates:
    return STATES.get() or ReplicaStates()


def _write(state: ReplicaState) -> None:
    STATES.write(_states().with_state(state), 0o644)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
