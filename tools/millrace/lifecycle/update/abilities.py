# SPDX-License-Identifier: Apache-2.0
"""What the other version would undo because it does not know it: each version records what it knows.

The record is made when another version is installed beside it. A version without one is older than the records.
"""

import stat
from datetime import UTC, datetime
from typing import Literal

from millrace.lifecycle.update.release import number
from millrace.serve.share import kept_snapshots
from millrace.storage.record.pool_file import known_pool
from millrace.system import ages, paths
from millrace.system.documents import Contract, read_model, write_model
from millrace.system.errors import BadInput, Failed
from millrace.system.files import describe
from millrace.system.mounts import mounted
from millrace.system.text import moment

LOCKS = "snapshot-locks"
"""Locks of snapshots, and a directory of snapshots that clients may pass."""
OPTION = "--end-locks"


class VersionAbilities(Contract):
    """What a version knows."""

    schema_version: Literal[1] = 1
    abilities: list[str]


def keep(version: str) -> None:
    """Record what this version, which runs, knows. OSError: it cannot be written."""
    where = paths.by_version_dir() / version
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_model(where / "abilities.json", VersionAbilities(abilities=[LOCKS]))


def ended_locks(version: str, running: str) -> str | None:
    """Return which locks of snapshots another version may end, with the option that allows it; None where it ends none.

    A pool that is not mounted is no reason: a version that serves may be needed to mount it.
    """
    point = _pool_without_locks(version, running)
    if point is None:
        return None
    try:
        locks = kept_snapshots.locks(point)
    except (BadInput, Failed, OSError) as error:
        return (
            f"version {version} may not know locks of snapshots, and which snapshots are locked is not known: "
            f"{describe(error)}; to start it nevertheless use {OPTION}"
        )
    now = datetime.now(UTC)
    last = max((lock.end(now) for lock in locks), key=ages.when, default=None)
    if last is None:
        return None
    which = "lock of 1 snapshot" if len(locks) == 1 else f"locks of {len(locks)} snapshots"
    return (
        f"version {version} may not know locks and would end the {which} (until {moment(last)}); to start it "
        f"nevertheless use {OPTION}"
    )


def closed_snapshots(version: str, running: str) -> list[str]:
    """Return what to do so that another version makes snapshots, as a sentence; nothing where it does."""
    point = _pool_without_locks(version, running)
    top = None if point is None else kept_snapshots.top(point)
    try:
        is_open = top is not None and stat.S_IMODE(top.lstat().st_mode) & 0o077 != 0
    except OSError:
        is_open = False
    # it takes such a directory for one of another user, and says that it is to be removed
    return [f"If version {version} makes no snapshots: chmod 700 {top}; do not remove it."] if is_open else []


def _pool_without_locks(version: str, running: str) -> str | None:
    """The mount point of a pool whose locks another version may not know."""
    pool = known_pool()
    if pool is None or mounted(pool.filesystem.mountpoint) is None:
        return None
    return None if number(version) >= number(running) or LOCKS in _known(version) else pool.filesystem.mountpoint


def _known(version: str) -> list[str]:
    try:
        return read_model(paths.by_version_dir() / version / "abilities.json", VersionAbilities).abilities
    except (BadInput, OSError, UnicodeDecodeError):
        return []
