# SPDX-License-Identifier: Apache-2.0
"""What is cloned and to where: `SHARE[@SNAPSHOT][/DIRECTORY]`, each opened without a link being followed."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.share import kept_snapshots
from millrace.serve.share.kept_snapshots import SNAPSHOT_TREE
from millrace.system import paths
from millrace.system.command import command
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.names import share_name, snapshot_name
from millrace.system.text import printable, shown
from millrace.system.trees import nofollow
from millrace.system.trees.descend import below

_LONGEST = 255
"""Bytes of a name in XFS."""


@dataclass(frozen=True)
class ClonePlace:
    """A directory of a share, or of a `snapshot` of it; no `path` is the share itself."""

    share: str
    path: tuple[str, ...]
    snapshot: str | None = None

    def __str__(self) -> str:
        top = self.share if self.snapshot is None else f"{self.share}@{self.snapshot}"
        return "/".join((top, *self.path))

    @property
    def names(self) -> tuple[str, ...]:
        """The names from the top of the pool."""
        top = (self.share,) if self.snapshot is None else (paths.SNAPSHOTS, self.share, self.snapshot, SNAPSHOT_TREE)
        return (*top, *self.path)


def parse(text: str) -> ClonePlace:
    """Parse `SHARE[@SNAPSHOT][/DIRECTORY]`. BadInput: it is none."""
    top, *names = text.removesuffix("/").split("/")
    share, at, snapshot = top.partition("@")
    try:
        share_name(share)
        if at:
            snapshot_name(snapshot)
    except ValueError as error:
        raise BadInput(str(error)) from error
    for name in names:
        if name in ("", ".", "..") or printable(name) != name or len(name.encode()) > _LONGEST:
            raise BadInput(f"{shown(text)} is not a directory of a share: write it like data/imagenet")
    return ClonePlace(share, tuple(names), snapshot if at else None)


def refuse_shares(config: Config, source: ClonePlace, target: ClonePlace, seal: bool, mountpoint: str) -> None:
    """Verify what the shares allow.

    Refused: the source does not exist or holds homes, the target exists or is sealed. BadInput: only a share can be
    sealed, and no snapshot is a target.
    """
    refuse_snapshot(target)
    share = config.share(target.share)
    # a snapshot outlives its share, and a directory of another one may get what is in it
    origin = config.share(source.share) if source.snapshot and target.path else _existing(config, source.share)
    if target.path:
        if seal:
            raise BadInput(f"only a share can be sealed: name one that does not exist yet, not {shown(str(target))}")
        if _existing(config, target.share).sealed:
            raise Refused(f"share {target.share} is sealed: choose another target")
    elif share is not None:
        raise Refused(f"share {target.share} already exists: choose another name, or a directory of it")
    elif (origin is not None and origin.type == "home") or _held_homes(source, mountpoint):
        raise Refused(f"share {source.share} holds the homes of users, which stay private: clone to a directory of it")


def _held_homes(source: ClonePlace, mountpoint: str) -> bool:
    """Whether a snapshot is of a share that held homes; another share has its name by now."""
    return source.snapshot is not None and kept_snapshots.type_of(source.share, source.snapshot, mountpoint) == "home"


def refuse_snapshot(target: ClonePlace) -> None:
    """BadInput: the target is in a snapshot, which nothing changes."""
    if target.snapshot is not None:
        raise BadInput(f"{target} is a snapshot, which cannot be changed: name a share or a directory of one")


def _existing(config: Config, name: str) -> DesiredShare:
    found = config.share(name)
    if found is None:
        raise Refused(f"share {name} does not exist: millrace share list")
    return found


@contextmanager
def opened(place: ClonePlace, mountpoint: str) -> Iterator[int]:
    """Open the directory of a place. Refused: it does not exist, or a link is in its way."""
    with ExitStack() as stack:
        yield _open(stack, place, mountpoint)


@contextmanager
def parent(place: ClonePlace, mountpoint: str) -> Iterator[int]:
    """Open the directory that a target is to be in. Refused: it does not exist, or the target does."""
    *above, name = place.names
    with ExitStack() as stack:
        at = _open_names(stack, above, mountpoint, "/".join(above), ": create it first")
        if _exists(name, at):
            raise Refused(f"{place} already exists: choose another name")
        yield at


def _open(stack: ExitStack, place: ClonePlace, mountpoint: str) -> int:
    remedy = "" if place.snapshot is None else f": {command('millrace snapshot list', place.share)}"
    return _open_names(stack, place.names, mountpoint, str(place), remedy)


def _open_names(stack: ExitStack, names: Sequence[str], mountpoint: str, shown_as: str, remedy: str) -> int:
    pool = stack.enter_context(nofollow.directory(paths.ROOT / mountpoint.lstrip("/")))
    try:
        return stack.enter_context(below(pool, names))
    except Failed as error:
        raise Refused(f"{shown_as} is not a directory, or a link is on its path{remedy}") from error


def _exists(name: str, at: int) -> bool:
    try:
        os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
