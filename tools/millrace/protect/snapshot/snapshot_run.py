# SPDX-License-Identifier: Apache-2.0
"""What millrace-reflink@snapshot.service does: clone a share out of the reach of clients, and take again what changed.

The snapshot gets its manifest, and then its name in one step: a power cut leaves none, or the complete one.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from millrace.protect.snapshot import snapshot_counts, snapshot_job
from millrace.protect.snapshot.snapshot_job import JOB, ORDER, SnapshotWriter
from millrace.protect.snapshot.snapshot_model import SnapshotManifest, SnapshotOrder, kind_of
from millrace.protect.snapshot.snapshot_store import NEW, SnapshotStore
from millrace.serve.clone import clone_job, clone_place, clone_tree
from millrace.serve.clone.clone_again import COARSE, AgainClone, ChangeClock, Changes, changes
from millrace.serve.clone.clone_job import Reflinks
from millrace.serve.clone.clone_place import ClonePlace
from millrace.serve.clone.clone_space import needed
from millrace.serve.clone.clone_tree import Tally, TreeClone, TreePath
from millrace.serve.config import store
from millrace.serve.config.choices import ShareType
from millrace.serve.share import kept_snapshots, quota
from millrace.serve.share.client_snapshots import CROSSED
from millrace.serve.share.kept_snapshots import MANIFEST, SNAPSHOT_TREE
from millrace.serve.share.server import ShareServer
from millrace.system import locks
from millrace.system.documents import write_model
from millrace.system.errors import Failed, MillraceError, Refused
from millrace.system.files import describe
from millrace.system.jobs import record
from millrace.system.text import one_line, printable_name, size
from millrace.system.trees import nofollow

FLOOR = 10
"""Percent of the pool, and of its inodes, that stay free: snapshots hold what clients remove; a full pool stops all."""
LARGEST = 5_000_000
"""Files and directories of a share above which a snapshot has to be asked for: each is an inode of the pool."""
ROUNDS = 4
"""Looks for what has changed meanwhile; what the last one finds is named."""
NAMED = 1000
"""Names of changed files that a manifest has at most."""
PROJECTS = 3 << 30
"""Quota projects of snapshots begin here: the number of a share is added. Volumes have those from 2 << 30 on."""


@dataclass(frozen=True)
class SnapshotSource:
    """The open directory that a snapshot is made of, with the quota project and the type of its share."""

    directory: int
    project: int
    type: ShareType | None


@dataclass(frozen=True)
class Exactness:
    """How exact a tree is: `moment` in nanoseconds since 1970, where all of it is of one; what is `left` changed."""

    moment: int | None
    taken_again: int
    left: Changes


CarryOut = Callable[[SnapshotOrder, SnapshotStore, ShareServer, Reflinks, ChangeClock], SnapshotManifest]
"""What an order asks for is done: its snapshot is returned."""


def execute(
    server: ShareServer, links: Reflinks, clock: ChangeClock, carry_out: CarryOut | None = None
) -> SnapshotManifest:
    """Carry out the order; what the unit runs. Waits for a cleanup. `carry_out` is `make` where it is not given.

    Refused, Failed: there is no snapshot, and nothing of it remains.
    """
    with JOB.execution(), snapshot_job.lock():
        order = ORDER.read()
        snapshots = SnapshotStore(server.pool.filesystem.mountpoint)
        snapshots.remove_new(server.run)
        try:
            return (carry_out or make)(order, snapshots, server, links, clock)
        except (MillraceError, OSError) as error:
            snapshots.remove_new(server.run)
            reason = str(error) if isinstance(error, MillraceError) else describe(error)
            raise Failed(reason) from error


def end(server: Callable[[], ShareServer]) -> None:
    """Record a snapshot that was killed; what the unit runs at its end. A snapshot that has its name is complete.

    Failed, BadInput: the pool cannot be asked.
    """
    order = ORDER.get()
    killed = JOB.clean_up()
    if killed is not None and order is not None and snapshot_job.made(order, server()) is not None:
        record.end(killed, "done")


def sweep(server: ShareServer) -> bool:
    """Remove snapshots that were removed or not completed; False where one is being made, which stays.

    The boot calls it, and systemd after each snapshot. Failed: something remains.
    """
    snapshots = SnapshotStore(server.pool.filesystem.mountpoint)
    snapshots.remove_old(server.run)
    snapshot_counts.write(snapshots.mountpoint)
    with ExitStack() as stack:
        try:
            stack.enter_context(snapshot_job.lock(snapshot_job.UNDER_WAY))
        except locks.Busy:
            return False
        snapshots.remove_new(server.run)
    return True


def make(
    order: SnapshotOrder, snapshots: SnapshotStore, server: ShareServer, links: Reflinks, clock: ChangeClock
) -> SnapshotManifest:
    """Make a snapshot of a share. Refused: there is no such share, or no room. OSError, Failed: the pool fails."""
    share = snapshot_job.present(store.load(), order.share)
    with clone_place.opened(ClonePlace(order.share, ()), snapshots.mountpoint) as directory:
        source = SnapshotSource(directory, share.project, share.type)
        return take(order, source, snapshots, server, links, clock)


def take(
    order: SnapshotOrder,
    origin: SnapshotSource,
    snapshots: SnapshotStore,
    server: ShareServer,
    links: Reflinks,
    clock: ChangeClock,
    floor: int = FLOOR,
) -> SnapshotManifest:
    """Make a snapshot of an open directory; `floor` percent of the pool and of its inodes stay free.

    Refused: the pool has too little room for it. OSError, Failed: the pool fails.
    """
    writer = SnapshotWriter(order.share)
    with _nameless(order.share), ExitStack() as stack:
        source = origin.directory
        counted = clone_tree.count(source, clone_job.threads(), lambda tally: writer(tally.entries))
        refuse_full(order, counted, snapshots.mountpoint, floor)
        own, aside = stack.enter_context(_stage(order, origin, snapshots)), stack.enter_context(_aside(snapshots))
        tree = stack.enter_context(nofollow.directory(SNAPSHOT_TREE, own))
        if quota.enabled(snapshots.mountpoint):
            links.set_project(tree, PROJECTS + origin.project)
        first = clock.mark()
        writer.begin("clone", counted.entries)
        origins: dict[int, int] = {}

        def watch() -> None:
            clock.tick()
            _require_floor(order, snapshots.mountpoint, floor)

        def tick(done: int) -> None:
            watch()
            writer(done)

        bare: set[TreePath] = set()
        clone = TreeClone(source, tree, links.share, origins, bare)
        tally = clone.run(clone_job.threads(), lambda tally: tick(tally.entries))
        again = AgainClone(source, tree, aside, origins, clone_job.threads(), links.share, bare)
        writer.begin("scan", tally.entries)
        exactness = _settle(source, again, first, clock, tick, watch, server.pause)
        manifest = _manifest(order, origin, tally, exactness, bare, first[0], clock.mark()[0])
        write_model(snapshots.stage / NEW / order.name / MANIFEST, manifest, 0o600)
        snapshots.add(order.share, order.name)
    snapshots.remove_new(server.run)
    return manifest


@contextmanager
def _nameless(share: str) -> Iterator[None]:
    """Keep names that clients chose out of what everybody reads of a job; the journal has them.

    Failed: something failed, and why.
    """
    try:
        yield
    except (Failed, OSError) as error:
        print(one_line(describe(error)), file=sys.stderr, flush=True)
        cause = error if isinstance(error, OSError) else error.__cause__
        why = f" ({cause.strerror})" if isinstance(cause, OSError) and cause.strerror else ""
        raise Failed(
            f"a file or directory of share {share} cannot be taken{why}; its name is in the journal: "
            f"journalctl -u {JOB.unit}"
        ) from error


def _settle(
    source: int,
    again: AgainClone,
    first: tuple[int, int],
    clock: ChangeClock,
    tick: Callable[[int], None],
    watch: Callable[[], None],
    pause: Callable[[float], None],
) -> Exactness:
    """Take again what has changed, until a look finds nothing: then nothing did since the look before it."""
    since, taken = first, 0
    for number in range(ROUNDS):
        begins = clock.mark()
        changed = changes(source, clock.since(since), clone_job.threads(), tick)
        if not changed.count:
            return Exactness(begins[0], taken, changed)
        if number == ROUNDS - 1 or changed.count > changed.named + changed.nameless:
            break
        again.take(changed, watch)
        taken += changed.named
        # what changed just before this look is not found by the one after the next
        pause(2 * COARSE / 1e9)
        since = begins
    return Exactness(None, taken, changed)


def refuse_full(order: SnapshotOrder, counted: Tally, mountpoint: str, floor: int = FLOOR) -> None:
    """Verify that `floor` percent stay free with what was counted. Refused: they do not, or it is too many files."""
    if counted.entries > LARGEST and not order.large:
        raise Refused(
            f"share {order.share} has {counted.entries} files and directories, and a snapshot takes an inode for each: "
            f"about {size(needed(counted))} of the pool; add --large to make it"
        )
    pool = os.statvfs(kept_snapshots.top(mountpoint).parent)
    free = pool.f_bavail * pool.f_frsize - needed(counted)
    if free * 100 < pool.f_blocks * pool.f_frsize * floor:
        raise Refused(
            f"less than {floor} % of the pool would be free with a snapshot of {order.share}: remove files, or older "
            "snapshots (millrace snapshot list)"
        )
    # a file system without a limit of inodes has 0 of them
    if (pool.f_favail - counted.entries) * 100 < pool.f_files * floor:
        raise Refused(
            f"less than {floor} % of the inodes of the pool would be free with a snapshot of {order.share}: remove "
            "files, or older snapshots (millrace snapshot list)"
        )


def _require_floor(order: SnapshotOrder, mountpoint: str, floor: int) -> None:
    """Refused: the pool has too little room by now.

    What a client moves ahead of the walk is taken once more, and what it replaces stays in what was taken: no quota
    ends that.
    """
    pool = os.statvfs(kept_snapshots.top(mountpoint).parent)
    blocks, inodes = pool.f_bavail * 100 < pool.f_blocks * floor, pool.f_favail * 100 < pool.f_files * floor
    if blocks or inodes:
        raise Refused(
            f"less than {floor} % of {'the pool' if blocks else 'the inodes of the pool'} was free while {order.share} "
            "was taken: its clients write too much now; try again later, or remove older snapshots (millrace snapshot "
            "list)"
        )


def _stage(order: SnapshotOrder, origin: SnapshotSource, snapshots: SnapshotStore) -> AbstractContextManager[int]:
    """Open the empty directory of the snapshot that is made."""
    for directory in (snapshots.top, snapshots.stage, snapshots.stage / NEW):
        directory.mkdir(mode=0o700, exist_ok=True)
    own = snapshots.stage / NEW / order.name
    # the directory of the share's snapshots, where this one gets its name, lets users in or not
    own.mkdir(mode=CROSSED)
    (own / SNAPSHOT_TREE).mkdir(mode=0o700)
    if origin.type == "home" and order.share != SNAPSHOT_TREE:
        # the way of Samba to the home of a user (serve/share/client_snapshots.py)
        (own / order.share).symlink_to(SNAPSHOT_TREE)
    return nofollow.directory(own)


def _aside(snapshots: SnapshotStore) -> AbstractContextManager[int]:
    """Open the empty directory for what was cloned and then changed."""
    aside = snapshots.stage / NEW / "aside"
    aside.mkdir(mode=0o700)
    return nofollow.directory(aside)


def _manifest(
    order: SnapshotOrder,
    origin: SnapshotSource,
    tally: Tally,
    exactness: Exactness,
    bare: set[TreePath],
    first: int,
    last: int,
) -> SnapshotManifest:
    return SnapshotManifest(
        id=order.id,
        share=order.share,
        project=origin.project,
        type=origin.type,
        name=order.name,
        kind=kind_of(order.name),
        by=order.by,
        first=_time(first),
        last=_time(last),
        moment=None if exactness.moment is None else _time(exactness.moment),
        entries=tally.entries,
        bytes=tally.bytes,
        skipped=tally.skipped,
        taken_again=exactness.taken_again,
        changed_count=exactness.left.count,
        changed=exactness.left.names(NAMED),
        bare_count=len(bare),
        bare=[printable_name(os.fsencode("/".join(place) or "/")) for place in sorted(bare)[:NAMED]],
    )


def _time(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat(timespec="milliseconds")
