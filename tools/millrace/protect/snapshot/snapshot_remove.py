# SPDX-License-Identifier: Apache-2.0
"""A snapshot is removed: its name at once, its blocks by the cleanup. A locked snapshot stays.

A removal that a user orders waits for the time of the policy: health reports it meanwhile, and it can be cancelled.
Removals by a schedule or by the floor of free space do not wait, unless these were changed (`snapshot_retention`).
"""

from datetime import datetime, timedelta

from millrace.plan.policy import policy_in_force
from millrace.protect.snapshot import kept_removals, snapshot_counts, snapshot_job, snapshot_retention
from millrace.protect.snapshot.kept_removals import RemovalClock, RemovalRecord
from millrace.protect.snapshot.snapshot_model import OrderedRemoval, SnapshotKept, SnapshotLocked, SnapshotRemoval
from millrace.protect.snapshot.snapshot_schedule import stamp
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.clone import clone_job, clone_place
from millrace.serve.config import store
from millrace.serve.share.kept_snapshots import LONGEST, SnapshotLock
from millrace.serve.share.server import ShareServer
from millrace.system import ages
from millrace.system.command import command
from millrace.system.errors import BadInput, MillraceError, Refused
from millrace.system.files import describe
from millrace.system.run import Runner
from millrace.system.text import moment, one_line, shown
from millrace.system.users import invoking_user, only_root

UNSYNCHRONISED = "the clock is not synchronised yet: timedatectl timesync-status"
CLEANUP = "millrace-cleanup@snapshot.service"


def remove(text: str, server: ShareServer) -> None:
    """Remove a snapshot at once, as a schedule does.

    BadInput: `text` names none. Refused: there is none, it is locked, or a clone of it is under way.
    """
    only_root()
    snapshots, clock = _store(server), RemovalClock()
    share, name = _whole(text, snapshots)
    with kept_removals.alone():
        _remove(share, name, kept_removals.read(snapshots.mountpoint, clock), server, clock)


def order(text: str, hours: int | None, server: ShareServer, clock: RemovalClock | None = None) -> SnapshotRemoval:
    """Order the removal of a snapshot, in so many hours; without, in those of the policy.

    BadInput: `text` names none, or `hours` are less than those of the policy. Refused: there is none, it is locked, or
    its removal is ordered already. OSError: the pool fails.
    """
    only_root()
    snapshots, clock = _store(server), clock or RemovalClock()
    share, name = _whole(text, snapshots)
    least = policy_in_force.in_force().snapshots.removal_delay
    if hours is not None and hours < least:
        raise BadInput(f"a removal takes {least} hours or more (policy: snapshots.removal_delay): nothing was changed")
    seconds, now, by = (hours or least) * 3600, clock.now(), invoking_user()
    due = stamp(now + timedelta(seconds=seconds))
    with kept_removals.alone():
        record = kept_removals.read(snapshots.mountpoint, clock)
        _refuse_locked(share, name, record, now)
        if (before := record.removal(share, name)) is not None:
            raise Refused(
                f"{share}@{name} will be removed at {moment(before.due)}: {one_line(before.by)} ordered it; to keep "
                f"it: {command('millrace snapshot keep', text)}"
            )
        ordered = OrderedRemoval(share=share, name=name, by=by, at=stamp(now), left=seconds, due=due)
        removals = [*record.removals, ordered]
        kept_removals.write(snapshots.mountpoint, record.model_copy(update={"removals": removals}))
    # health reports it from these
    snapshot_counts.write(snapshots.mountpoint)
    return SnapshotRemoval(share=share, name=name, by=by, due=due, left=seconds)


def keep(text: str, server: ShareServer, clock: RemovalClock | None = None) -> SnapshotKept:
    """Cancel the removal of a snapshot, also on a full pool. BadInput, Refused: there is none, or none is ordered.

    OSError: the snapshots cannot be listed.
    """
    only_root()
    snapshots = _store(server)
    share, name = _whole(text, snapshots)
    with kept_removals.alone():
        record = kept_removals.read(snapshots.mountpoint, clock or RemovalClock())
        ordered = record.removal(share, name)
        if ordered is None:
            raise Refused(f"nobody has ordered the removal of {share}@{name}: nothing was changed")
        kept_removals.cancel(snapshots.mountpoint, ordered, record)
    snapshot_counts.write(snapshots.mountpoint)
    return SnapshotKept(share=share, name=name, by=ordered.by)


