# SPDX-License-Identifier: Apache-2.0
"""The snapshots of a share, by their names: they lie outside of it, and stay when it is removed."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from millrace.serve.config.choices import ShareType
from millrace.system import paths
from millrace.system.command import command
from millrace.system.documents import Contract, read_model
from millrace.system.errors import BadInput
from millrace.system.names import share_name, snapshot_name

MANIFEST = "manifest.json"
"""What a snapshot is, beside its tree."""
SNAPSHOT_TREE = "tree"
"""The directory in that of a snapshot that has what the share held."""


class SnapshotOrigin(Contract):
    """What the manifest of a snapshot says of the share that it was made of."""

    schema_version: Literal[1] = 1
    type: ShareType | None = None
    project: int | None = None


def top(mountpoint: str) -> Path:
    """Return the directory of all snapshots, which need not exist."""
    return paths.ROOT / mountpoint.lstrip("/") / paths.SNAPSHOTS


def shares(mountpoint: str) -> list[str]:
    """Return the names of the shares, also of former ones, that have snapshots. OSError: they cannot be listed."""
    return [name for name in _listed(top(mountpoint)) if share_name.problem(name) is None and names(name, mountpoint)]


def names(share: str, mountpoint: str) -> list[str]:
    """Return the names of the snapshots of a share, the oldest first. OSError: they cannot be listed."""
    return [name for name in _listed(top(mountpoint) / share) if snapshot_name.problem(name) is None]


def type_of(share: str, name: str, mountpoint: str) -> ShareType | None:
    """Return the type that a share had when a snapshot of it was made; None where that is not known."""
    origin = _origin(share, name, mountpoint)
    return None if origin is None else origin.type


def project_of(share: str, name: str, mountpoint: str) -> int | None:
    """Return the quota project of the share that a snapshot was made of; None where that is not known."""
    origin = _origin(share, name, mountpoint)
    return None if origin is None else origin.project


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
        return read_model(top(mountpoint) / share / name / MANIFEST, SnapshotOrigin)
    except (BadInput, OSError):
        return None


def _listed(directory: Path) -> list[str]:
    return sorted(os.listdir(directory)) if directory.is_dir() else []
