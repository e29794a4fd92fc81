# SPDX-License-Identifier: Apache-2.0
"""Where snapshots are: `.millrace-snapshots/SHARE/NAME` on the pool, each with `manifest.json` and `tree`.

What is made or removed is in `.millrace-snapshots/.stage`. A snapshot comes from there, and goes there, in one step:
what has a name is complete. A rollback is beside it in `.rollback`, because releases without rollbacks remove all of
the stage.
"""

import os
import stat
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from millrace.protect.snapshot import kept_removals
from millrace.protect.snapshot.kept_removals import RemovalClock, RemovalRecord
from millrace.protect.snapshot.snapshot_model import (
    EntryKind,
    SnapshotDirectory,
    SnapshotEntry,
    SnapshotList,
    SnapshotManifest,
    SnapshotRow,
)
from millrace.serve.clone import clone_place
from millrace.serve.clone.clone_place import ClonePlace
from millrace.serve.config.model import Config
from millrace.serve.share import kept_snapshots
from millrace.serve.share.client_snapshots import PRIVATE
from millrace.serve.share.kept_snapshots import MANIFEST
from millrace.system.command import command
from millrace.system.errors import BadInput, Refused
from millrace.system.files import sync
from millrace.system.run import Runner, must
from millrace.system.text import printable_name, shown
from millrace.system.trees import nofollow
from millrace.system.trees.descend import entries

NEW = "new"
"""What of the stage is being made; all else there was removed."""
SHOWN = 1000
"""Entries of a directory that are shown."""