def lock(text: str, until: str, server: ShareServer, clock: RemovalClock | None = None) -> SnapshotLocked:
    """Lock a snapshot until a date, or for longer than before; an ordered removal is cancelled.

    BadInput: `until` is no date to come. Refused: there is no such snapshot, it is locked for longer, or the clock is
    not synchronised yet: one that is behind makes a lock of years. OSError: the pool fails.
    """
    only_root()
    snapshots, clock = _store(server), clock or RemovalClock()
    share, name = _whole(text, snapshots)
    if is_unsynchronised(server.run):
        raise Refused(
            f"{UNSYNCHRONISED}; a lock waits until it is, as nobody can end one; without a time server, set the clock "
            "by hand: timedatectl set-ntp false; timedatectl set-time 'YYYY-MM-DD hh:mm:ss'"
        )
    at, now = _date(until), clock.now()
    span = at - now
    if span <= timedelta():
        raise BadInput(f"{moment(stamp(at))} is over: lock it until a later date")
    if span > LONGEST:
        raise BadInput(
            f"a lock is for {LONGEST.days} days at most, as nobody can end it: lock it until an earlier date"
        )
    with kept_removals.alone():
        record = kept_removals.read(snapshots.mountpoint, clock)
        before = record.lock(share, name)
        if before is not None and ages.when(before.until) >= at:
            raise Refused(f"{share}@{name} is locked until {moment(before.end(now))} already: a lock only gets longer")
        left = max(int(span.total_seconds()) + 1, before.left if before is not None else 0)
        made = SnapshotLock(share=share, name=name, by=invoking_user(), at=stamp(now), until=stamp(at), left=left)
        locks = [*(each for each in record.locks if each is not before), made]
        after = record.without(share, name).model_copy(update={"locks": locks})
        kept_removals.write(snapshots.mountpoint, after)
    snapshot_counts.write(snapshots.mountpoint)
    cancelled = record.removal(share, name) is not None
    return SnapshotLocked(share=share, name=name, until=made.end(now), cancelled=cancelled)


def carry_out(server: ShareServer, clock: RemovalClock) -> list[str]:
    """Count down what is ordered and locked, and remove what is due; return what was done, in words.

    Refused: the record cannot be read. OSError: the pool fails.
    """
    snapshots, done = _store(server), list[str]()
    with kept_removals.alone():
        record = kept_removals.read(snapshots.mountpoint, clock)
        record = snapshot_retention.followed(record, store.load(), snapshots.mountpoint, clock)
        for each in [each for each in record.removals if not each.left]:
            try:
                _remove(each.share, each.name, record, server, clock)
            except (MillraceError, OSError) as error:
                # it is being read, or the pool fails, and it stays due
                done.append(f"{each.share}@{each.name} is not removed yet: {describe(error)}")
                continue
            record = record.without(each.share, each.name)
            done.append(f"{each.share}@{each.name} is removed, as {one_line(each.by)} ordered {moment(each.at)}")
        kept_removals.write(snapshots.mountpoint, record)
    return done


def is_unsynchronised(run: Runner) -> bool:
    """Whether a time client is on and has not synchronised the clock yet; without one it is the administrator's."""
    said = run(["timedatectl", "show", "--property=NTP", "--property=NTPSynchronized"])
    return said.status == 0 and {"NTP=yes", "NTPSynchronized=no"} <= set(said.out.split())


def remedy() -> str:
    """Return how removed snapshots make room, as the end of a sentence: an ordered removal waits."""
    hours = policy_in_force.in_force().snapshots.removal_delay
    wait = "an hour" if hours == 1 else f"{hours} hours"
    return (
        f"older snapshots (millrace snapshot list), whose removal waits for {wait}; to order it for a shorter time: "
        "millrace policy set snapshots.removal_delay=HOURS"
    )


def _remove(share: str, name: str, record: RemovalRecord, server: ShareServer, clock: RemovalClock) -> None:
    """Take a snapshot from its place. Refused: it is locked, or is being read. OSError, Failed: the pool fails."""
    _refuse_locked(share, name, record, clock.now())
    order = clone_job.ORDER.get()
    if order is not None and clone_job.JOB.runs(server.run):
        cloned = clone_place.parse(order.source)
        if (cloned.share, cloned.snapshot) == (share, name):
            raise Refused(f"a clone of {share}@{name} is under way; wait for it: millrace share clone-status")
    rollback = snapshot_job.ORDER.get()
    goal = None if rollback is None else (rollback.share, rollback.rollback)
    if goal == (share, name) and snapshot_job.JOB.runs(server.run):
        raise Refused(f"share {share} is being rolled back to it; wait for that: millrace job show snapshot")
    _store(server).set_aside(share, name)
    # where one is under way already it finds this one, too; else the next boot does
    server.run(["systemctl", "start", "--no-block", CLEANUP])


def _refuse_locked(share: str, name: str, record: RemovalRecord, now: datetime) -> None:
    if (lock := record.lock(share, name)) is not None:
        end, by = moment(lock.end(now)), one_line(lock.by)
        raise Refused(f"{share}@{name} is locked until {end}, as {by} decided: nothing was changed")


def _whole(text: str, snapshots: SnapshotStore) -> tuple[str, str]:
    place = snapshots.known(text)
    if place.path:
        raise BadInput(f"{place} is a part of a snapshot: name a whole one")
    return place.share, str(place.snapshot)


def _date(text: str) -> datetime:
    try:
        return ages.when(text)
    except ValueError as error:
        raise BadInput(f"{shown(text)} is no date: write it like 2027-01-31, or 2027-01-31T18:00+01:00") from error


def _store(server: ShareServer) -> SnapshotStore:
    return SnapshotStore(server.pool.filesystem.mountpoint)
