# SPDX-License-Identifier: Apache-2.0
"""What a schedule will cost and whether it can hold, and the change that sets it."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from millrace.plan.policy import policy_in_force
from millrace.protect.snapshot import snapshot_counts, snapshot_job, snapshot_retention
from millrace.protect.snapshot.kept_removals import RemovalClock
from millrace.protect.snapshot.retention_model import TighterSchedule
from millrace.protect.snapshot.snapshot_model import SnapshotManifest, kind_of
from millrace.protect.snapshot.snapshot_run import LARGEST
from millrace.protect.snapshot.snapshot_schedule import KINDS, PERIODS, shortest
from millrace.protect.snapshot.snapshot_schedule_model import ScheduleChange, SchedulePlan
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.protect.snapshot.snapshot_thin import inodes, room
from millrace.serve.clone import clone_job, clone_place, clone_tree
from millrace.serve.clone.clone_model import USUAL_RATE, rate
from millrace.serve.clone.clone_place import ClonePlace
from millrace.serve.clone.clone_space import needed
from millrace.serve.clone.clone_tree import Tally
from millrace.serve.config import store
from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.serve.share import quota
from millrace.serve.share.server import ShareServer
from millrace.system import ages
from millrace.system.command import command
from millrace.system.documents import checked
from millrace.system.errors import BadInput, MillraceError, Refused
from millrace.system.text import duration, size
from millrace.system.users import invoking_user, only_root

UPKEEP = "millrace-cleanup@schedule.service"


def set_schedule(
    share: str, settings: Mapping[str, Any], is_off: bool, dry_run: bool, server: Callable[[], ShareServer]
) -> ScheduleChange:
    """Set the schedule of a share, or end it; the first snapshot is made at once.

    `settings` are the keys of a schedule that change. BadInput: there is none, or they contradict each other. Refused:
    there is no such share, or such a schedule cannot hold.
    """
    only_root()
    before = snapshot_job.present(store.load(), share)
    wanted = _wanted(before, settings, is_off)
    host = server()
    planned = None if wanted is None else plan(before, wanted, host)
    if planned is not None and planned.obstacle and not dry_run:
        raise Refused(planned.obstacle)
    tighter = None
    if not dry_run:
        what = f"snapshot schedule {share}: {wanted.words if wanted is not None else 'none'}"
        # first as it is: an earlier release recorded nothing
        _note(host)
        store.change(invoking_user(), what, lambda config: _with(config, share, wanted))
        tighter = _note(host, before)
        # what is due is made now; else the timer would do so within a quarter of an hour
        host.run(["systemctl", "start", "--no-block", UPKEEP])
    return ScheduleChange(share=share, schedule=wanted, plan=planned, tighter=tighter)


def _note(server: ShareServer, share: DesiredShare | None = None) -> TighterSchedule | None:
    mountpoint = server.pool.filesystem.mountpoint
    # the upkeep does so as well, and removes nothing before that
    with suppress(MillraceError, OSError):
        record = snapshot_retention.note(store.load(), mountpoint, RemovalClock())
        snapshot_counts.write(mountpoint)
        retention = None if share is None else record.retention(share.name, share.project)
        return None if retention is None else retention.tighter
    return None


def plan(share: DesiredShare, schedule: SnapshotSchedule, server: ShareServer) -> SchedulePlan:
    """Return what a schedule of a share will cost. Failed: the share cannot be counted. OSError: the pool fails."""
    snapshots = SnapshotStore(server.pool.filesystem.mountpoint)
    counted = _counted(share, server)
    manifests = [row.manifest for row in snapshots.rows(store.load(), share.name) if row.manifest and not row.former]
    speed = _rate(manifests[-1] if manifests else None)
    made = sum(kind_of(manifest.name) in KINDS for manifest in manifests)
    floor = policy_in_force.in_force().snapshots.free
    metadata, kept = needed(counted), sum(schedule.kept.values())
    planned = SchedulePlan(
        share=share.name,
        schedule=schedule,
        entries=counted.entries,
        seconds=round(counted.entries / (speed or USUAL_RATE)),
        measured=speed is not None,
        metadata=metadata,
        kept=kept,
        held=metadata * kept,
        free=max(room(floor, snapshots.mountpoint), 0),
        floor=floor,
        obstacle=None,
    )
    left = inodes(floor, snapshots.mountpoint)
    return planned.model_copy(update={"obstacle": _obstacle(planned, schedule, max(kept - made, 1), left)})


def _obstacle(planned: SchedulePlan, schedule: SnapshotSchedule, added: int, left: int | None) -> str | None:
    """Why a schedule that adds so many snapshots cannot hold; `left` are the free inodes above the floor."""
    kind = shortest(schedule)
    if planned.seconds >= PERIODS[kind].total_seconds():
        return (
            f"a snapshot of {planned.share} takes about {duration(planned.seconds)}, longer than the period of {kind} "
            f"ones: set --{kind} 0 and keep those of a longer period"
        )
    if planned.entries > LARGEST and not schedule.large:
        return (
            f"share {planned.share} has {planned.entries} files and directories, and each snapshot takes an inode for "
            f"each, about {size(planned.metadata)} of the pool; add --large to set this schedule"
        )
    if added * planned.metadata > planned.free:
        return (
            f"{planned.kept} snapshots of {planned.share} take {size(planned.held)} for the metadata of their files, "
            f"and the pool has {size(planned.free)} above the {planned.floor} % that stay free (policy: "
            "snapshots.free): keep fewer snapshots"
        )
    if left is not None and added * planned.entries > left:
        return (
            f"{planned.kept} snapshots of {planned.share} take {planned.kept * planned.entries} inodes, and the pool "
            f"has {max(left, 0)} above the {planned.floor} % that stay free (policy: snapshots.free): keep fewer "
            "snapshots"
        )
    return None


def _wanted(before: DesiredShare, settings: Mapping[str, Any], is_off: bool) -> SnapshotSchedule | None:
    if is_off and settings:
        raise BadInput("--off ends the schedule: leave the other options out")
    if is_off:
        if before.snapshots is None:
            raise Refused(f"share {before.name} has no schedule of snapshots: nothing was changed")
        return None
    if not settings:
        example = command("millrace snapshot schedule", before.name, options=["--hourly 24 --daily 7"])
        raise BadInput(f"nothing to change for {before.name}: say how many snapshots are kept, such as {example}")
    old = before.snapshots.model_dump() if before.snapshots is not None else {}
    merged = {**old, **settings}
    if not any(merged.get(kind) for kind in KINDS):
        ended = command("millrace snapshot schedule", before.name, options=["--off"])
        raise BadInput(f"this schedule would keep no snapshot of {before.name}: {ended} ends it")
    return checked(lambda: SnapshotSchedule.model_validate(merged))


def _with(config: Config, share: str, wanted: SnapshotSchedule | None) -> Config:
    after = snapshot_job.present(config, share).model_copy(update={"snapshots": wanted})
    return config.model_copy(update={"shares": [after if each.name == share else each for each in config.shares]})


def _counted(share: DesiredShare, server: ShareServer) -> Tally:
    """What the share holds: as XFS counts it, else by a walk."""
    mountpoint = server.pool.filesystem.mountpoint
    if quota.enabled(mountpoint):
        used = quota.usage(mountpoint, server.run).get(share.project, 0)
        return Tally(entries=quota.inodes_used(share.project, mountpoint, server.run), bytes=used)
    with clone_place.opened(ClonePlace(share.name, ()), mountpoint) as top:
        return clone_tree.count(top, clone_job.threads(), lambda _: None)


def _rate(manifest: SnapshotManifest | None) -> float | None:
    """Files and directories a second of the last snapshot of the share, else of the last clone; None is not known."""
    if manifest is not None:
        seconds = ages.until(manifest.last, manifest.first).total_seconds()
        if seconds >= 1 and manifest.entries >= USUAL_RATE:
            return manifest.entries / seconds
    return rate()
