# SPDX-License-Identifier: Apache-2.0
"""A drill: files of the newest snapshot of a replica are restored, and compared with those of the source."""

import os
import random
import sys
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime

from millrace.protect.replica import replica_failures, replica_source, replica_stage
from millrace.protect.replica.file_list import ListedEntry
from millrace.protect.replica.replica_failures import DAMAGED, SourceError, cause, of_source
from millrace.protect.replica.replica_model import DrillReport, ReplicaOrder
from millrace.protect.replica.replica_stage import ReplicaStage, entries_of
from millrace.protect.replica.tree_build import dress
from millrace.serve.clone.clone_job import Reflinks
from millrace.serve.share.kept_snapshots import SNAPSHOT_TREE
from millrace.system.errors import Failed, Refused
from millrace.system.text import printable_name
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

    What cannot be read here differs; what the source cannot read is passed over.

    Refused: replica and source have no snapshot in common. SourceError: the source does not answer. OSError, Failed:
    this pool fails.
    """
    held = replica_stage.replicated(stage.snapshots, order.share)
    with of_source():
        offers = {offer.name: offer.manifest.id for offer in replica_source.offered(at)}
    common = [name for name, manifest in held.items() if offers.get(name) == manifest.id]
    if not common:
        raise Refused(f"replica {order.share} has no snapshot that its source still has: millrace replica sync")
    name = common[-1]
    place = stage.snapshots.place(order.share, name)
    chosen = sample((entry for entry in entries_of(place) if entry.kind == "file"), random.SystemRandom())
    for made in (stage.top.parent, stage.top):
        made.mkdir(mode=0o700, exist_ok=True)
    lacks = held[name].unread_count > 0
    files = different = total = 0
    with (
        replica_source.opened(at, name) as (_, original),
        nofollow.directory(place / SNAPSHOT_TREE) as ours,
        nofollow.directory(stage.top) as scratch,
    ):
        for entry in chosen:
            try:
                compared, is_same = _restore(entry, ours, original, scratch, links)
            except SourceError as error:
                replica_failures.pass_over(entry.path, error, original)
                continue
            except FileNotFoundError:
                if lacks:
                    # the source could not read it
                    continue
                compared, is_same = 0, False
            files += 1
            total += compared
            different += not is_same
            if not is_same:
                print(
                    f"differs from the source: {printable_name(os.fsencode(entry.path))}", file=sys.stderr, flush=True
                )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return DrillReport(
        id=order.id, share=order.share, snapshot=name, at=now, files=files, bytes=total, different=different
    )


def sample(files: Iterable[ListedEntry], chance: random.Random) -> list[ListedEntry]:
    """Return one of `PART` files, at least one and `MOST` at most, each as likely as the others."""
    chosen = list[ListedEntry]()
    seen = 0
    for entry in files:
        seen += 1
        at = len(chosen) if len(chosen) < MOST else chance.randrange(seen)
        if at < MOST:
            chosen[at : at + 1] = [entry]
    chance.shuffle(chosen)
    return chosen[: max(seen // PART, 1)]


def _restore(entry: ListedEntry, ours: int, original: int, scratch: int, links: Reflinks) -> tuple[int, bool]:
    """Restore a file as `millrace snapshot get` does, and return how much was compared, and whether it is the same.

    FileNotFoundError: it is not here. SourceError: the source cannot read it.
    """
    *above, name = entry.path.split("/")
    with suppress(FileNotFoundError):
        os.unlink(_RESTORED, dir_fd=scratch)
    restored = os.open(_RESTORED, _NEW, 0o600, dir_fd=scratch)
    with ExitStack() as stack:
        stack.callback(os.unlink, _RESTORED, dir_fd=scratch)
        stack.callback(os.close, restored)
        try:
            source = _open(original, above, name, stack)
        except OSError as error:
            raise SourceError(error.errno, error.strerror, entry.path) from error
        try:
            links.share(_open(ours, above, name, stack), restored)
            dress(restored, entry)
            return _compared(entry, restored, source)
        except OSError as error:
            if isinstance(error, SourceError) or error.errno not in DAMAGED:
                raise
            return 0, False


def _compared(entry: ListedEntry, restored: int, source: int) -> tuple[int, bool]:
    state = os.fstat(restored)
    with of_source():
        theirs = os.fstat(source)
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
        block = os.pread(restored, min(1 << 20, end - offset), offset)
        with of_source():
            other = os.pread(source, min(1 << 20, end - offset), offset)
        is_same = block == other and bool(block)
        offset, compared = offset + len(block), compared + len(block)
    return compared, is_same


def _open(tree: int, above: list[str], name: str, stack: ExitStack) -> int:
    """Open a file until the stack ends. OSError: that fails."""
    try:
        with below(tree, above) as at:
            opened = os.open(name, _READ, dir_fd=at)
    except (OSError, Failed) as error:
        raise cause(error) from error
    stack.callback(os.close, opened)
    return opened
