# SPDX-License-Identifier: Apache-2.0
"""The directories of shares: made with the right mode in one step, removed only by name, out of reach of clients."""

import os
from pathlib import Path

from millrace import paths
from millrace.errors import Failed, Refused
from millrace.share.model import Share
from millrace.share.tools import Runner, must

# Everyone may create and only owners delete; nobody but root where all is read-only, or below which homes are.
SHARED, GUARDED, PRIVATE = 0o1777, 0o755, 0o700

# Beside the shares, and nobody's: what is deleted is moved out of the clients' reach first.
TRASH = ".millrace-trash"


def create(share: Share) -> bool:
    """Make the directory of a share and the homes below it; whether it was not there.

    The mode of a directory that exists is its users' choice. Failed where something else is in its place.
    """
    path = paths.ROOT / share.path.lstrip("/")
    made = _make(path, GUARDED if share.profile in ("dataset-ro", "home") else SHARED)
    for name, uid in share.homes.items():
        home = path / name
        _make(home, PRIVATE)
        # A power cut between the two left it to root.
        if home.stat().st_uid == 0:
            os.chown(home, uid, -1)
    return made


def remove_empty(share: Share) -> None:
    """Take back a directory that a change made and that holds nothing."""
    path = paths.ROOT / share.path.lstrip("/")
    for directory in [*(path / name for name in share.homes), path]:
        try:
            directory.rmdir()
        except OSError:
            return


def delete(name: str, mountpoint: str, run: Runner) -> None:
    """Delete the data of a share that is not served any more. Failed if something of it is left."""
    root = paths.ROOT / mountpoint.lstrip("/")
    path = root / name
    if path.is_symlink() or not path.is_dir():
        raise Refused(f"{path} is not a directory: nothing was deleted")
    _make(root / TRASH, PRIVATE)
    away = root / TRASH / f"{name}-{os.getpid()}"
    # In one step: no client sees half of it, and a name that was just deleted is free at once.
    os.rename(path, away)
    must(run, ["rm", "-rf", "--one-file-system", "--", str(away)])


def _make(path: Path, mode: int) -> bool:
    if path.is_dir() and not path.is_symlink():
        return False
    mask = os.umask(0)
    try:
        # In one step: a power cut between mkdir and chmod would leave a mode that nobody chose.
        path.mkdir(mode)
    except FileExistsError as error:
        raise Failed(f"{path} is in the way of a share: it is not a directory, move it elsewhere") from error
    finally:
        os.umask(mask)
    return True
