# SPDX-License-Identifier: Apache-2.0
"""What millrace-reflink@backup.service does: a run, a check, a drill or a restore, and the record of how it ended."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from millrace.protect.backup import (
    backup_drill,
    backup_job,
    backup_restore,
    backup_store,
    backup_unseen,
    restic_answers,
)
from millrace.protect.backup.backup_drill import SampleDiffers
from millrace.protect.backup.backup_job import END, JOB, ORDER, BackupWriter
from millrace.protect.backup.backup_model import (
    Backup,
    BackupEnd,
    BackupMoved,
    BackupOrder,
    BackupTask,
)
from millrace.protect.backup.backup_place import REWRITTEN, TAG, BackupPlace, BackupTools, ResticFailed
from millrace.protect.backup.restic_answers import INTERRUPTED, ResticSummary
from millrace.protect.backup.restic_pattern import lines as pattern_lines
from millrace.protect.backup.restic_unit import JOB as RESTIC_JOB
from millrace.protect.backup.restic_unit import SNAPSHOT, WORK, ResticAccess
from millrace.protect.snapshot import snapshot_holds, snapshot_job, snapshot_remove
from millrace.protect.snapshot.snapshot_model import REPLICATED, SnapshotRow, kind_of
from millrace.protect.snapshot.snapshot_schedule import made_at, stamp
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.clone import clone_job, clone_place
from millrace.serve.clone.clone_place import ClonePlace
from millrace.serve.config import store
from millrace.serve.share.server import ShareServer
from millrace.system.command import command
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.files import describe, write_blocks
from millrace.system.jobs.job import SERVER
from millrace.system.text import duration, size

HOLDER = "a backup"
FRESH = timedelta(hours=1)
"""The newest snapshot is backed up where it is not older than this; else one is made."""
SUBSET = "10G"
"""So much of a repository a check reads, chosen at random; a smaller one is read whole."""

Now = Callable[[], datetime]


def now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


def execute(server: ShareServer, tools: BackupTools, clock: Now = now) -> list[str]:
    """Carry out the order; return what was done, in words.

    Refused, Failed, BadInput: it was not done, and why; the record of the backup has it too.
    """
    with JOB.execution():
        order = ORDER.read()
        backup = backup_store.known(order.backup)
        unit = JOB.unit
        place = BackupPlace(backup, server.pool.filesystem.mountpoint, tools, RESTIC_JOB, unit)
        writer = BackupWriter(order)
        try:
            words = _carry_out(place, server, writer, clock, order)
        except SystemExit:
            # else it would be due at once, and a cancellation would start it again
            backup_job.note(backup, order.task, stamp(clock()), "it was cancelled, or the server was stopped")
            raise
        except (MillraceError, OSError) as error:
            if isinstance(error, ResticFailed):
                for line in restic_answers.errors(error.result.out):
                    print(line, file=sys.stderr, flush=True)
                if error.result.status in INTERRUPTED:
                    # a cancellation ends both, and this process is about to be told
                    server.pause(5.0)
            backup_job.note(backup, order.task, stamp(clock()), describe(error), _is_damage(error))
            raise
        backup_job.note(backup, order.task, stamp(clock()), None)
        END.write(BackupEnd(id=order.id, backup=backup.name, task=order.task, words=words))
        return words


def _carry_out(
    place: BackupPlace, server: ShareServer, writer: BackupWriter, clock: Now, order: BackupOrder
) -> list[str]:
    place.prepare()
    try:
        place.require_reachable()
        return _TASKS[order.task](place, server, writer, clock, order)
    finally:
        place.clear()


def _is_damage(error: Exception) -> bool:
    return isinstance(error, SampleDiffers) or (
        isinstance(error, ResticFailed) and restic_answers.is_damage(error.result)
    )


def _run(place: BackupPlace, server: ShareServer, writer: BackupWriter, clock: Now, order: BackupOrder) -> list[str]:
    began = clock()
    writer.begin("opens the repository")
    place.make()
    unlocked = place.unlock(began)
    name = _snapshot(place, server, writer, began)
    share, is_first = place.backup.share, place.state.version is None
    with _reading(place, share, name):
        parent = _parent(place, name, writer)
        writer.begin("sends")
        ended, unread = _send(place, name, parent, writer)
    moved = BackupMoved(
        files=ended.total_files_processed,
        read=ended.files_new + ended.files_changed,
        bytes=ended.total_bytes_processed,
        sent=ended.data_added_packed,
        seconds=max(int((clock() - began).total_seconds()), 0),
        unread=unread,
    )
    known = {"snapshot": name, "version": ended.snapshot_id, "moved": moved}
    backup_store.note(place.backup, lambda state: state.model_copy(update=known))
    if is_first and place.backup.attached and place.backup.paused:
        unlocked.append(_begin(place.backup))
    if unread:
        unlocked.append(f"files that could not be read: {unread}; their names are in the journal")
    needed = bases()
    snapshot_holds.hold(HOLDER, False, needed)
    remove_made(share, [*needed, (share, name)], server)
    return [
        *unlocked,
        f"{share}@{name} is in the repository as version {ended.snapshot_id[:8]}",
        f"{moved.files} files, {size(moved.bytes)}; {moved.read} files were read, and {size(moved.sent)} were sent in "
        f"{duration(moved.seconds)}",
    ]


def _begin(backup: Backup) -> str:
    """Let the tasks of an attached backup start by themselves, after its first run; return that in words."""
    backup_store.change(backup.name, lambda known: known.model_copy(update={"paused": False}))
    return f"backup {backup.name} is not paused any more: its tasks start by themselves"


def bases() -> list[tuple[str, str]]:
    """Return the snapshots that the next runs are compared with, by share and name."""
    known = [(backup.share, backup_store.state(backup).snapshot) for backup in backup_store.load()]
    return [(share, name) for share, name in known if name is not None]


def _snapshot(place: BackupPlace, server: ShareServer, writer: BackupWriter, at: datetime) -> str:
    """Return the name of the snapshot to back up: the newest one, or one that is made."""
    share, last = place.backup.share, place.state.snapshot
    config = store.load()
    rows = [row for row in SnapshotStore(place.mountpoint).rows(config, share) if not row.former and row.manifest]
    present = config.share(share)
    is_replica = present is not None and present.replica is not None
    if is_replica:
        # the share itself is empty until its promotion
        rows = [row for row in rows if _is_replicated(row)]
    complete = [(made, row.name) for row in rows if (made := made_at(row.name, at))]
    # a restored one has the time of the one that it was
    newest = max((each for each in complete if kind_of(each[1]) != "restored"), default=None)
    if newest is not None and at - newest[0] <= FRESH and newest[1] != last:
        return newest[1]
    if is_replica:
        if newest is not None and newest[1] != last:
            return newest[1]
        status = command("millrace replica status", share)
        raise Failed(f"share {share} is a replica and has no snapshot of its source that was not sent yet: {status}")
    writer.begin("makes a snapshot")
    order = snapshot_job.prepare(share, True, server, "backup", SERVER)
    snapshot_job.start(order, server)
    for _ in snapshot_job.follow(order, server):
        pass
    # those of runs that failed: each would hold what clients remove
    remove_made(share, [*bases(), (share, order.name)], server)
    return order.name


def _is_replicated(row: SnapshotRow) -> bool:
    return row.manifest is not None and row.manifest.by.startswith(REPLICATED)


@contextmanager
def _reading(place: BackupPlace, share: str, name: str) -> Iterator[None]:
    """Keep a snapshot, and the one before, while they are read. Refused: it is gone."""
    before = place.state.snapshot
    held = [(share, name), *([(share, before)] if before is not None else [])]
    snapshot_holds.hold(HOLDER, True, held)
    try:
        SnapshotStore(place.mountpoint).known(f"{share}@{name}")
        yield
    finally:
        snapshot_holds.hold(HOLDER, True, [])


def _parent(place: BackupPlace, name: str, writer: BackupWriter) -> list[str]:
    """Return the arguments by which restic finds what did not change.

    Without the snapshot of the version before it reads all files: nothing else tells what changed and looks the same.
    """
    state, share = place.state, place.backup.share
    everything = ["--force"]
    if state.version is None or state.snapshot is None or state.snapshot == name:
        # the same name: the clock was set back, and that one is gone
        return everything
    if all(version.id != state.version for version in place.versions()):
        return everything
    writer.begin("compares snapshots")
    try:
        with (
            clone_place.opened(ClonePlace(share, (), state.snapshot), place.mountpoint) as older,
            clone_place.opened(ClonePlace(share, (), name), place.mountpoint) as newer,
        ):
            hidden = backup_unseen.unseen(older, newer, clone_job.threads(), lambda: writer(0, None, None))
    except Refused:
        return everything
    if hidden is None:
        return everything
    parent = _without(place, state.version, hidden) if hidden else state.version
    return ["--parent", parent, "--ignore-ctime", "--ignore-inode"] if parent is not None else everything


def _without(place: BackupPlace, version: str, hidden: list[tuple[str, ...]]) -> str | None:
    """Return a version without these files: restic reads what its parent does not have. None where there is none."""
    patterns = place.work / "work/again"
    write_blocks(patterns, [pattern_lines(hidden, f"{SNAPSHOT}/tree")], 0o644)
    access = ResticAccess(reads={f"{WORK}/again": patterns})
    place.must("rewrite", version, "--exclude-file", f"{WORK}/again", access=access)
    listed = place.all_versions()
    return next((each.id for each in reversed(listed) if REWRITTEN in each.tags and each.original == version), None)


def _send(place: BackupPlace, name: str, parent: list[str], writer: BackupWriter) -> tuple[ResticSummary, int]:
    """Send a snapshot; return what was sent, and how many files and directories of it could not be read."""

    def line(text: str) -> None:
        value = restic_answers.message(text)
        if value is not None and value.get("message_type") == "status":
            left = value.get("seconds_remaining")
            writer(
                int(value.get("bytes_done") or 0),
                int(value.get("total_bytes") or 0) or None,
                int(left) if isinstance(left, int) else None,
            )

    share = place.backup.share
    source: Path = SnapshotStore(place.mountpoint).place(share, name)
    tags = [TAG, f"share={share}", f"snapshot={name}", f"backup={place.backup.id}"]
    tagged = [word for tag in tags for word in ("--tag", tag)]
    # the host is a part of no decision here: the repository is that of one backup
    words = ["backup", "--host", TAG, *tagged, *parent, SNAPSHOT]
    result = place.restic(*words, access=ResticAccess(reads={SNAPSHOT: source}), line=line)
    ended = restic_answers.summary(result.out)
    is_partial = result.status == restic_answers.UNREAD
    if (result.status != 0 and not is_partial) or ended is None or not ended.snapshot_id:
        raise place.failure(result)
    if not is_partial:
        return ended, 0
    for unread in restic_answers.errors(result.out):
        print(unread, file=sys.stderr, flush=True)
    return ended, restic_answers.unread(result.out)


def remove_made(share: str, needed: list[tuple[str, str]], server: ShareServer) -> None:
    """Remove the snapshots that were made here for backups, but for those that are needed by share and name."""
    rows = SnapshotStore(server.pool.filesystem.mountpoint).rows(store.load(), share)
    for row in rows:
        if kind_of(row.name) == "backup" and not _is_replicated(row) and (share, row.name) not in needed:
            try:
                snapshot_remove.remove(f"{share}@{row.name}", server)
            except (MillraceError, OSError) as error:
                # it is locked, or being read: the next run removes it
                print(describe(error), file=sys.stderr, flush=True)


def _check(place: BackupPlace, server: ShareServer, writer: BackupWriter, clock: Now, order: BackupOrder) -> list[str]:
    _require_made(place)
    unlocked = place.unlock(clock())
    writer.begin("checks the repository")
    place.must("check", "--read-data-subset", SUBSET)
    words = [
        *unlocked,
        f"the repository of {place.backup.name} has no errors in its structure, nor in {SUBSET}iB of its data",
    ]
    if place.backup.append_only:
        return words
    writer.begin("removes versions that are not kept")
    kept = place.backup.retention
    numbers = {"--keep-daily": kept.daily, "--keep-weekly": kept.weekly, "--keep-monthly": kept.monthly}
    rules = [word for option, number in numbers.items() if number for word in (option, str(number))]
    for version in place.all_versions():
        if REWRITTEN in version.tags:
            place.must("forget", version.id)
    place.must("forget", "--tag", TAG, "--group-by", "host", "--keep-last", "1", *rules, "--prune")
    return [*words, "versions that the retention does not keep were removed"]


def _drill(place: BackupPlace, server: ShareServer, writer: BackupWriter, clock: Now, order: BackupOrder) -> list[str]:
    _require_made(place)
    state, share = place.state, place.backup.share
    if state.version is None or state.snapshot is None:
        raise Failed(f"backup {place.backup.name} has no version yet that could be restored: millrace backup run")
    unlocked = place.unlock(clock())
    with _reading(place, share, state.snapshot):
        return unlocked + backup_drill.drill(place, state.snapshot, state.version, writer)


def _restore(
    place: BackupPlace, server: ShareServer, writer: BackupWriter, clock: Now, order: BackupOrder
) -> list[str]:
    return backup_restore.restore(place, order, server, writer)


def _require_made(place: BackupPlace) -> None:
    if not place.state.made:
        raise Failed(f"backup {place.backup.name} has no repository yet: the first run makes it (millrace backup run)")


_TASKS: dict[BackupTask, Callable[[BackupPlace, ShareServer, BackupWriter, Now, BackupOrder], list[str]]] = {
    "run": _run,
    "check": _check,
    "drill": _drill,
    "restore": _restore,
}
