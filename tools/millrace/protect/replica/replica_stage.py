# SPDX-License-Identifier: Apache-2.0
"""Where a replica is built: `.millrace-snapshots/.replica/SHARE/SNAPSHOT`, until it becomes a snapshot.

A stage has the manifest of the source and the list of its files, and `tree` and `parts`. It stays when a build ends, so
that the next one goes on. No snapshot is made or removed there, and nothing lists it.
"""

import os
import shutil
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from millrace.protect.replica.file_list import FILE_LIST, FileList, ListedEntry
from millrace.protect.replica.replica_failures import of_source
from millrace.protect.replica.replica_source import OfferedSnapshot
from millrace.protect.replica.tree_build import BaseTree
from millrace.protect.snapshot.snapshot_model import SnapshotManifest
from millrace.protect.snapshot.snapshot_run import PROJECTS
from millrace.protect.snapshot.snapshot_store import SnapshotStore
from millrace.serve.clone.clone_job import Reflinks
from millrace.serve.config.model import DesiredShare
from millrace.serve.share import kept_snapshots, quota
from millrace.serve.share.client_snapshots import CROSSED
from millrace.serve.share.kept_snapshots import MANIFEST, SNAPSHOT_TREE
from millrace.system.documents import read_model, write_model
from millrace.system.errors import BadInput, Failed
from millrace.system.files import describe, sync
from millrace.system.names import snapshot_name
from millrace.system.run import Runner, must
from millrace.system.text import one_line
from millrace.system.trees import nofollow

