# SPDX-License-Identifier: Apache-2.0
"""A snapshot is removed: its name at once, its blocks by the cleanup."""

from millrace.protect.snapshot import snapshot_job
from millrace.protect.snapshot.snapshot_model import SnapshotRemoval
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.clone import clone_job, clone_place
from millrace.serve.share.server import ShareServer
from millrace.system.errors import BadInput, Refused
from millrace.system.users import only_root

CLEANUP = "millrace-cleanup@snapshot.service"


def remove(text: str, server: ShareServer) -> SnapshotRemoval:
    """Remove a snapshot. BadInput: `text` names none. Refused: there is none, or a clone of it is under way."""
    only_root()
    snapshots = SnapshotStore(server.pool.filesystem.mountpoint)
    place = snapshots.known(text)
    if place.path:
        raise BadInput(f"{place} is a part of a snapshot: only a whole one is removed")
    order = clone_job.ORDER.get()
    if order is not None and clone_job.JOB.runs(server.run):
        cloned = clone_place.parse(order.source)
        if (cloned.share, cloned.snapshot) == (place.share, place.snapshot):
            raise Refused(f"a clone of {place} is under way; wait for it: millrace share clone-status")
    rollback = snapshot_job.ORDER.get()
    goal = None if rollback is None else (rollback.share, rollback.rollback)
    if goal == (place.share, place.snapshot) and snapshot_job.JOB.runs(server.run):
        raise Refused(f"share {place.share} is being rolled back to it; wait for that: millrace job show snapshot")
    assert place.snapshot is not None
    snapshots.set_aside(place.share, place.snapshot)
    # where one is under way already it finds this one, too; else the next boot does
    server.run(["systemctl", "start", "--no-block", CLEANUP])
    return SnapshotRemoval(share=place.share, name=place.snapshot)
