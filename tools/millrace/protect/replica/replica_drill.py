# SPDX-License-Identifier: Apache-2.0
"""A drill: files of the newest snapshot of a replica are restored, and compared with those of the source."""

import os
import random
from contextlib import suppress
from datetime import UTC, datetime

from millrace.protect.replica import replica_source, replica_stage
from millrace.protect.replica.file_list import ListedEntry
from millrace.protect.replica.replica_model import DrillReport, ReplicaOrder
from millrace.protect.replica.replica_stage import ReplicaStage, entries_of
from millrace.protect.replica.tree_build import dress
from millrace.serve.clone.clone_job import Reflinks
from millrace.serve.share.kept_snapshots import SNAPSHOT_TREE
from millrace.system.errors import Refused
from millrace.system.trees import nofollow
from millrace.system.trees.descend import below

PART, MOST = 100, 1000
"""One file of so many is restored, at least one, and so many at most."""
LARGEST = 64 << 20
"""Bytes of each file that are compared, from a random place on."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_RESTORED = "drill"


def drill(order: ReplicaOrder, stage: ReplicaStage, at: int, links: Reflinks) -> DrillReport:
    """Restore a random sample, compare it with the snapshot of the mounted source, and remove it.

    Refused: replica and source have no snapshot in common. OSError, Failed: one of them cannot be read.
    """
    held = replica_stage.replicated(stage.snapshots, order.share)
    offers = {offer.name: offer.manifest.id for offer in replica_source.offered(at)}
    common = [name for name, manifest in held.items() if offers.get(name) == manifest.id]
    if not common:
        raise Refused(f"replica {order.share} has no snapshot that its source still has: millrace replica sync")
    name = common[-1]
    place = stage.snapshots.place(order.share, name)
    chosen = _sample([entry for entry in entries_of(place) if entry.kind == "file"])
    for made in (stage.top.parent, stage.top):
        made.mkdir(mode=0o700, exist_ok=True)
    different = total = 0
    with (
        replica_source.opened(at, name) as (_, original),
        nofollow.directory(place / SNAPSHOT_TREE) as ours,
        nofollow.directory(stage.top) as scratch,
    ):
        for entry in chosen:
            compared, is_same = _restore(entry, ours, original, scratch, links)
            total += compared
            different += not is_same
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return DrillReport(
        id=order.id, share=order.share, snapshot=name, at=now, files=len(chosen), bytes=total, different=different
    )


def _sample(files: list[ListedEntry]) -> list[ListedEntry]:
    number = min(max(len(files) // PART, 1), MOST, len(files))
    return random.SystemRandom().sample(files, number)


def _restore(entry: ListedEntry, ours: int, original: int, scratch: int, links: Reflinks) -> tuple[int, bool]:
    """Restore a file as `millrace snapshot get` does, and return how much was compared, and whether it is the same."""
    *above, name = entry.path.split("/")
    with suppress(FileNotFoundError):
        os.unlink(_RESTORED, dir_fd=scratch)
    restored = os.open(_RESTORED, _NEW, 0o600, dir_fd=scratch)
    try:
        with below(ours, above) as at:
            kept = os.open(name, _READ, dir_fd=at)
        with below(original, above) as at:
            source = os.open(name, _READ, dir_fd=at)
        with open(kept, "rb"), open(source, "rb"):
            links.share(kept, restored)
            dress(restored, entry)
            state, theirs = os.fstat(restored), os.fstat(source)
            is_same = (state.st_size, state.st_uid, state.st_gid, state.st_mode, state.st_mtime_ns) == (
                theirs.st_size,
                theirs.st_uid,
                theirs.st_gid,
                theirs.st_mode,
                theirs.st_mtime_ns,
            )
            offset = random.SystemRandom().randrange(max(entry.size - LARGEST, 0) + 1)
            end, compared = min(entry.size, offset + LARGEST), 0
            while is_same and offset < end:
                block, other = (os.pread(file, min(1 << 20, end - offset), offset) for file in (restored, source))
                is_same = block == other and bool(block)
                offset, compared = offset + len(block), compared + len(block)
        return compared, is_same
    finally:
        os.close(restored)
        os.unlink(_RESTORED, dir_fd=scratch)