PARTS = "parts"
LARGEST_LIST = 64 << 30
"""Bytes of a list at most."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class ReplicaStage:
    """The stages of one replica, of which one at most is built."""

    snapshots: SnapshotStore
    share: str

    @property
    def top(self) -> Path:
        """The directory of all its stages."""
        return self.snapshots.top / ".replica" / self.share

    def require_own(self) -> None:
        """Verify that it is of root alone: on adopted drives a link may lead elsewhere. Failed: it is not."""
        self.snapshots.require_own()
        nofollow.require_private(self.top.parent)
        nofollow.require_private(self.top)

    def begun(self) -> list[str]:
        """Return the names of the snapshots that builds were ended of."""
        listed = os.listdir(self.top) if self.top.is_dir() else []
        return sorted(name for name in listed if snapshot_name.problem(name) is None)

    def manifest(self, name: str) -> SnapshotManifest | None:
        """Return the manifest of the source of a stage; None where its build had hardly begun."""
        try:
            return read_model(self.top / name / MANIFEST, SnapshotManifest)
        except (BadInput, OSError):
            return None

    def begin(self, offer: OfferedSnapshot, directory: int, share: DesiredShare, links: Reflinks) -> Path:
        """Prepare the stage of a snapshot: its list is here first, then its manifest, and then it counts.

        OSError, Failed: the source or the pool fails.
        """
        stage = self.top / offer.name
        for made in (self.snapshots.top, self.top.parent, self.top, stage):
            made.mkdir(mode=0o700, exist_ok=True)
        for name in (SNAPSHOT_TREE, PARTS):
            (stage / name).mkdir(mode=0o700, exist_ok=True)
            if quota.enabled(self.snapshots.mountpoint):
                with nofollow.directory(stage / name) as opened:
                    links.set_project(opened, PROJECTS + share.project)
        _copy_list(directory, stage / FILE_LIST)
        write_model(stage / MANIFEST, offer.manifest, 0o600)
        return stage

    def publish(self, name: str, manifest: SnapshotManifest) -> None:
        """Let a complete stage become a snapshot. OSError: the pool fails."""
        stage = self.top / name
        shutil.rmtree(stage / PARTS)
        stage.chmod(CROSSED)
        if manifest.type == "home" and self.share != SNAPSHOT_TREE:
            # the way of Samba to the home of a user (serve/share/client_snapshots.py)
            link = stage / self.share
            # a publication that was interrupted made it
            if not (link.is_symlink() and os.readlink(link) == SNAPSHOT_TREE):
                link.symlink_to(SNAPSHOT_TREE)
        write_model(stage / MANIFEST, manifest, 0o600)
        # the time of the manifest is the order in which they came, whatever a clock said meanwhile
        held = replicated(self.snapshots, self.share)
        came = max([time.time_ns(), *(_came(self.snapshots, self.share, each) + 1 for each in held)])
        os.utime(stage / MANIFEST, ns=(came, came))
        sync(stage)
        self.snapshots.take_in(stage, self.share, name)

    def clear(self, run: Runner, but: Collection[str | None] = ()) -> None:
        """Remove the stages, `but` those of these snapshots. Failed: something of them remains."""
        self.require_own()
        ended = [str(self.top / name) for name in self.begun() if name not in but] if but else [str(self.top)]
        if ended and self.top.exists():
            must(run, ["rm", "-rf", "--one-file-system", "--", *ended])

    def fullest(self, name: str) -> str | None:
        """Return the ended build, but that of `name`, that has the most files; None where none has any.

        OSError: they cannot be read.
        """
        ended = [each for each in self.begun() if each != name]
        if len(ended) < 2:
            return next(iter(ended), None)
        return max(ended, key=lambda each: _files(self.top / each / SNAPSHOT_TREE))


def _files(tree: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(tree))


def _copy_list(directory: int, target: Path) -> None:
    """Copy the list of the source; one that is here already is complete."""
    if target.exists():
        return
    made = target.with_name(f".{target.name}")
    made.unlink(missing_ok=True)
    try:
        source = os.open(FILE_LIST, _READ, dir_fd=directory)
    except OSError as error:
        raise Failed(f"the list of files of the source cannot be opened: {error.strerror}") from error
    with open(source, "rb") as original, open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        left = LARGEST_LIST
        while left > 0:
            with of_source():
                block = original.read(1 << 20)
            if not block:
                break
            left -= file.write(block)
        file.flush()
        os.fsync(file.fileno())
    made.rename(target)


@contextmanager
def listing(directory: Path) -> Iterator[FileList]:
    """Open the list in the directory of a snapshot here. BadInput: it is none. OSError: it cannot be read."""
    with open(os.open(directory / FILE_LIST, _READ), "rb") as file:
        yield FileList(file, str(directory / FILE_LIST))


def bases(stage: ReplicaStage, former: str | None, live: set[tuple[str, str]], stack: ExitStack) -> list[BaseTree]:
    """Return the trees here that the next one has files of: a snapshot, and that of the ended build `former`.

    The snapshot is the newest that the source had together with the next one, else the newest. One whose list cannot
    be read is passed over: what it has is read from the source.
    """
    store, held = stage.snapshots, replicated(stage.snapshots, stage.share)
    exact = [name for name, known in held.items() if (name, known.id) in live]
    others = [name for name in held if name not in exact]
    trees = list[BaseTree]()
    for name in (*reversed(exact), *reversed(others)):
        if (tree := _base(store.place(stage.share, name), name in exact, stack)) is not None:
            trees.append(tree)
            break
    begun = None if former is None else stage.manifest(former)
    if former is not None and begun is not None:
        tree = _base(stage.top / former, (former, begun.id) in live, stack)
        trees += [] if tree is None else [tree]
    return trees


def _base(directory: Path, is_exact: bool, stack: ExitStack) -> BaseTree | None:
    """Open a tree with its list; None where one of them cannot be read, which is said in the journal."""
    try:
        with ExitStack() as opened:
            tree = opened.enter_context(nofollow.directory(directory / SNAPSHOT_TREE))
            with listing(directory) as listed:
                base = opened.enter_context(BaseTree(tree, listed.entries(), is_exact))
            stack.push(opened.pop_all())
            return base
    except (BadInput, Failed, OSError) as error:
        print(f"not used: {one_line(describe(error))}", file=sys.stderr, flush=True)
        return None


def replicated(store: SnapshotStore, share: str) -> dict[str, SnapshotManifest]:
    """Return the snapshots of a replica that came from its source, in the order in which they came.

    Not by their names: those have the clock of the source. OSError: they cannot be listed.
    """
    held = {}
    for name in kept_snapshots.names(share, store.mountpoint):
        if (store.place(share, name) / FILE_LIST).is_file():
            try:
                held[name] = store.manifest(share, name)
            except BadInput:
                continue
    return {name: held[name] for name in sorted(held, key=lambda each: (_came(store, share, each), each))}


def _came(store: SnapshotStore, share: str, name: str) -> int:
    """When a snapshot was published here, in nanoseconds since 1970."""
    return (store.place(share, name) / MANIFEST).stat().st_mtime_ns


def entries_of(directory: Path) -> Iterator[ListedEntry]:
    """Yield the entries of the list of a snapshot here. BadInput, OSError: as for `listing`."""
    with listing(directory) as listed:
        yield from listed.entries()