class SnapshotStore:
    """The snapshots on a pool that is mounted at `mountpoint`."""

    def __init__(self, mountpoint: str) -> None:
        self.mountpoint = mountpoint
        self.top = kept_snapshots.top(mountpoint)
        self.stage = self.top / ".stage"
        # what is to be exchanged with a share, or was: the only copy of what clients had, until it is a snapshot
        self.rollback = self.top / ".rollback"

    def require_own(self) -> None:
        """Verify that top and stage are of root alone: on adopted drives a link may lead out of the pool.

        Others may pass the top, and list nothing. Failed: one of them is none, and what is in a stage is removed.
        """
        nofollow.require_private(self.top, others=0o011)
        nofollow.require_private(self.stage)

    def place(self, share: str, name: str) -> Path:
        """Return the directory of a snapshot, whether or not there is one."""
        return self.top / share / name

    def manifest(self, share: str, name: str) -> SnapshotManifest:
        """Return what a snapshot is. BadInput: its manifest cannot be read, or is that of another one."""
        manifest = kept_snapshots.read_manifest(share, name, self.mountpoint, SnapshotManifest)
        if (manifest.share, manifest.name) != (share, name):
            raise BadInput(f"{self.place(share, name) / MANIFEST} is the manifest of another snapshot")
        return manifest

    def listed(self, config: Config, share: str | None) -> SnapshotList:
        """Return all snapshots, or those of one share, with what is to be removed or locked. OSError: as `rows`.

        `until` of a lock is when it ends: later than its date where the server was off, or its clock was wrong.
        """
        clock = RemovalClock()
        try:
            record, problem = kept_removals.read(self.mountpoint, clock), None
        except Refused as refused:
            record, problem = RemovalRecord(), str(refused)
        locks = {
            (lock.share, lock.name): lock.model_copy(update={"until": lock.end(clock.now())}) for lock in record.locks
        }
        rows = [
            row.model_copy(
                update={"removal": record.removal(row.share, row.name), "lock": locks.get((row.share, row.name))}
            )
            for row in self.rows(config, share)
        ]
        waiting = [each for each in record.retentions if each.tighter is not None and share in (None, each.share)]
        floor = record.kept_floor if record.kept_floor is not None and record.kept_floor.raised is not None else None
        return SnapshotList(snapshots=rows, tighter=waiting, floor=floor, problem=problem)

    def rows(self, config: Config, share: str | None) -> list[SnapshotRow]:
        """Return all snapshots, or those of one share, without removals and locks. OSError: they cannot be listed."""
        shares = kept_snapshots.shares(self.mountpoint) if share is None else [share]
        return [self.row(config, each, name) for each in shares for name in kept_snapshots.names(each, self.mountpoint)]

    def row(self, config: Config, share: str, name: str) -> SnapshotRow:
        """Return a snapshot with what there is to say of it."""
        try:
            manifest, problem = self.manifest(share, name), None
        except (BadInput, OSError) as error:
            manifest, problem = None, str(error)
        present = config.share(share)
        former = present is None or (manifest is not None and manifest.project != present.project)
        # viewers read rows, and none of the names of files
        nameless = manifest and manifest.model_copy(update={"changed": [], "bare": [], "unread": []})
        return SnapshotRow(share=share, name=name, former=former, manifest=nameless, problem=problem)

    def known(self, text: str) -> ClonePlace:
        """Return a place in a snapshot that exists. BadInput: it is none. Refused: there is no such snapshot."""
        place = clone_place.parse(text)
        if place.snapshot is None:
            raise BadInput(f"{shown(text)} is no snapshot: write it like data@20261129T120000Z-manual")
        if not kept_snapshots.exists(place.share, place.snapshot, self.mountpoint):
            listed = command("millrace snapshot list", place.share)
            raise Refused(f"{place.share} has no snapshot {place.snapshot}: {listed}")
        return place

    def browse(self, place: ClonePlace) -> SnapshotDirectory:
        """Return what is in a directory of a snapshot. Refused: there is no such directory."""
        with clone_place.opened(place, self.mountpoint) as directory:
            held = sorted(entries(directory))
        shown_entries = [_entry(name, status) for name, status in held[:SHOWN]]
        return SnapshotDirectory(place=str(place), entries=shown_entries, more=len(held) - len(shown_entries))

    def add(self, share: str, name: str) -> None:
        """Give the snapshot that is made its name. OSError: the pool fails."""
        directory = self.top / share
        directory.mkdir(mode=0o700, exist_ok=True)
        (self.stage / NEW / name).rename(directory / name)
        for changed in (directory, self.top, self.stage / NEW):
            sync(changed)

    def take_in(self, made: Path, share: str, name: str) -> None:
        """Make a complete directory of the pool, with a manifest and a tree, a snapshot. OSError: the pool fails."""
        directory = self.top / share
        directory.mkdir(mode=0o700, exist_ok=True)
        made.rename(directory / name)
        for changed in (directory, self.top, made.parent):
            sync(changed)

    def set_aside(self, share: str, name: str) -> None:
        """Take a snapshot from its place; the cleanup removes it. OSError: the pool fails. Failed: as `require_own`."""
        self.require_own()
        self.stage.mkdir(mode=0o700, exist_ok=True)
        with kept_snapshots.opened(self.mountpoint, share) as directory, nofollow.directory(self.stage) as stage:
            os.rename(name, uuid.uuid4().hex, src_dir_fd=directory, dst_dir_fd=stage)
            for changed in (directory, stage):
                os.fsync(changed)
        with suppress(OSError):
            # not while it has another one, nor where clients look for it
            if stat.S_IMODE((self.top / share).stat().st_mode) == PRIVATE:
                (self.top / share).rmdir()

    def drop_rollback(self) -> None:
        """Take a rollback that is at its end, or that changed nothing, from its place; the cleanup removes it.

        OSError: the pool fails. Failed: as `require_own`.
        """
        self.require_own()
        if os.path.lexists(self.rollback):
            self.stage.mkdir(mode=0o700, exist_ok=True)
            self.rollback.rename(self.stage / uuid.uuid4().hex)
            for changed in (self.top, self.stage):
                sync(changed)

    def remove_new(self, run: Runner) -> None:
        """Remove a snapshot that is not complete. Failed: something of it remains."""
        self.require_own()
        _remove(self.stage / NEW, run)

    def remove_old(self, run: Runner) -> None:
        """Remove what was taken from its place, and what is taken meanwhile. Failed: something of it remains."""
        self.require_own()
        while rest := self._removed():
            for path in rest:
                _remove(path, run)

    def _removed(self) -> list[Path]:
        listed = self.stage.iterdir() if self.stage.is_dir() else ()
        return [path for path in listed if path.name != NEW]


def _remove(path: Path, run: Runner) -> None:
    if os.path.lexists(path):
        must(run, ["rm", "-rf", "--one-file-system", "--", str(path)])


def _entry(name: str, status: os.stat_result) -> SnapshotEntry:
    kinds: dict[int, EntryKind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
    kind = kinds.get(stat.S_IFMT(status.st_mode), "other")
    return SnapshotEntry(
        name=printable_name(os.fsencode(name)),
        kind=kind,
        bytes=status.st_size if kind == "file" else 0,
        changed=datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds"),
    )
