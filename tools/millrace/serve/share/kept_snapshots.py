# SPDX-License-Identifier: Apache-2.0
"""The snapshots of a share, by their names: they lie outside of it, and stay when it is removed.

The writer of drives that were adopted decided what is there: no link is followed, and nothing but a file is read.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import BaseModel, Field, field_validator, model_validator

from millrace.serve.config.choices import ShareType
from millrace.system import ages, paths
from millrace.system.command import command
from millrace.system.documents import Contract, parse_model
from millrace.system.errors import BadInput, Failed
from millrace.system.names import share_name, snapshot_name
from millrace.system.trees import nofollow

Model = TypeVar("Model", bound=BaseModel)

MANIFEST = "manifest.json"
"""What a snapshot is, beside its tree."""
RECORD = ".removals.json"
"""What is known of removals and locks, beside the snapshots of all shares: what Millrace lists begins with no dot."""
LARGEST = 64 << 20
"""Bytes of a manifest, or of the record, at most: a manifest has 1000 names of files."""
SNAPSHOT_TREE = "tree"
"""The directory in that of a snapshot that has what the share held."""
LONGEST = timedelta(days=3660)
"""A lock is for ten years at most: nobody can end one before its date."""
DRIFT = timedelta(minutes=2)
"""By so much the time of a removal or a lock may be off before it is computed again: what is shown does not flicker."""
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""Errors that prove that a snapshot is not there; a drive that fails returns others."""

# more is from no server: no clock has a time so far ahead
SecondsLeft = Annotated[int, Field(ge=0, le=int(LONGEST.total_seconds()) + 1)]


class SnapshotOrigin(Contract):
    """What the manifest of a snapshot says of the share that it was made of."""

    schema_version: Literal[1] = 1
    type: ShareType | None = None
    project: int | None = None


class NamedSnapshot(Contract):
    """A snapshot in the record, by the name of its share and its own."""

    share: str
    name: str

    @model_validator(mode="after")
    def names_are_names(self) -> Self:
        """Verify that no name leads elsewhere, as the writer of adopted drives could have it. ValueError: one may."""
        share_name(self.share)
        snapshot_name(self.name)
        return self


class SnapshotLock(NamedSnapshot):
    """A snapshot that nothing removes before `until`, as `by` decided at `at` (both ISO 8601 in UTC).

    `left` are the seconds for which a server has yet to run with this pool: no change of the clock ends a lock earlier.
    """

    by: str
    at: str
    until: str
    left: SecondsLeft

    @field_validator("until")
    @classmethod
    def until_is_a_time(cls, until: str) -> str:
        """Verify the time until which it is locked. ValueError: it is none."""
        ages.when(until)
        return until

    def end(self, now: datetime) -> str:
        """Return when it ends at the earliest, ISO 8601 in UTC: `until`, or later by what is left of its seconds."""
        counted = now + timedelta(seconds=self.left)
        if counted <= ages.when(self.until) + DRIFT:
            return self.until
        return counted.astimezone(UTC).isoformat(timespec="seconds")


class LockRecord(Contract):
    """What the record says of locks."""

    schema_version: Literal[1] = 1
    locks: list[SnapshotLock] = Field(default_factory=list)


def top(mountpoint: str) -> Path:
    """Return the directory of all snapshots, which need not exist."""
    return paths.ROOT / mountpoint.lstrip("/") / paths.SNAPSHOTS


def shares(mountpoint: str) -> list[str]:
    """Return the names of the shares, also of former ones, that have snapshots. OSError: they cannot be listed."""
    return [name for name in _listed(mountpoint) if share_name.problem(name) is None and names(name, mountpoint)]


def names(share: str, mountpoint: str) -> list[str]:
    """Return the names of the snapshots of a share, the oldest first. OSError: they cannot be listed."""
    listed = _listed(mountpoint, share)
    return [name for name in listed if snapshot_name.problem(name) is None]


def type_of(share: str, name: str, mountpoint: str) -> ShareType | None:
    """Return the type that a share had when a snapshot of it was made; None where that is not known."""
    origin = _origin(share, name, mountpoint)
    return None if origin is None else origin.type


def project_of(share: str, name: str, mountpoint: str) -> int | None:
    """Return the quota project of the share that a snapshot was made of; None where that is not known."""
    origin = _origin(share, name, mountpoint)
    return None if origin is None else origin.project


def exists(share: str, name: str, mountpoint: str) -> bool:
    """Whether a share has a snapshot of this name: a directory, no link to one.

    Where a drive fails it counts as one that exists: an error of the pool ends no lock and no removal.
    """
    try:
        with opened(mountpoint, share, name):
            return True
    except Failed as error:
        return not (isinstance(error.__cause__, OSError) and error.__cause__.errno in GONE)


def read_manifest(share: str, name: str, mountpoint: str, kind: type[Model]) -> Model:
    """Return the manifest of a snapshot. BadInput: it cannot be read. LaterRelease: a later one wrote it."""
    path = top(mountpoint) / share / name / MANIFEST
    try:
        with opened(mountpoint, share, name) as directory:
            content = nofollow.read_file(Path(MANIFEST), LARGEST, directory)
    except FileNotFoundError as error:
        raise BadInput(f"{path} is missing") from error
    except Failed as error:
        raise BadInput(f"{path}: {error}") from error
    return parse_model(content, path, kind)


def read_record(mountpoint: str, kind: type[Model]) -> Model | None:
    """Return what is known of removals and locks; None where there is no record.

    BadInput, LaterRelease: as for `read_model`. Failed: it is no file of root alone, or the pool fails.
    """
    directory = top(mountpoint)
    nofollow.require_private(directory, others=0o011)
    try:
        content = nofollow.read_file(directory / RECORD, LARGEST)
    except FileNotFoundError:
        return None
    return parse_model(content, directory / RECORD, kind)


def locks(mountpoint: str) -> list[SnapshotLock]:
    """Return the locks of snapshots as they were counted last. BadInput, LaterRelease, Failed: as for `read_record`."""
    record = read_record(mountpoint, LockRecord)
    return [] if record is None else [each for each in record.locks if exists(each.share, each.name, mountpoint)]


@contextmanager
def opened(mountpoint: str, *names: str) -> Iterator[int]:
    """Open the directory of all snapshots, or one below it by its names. Failed: there is none, or it is a link."""
    with ExitStack() as stack:
        directory = stack.enter_context(nofollow.directory(top(mountpoint)))
        for name in names:
            directory = stack.enter_context(nofollow.directory(name, directory))
        yield directory


def remain(share: str, mountpoint: str) -> Iterator[str]:
    """Yield a sentence about the snapshots of a share that is removed; none where it has none.

    OSError: they cannot be listed.
    """
    if number := len(names(share, mountpoint)):
        which = "1 snapshot" if number == 1 else f"{number} snapshots"
        listed = command("millrace snapshot list", share)
        yield f"{which} of {share} remain{'s' if number == 1 else ''}, with the files in it: {listed}"


def _origin(share: str, name: str, mountpoint: str) -> SnapshotOrigin | None:
    try:
        return read_manifest(share, name, mountpoint, SnapshotOrigin)
    except (BadInput, OSError):
        return None


def _listed(mountpoint: str, *names: str) -> list[str]:
    directory = top(mountpoint)
    for name in ("", *names):
        directory = directory / name
        # what is no directory, or a link to one, has no snapshots
        if directory.is_symlink() or not directory.is_dir():
            return []
    return sorted(os.listdir(directory))
