# SPDX-License-Identifier: Apache-2.0
"""A share is to become what a snapshot of it is: what allows that, the order, and its end."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

from millrace.protect.snapshot import snapshot_job
from millrace.protect.snapshot.rollback_model import RollbackForecast, RollbackLine, SnapshotRollback
from millrace.protect.snapshot.snapshot_job import JOB, ORDER, PROGRESS
from millrace.protect.snapshot.snapshot_model import SnapshotManifest, SnapshotOrder
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.clone import clone_job, clone_place, copy_job
from millrace.serve.config import store
from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.permissions import permissions_job
from millrace.serve.share import quota
from millrace.serve.share.server import ShareServer
from millrace.system.command import command
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Runner
from millrace.system.text import shown, size
from millrace.system.users import invoking_user, only_root


def forecast(text: str, server: ShareServer) -> RollbackForecast:
    """Return what the rollback of a share to a snapshot does to it. BadInput, Refused: it cannot be done."""
    only_root()
    snapshots = SnapshotStore(server.pool.filesystem.mountpoint)
    place = snapshots.known(text)
    if place.path:
        raise BadInput(f"{place} is a part of a snapshot: put it back with {command('millrace snapshot get', text)}")
    share, manifest = allowed(store.load(), place.share, str(place.snapshot), snapshots)
    if obstacle := busy(share.name, server.run):
        raise Refused(obstacle)
    return RollbackForecast(
        share=share.name,
        snapshot=manifest.name,
        entries=manifest.entries,
        bytes=manifest.bytes,
        moment=manifest.moment,
        nfs=share.nfs.enabled,
        smb=share.smb.enabled,
    )


def confirm(share: str, again: str) -> None:
    """Verify that the name of the share was repeated. BadInput: it was not."""
    if again.strip() != share:
        raise BadInput(f"the name of the share was repeated as {shown(again)}, not {share}: nothing was changed")


def prepare(wanted: RollbackForecast, server: ShareServer) -> SnapshotOrder:
    """Return the order of a rollback. Refused: a snapshot has the name of the one to come."""
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-before-rollback"
    if SnapshotStore(server.pool.filesystem.mountpoint).place(wanted.share, name).exists():
        raise Refused(f"{wanted.share} has a snapshot of this second: {wanted.share}@{name}")
    return SnapshotOrder(
        id=uuid.uuid4().hex,
        share=wanted.share,
        name=name,
        # both trees are counted, and a rollback is asked for by name
        large=True,
        by=invoking_user(),
        rollback=wanted.snapshot,
    )


def start(order: SnapshotOrder, server: ShareServer) -> None:
    """Start the unit. Refused: another job keeps it from that. Failed: it does not start."""
    with JOB.starting(server.run, f"share {order.share} back to {order.rollback}", order.by):
        ORDER.write(order)


def follow(order: SnapshotOrder, server: ShareServer) -> Iterator[RollbackLine]:
    """Yield the progress until the unit has ended, then how it ended. Failed: it failed, and why."""
    yield from JOB.follow(PROGRESS.get, server.run, server.pause)
    kept = snapshot_job.made(order, server)
    if kept is None:
        last = JOB.last(server.run)
        reason = last.reason if last is not None and last.reason else JOB.last_line(server.run)
        raise Failed(f"the rollback of {order.share} did not end well: {reason}")
    yield SnapshotRollback(share=order.share, snapshot=str(order.rollback), kept=kept.name)


def problem(server: ShareServer) -> str | None:
    """Return what the limits of the share are not, where the last rollback ended well but for that; None otherwise."""
    last = JOB.last(server.run)
    return last.reason if last is not None and last.state == "done" else None


def allowed(
    config: Config, name: str, snapshot: str, snapshots: SnapshotStore
) -> tuple[DesiredShare, SnapshotManifest]:
    """Return the share, and what the snapshot is that it may become.

    Refused: the share is sealed, too small or another one than that of the snapshot, or there is none of them.
    """
    share = snapshot_job.present(config, name)
    row = snapshots.row(config, name, snapshot)
    manifest = row.manifest
    put_back = f"restore what is needed with {command('millrace snapshot get', f'{name}@{snapshot}/PATH')}"
    if manifest is None:
        raise Refused(f"{name}@{snapshot} has no manifest that can be read, so its share is not known: {put_back}")
    if row.former:
        raise Refused(f"{name}@{snapshot} is of a former share: {put_back}")
    if share.sealed:
        raise Refused(f"share {name} is sealed: unseal it first: {command('millrace share unseal', name)}")
    if manifest.type is not None and (manifest.type == "home") != (share.type == "home"):
        raise Refused(f"share {name} has the type {share.type}, and had {manifest.type} in {snapshot}: {put_back}")
    if share.size is not None and manifest.bytes > share.size:
        raise Refused(
            f"{name}@{snapshot} holds {size(manifest.bytes)}, and the limit of the share is {size(share.size)}: raise "
            f"it with {command('millrace share set', name)} --size"
        )
    if quota.enabled(snapshots.mountpoint) and 0 < _most_files(share) < manifest.entries:
        raise Refused(
            f"{name}@{snapshot} has {manifest.entries} files and directories, and the limit of the share is "
            f"{_most_files(share)}: raise it with {command('millrace share set', name)} --size"
        )
    return share, manifest


def busy(share: str, run: Runner) -> str | None:
    """Return which job reads or writes a share now, in a sentence with what to do; None where none does."""
    clone, copy, permissions = clone_job.ORDER.get(), copy_job.ORDER.get(), permissions_job.ORDER.get()
    if clone is not None and clone_job.JOB.runs(run):
        source, target = clone_place.parse(clone.source), clone_place.parse(clone.target)
        # what is cloned from a snapshot does not change
        if share == target.share or (source.snapshot is None and share == source.share):
            return f"share {share} takes part in a clone; wait for it: millrace share clone-status"
    if copy is not None and clone_place.parse(copy.target).share == share and copy_job.JOB.runs(run):
        return f"files are being copied to share {share}; wait for that: millrace job show copy"
    if permissions is not None and permissions.share == share and permissions_job.JOB.runs(run):
        return f"the permissions of share {share} are being set; wait for that: millrace job show permissions"
    return None


def _most_files(share: DesiredShare) -> int:
    return quota.inodes_of(share.size or share.soft_size)
