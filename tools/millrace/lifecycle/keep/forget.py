# SPDX-License-Identifier: Apache-2.0
"""Forget the users of this server in the state on its pool: one generation without them, and no other one.

The new generation is written completely before an older one is removed: the newest counts, so that users are forgotten
in one step, and what a kill leaves of the rest is removed when it is done again.
"""

from datetime import UTC, datetime
from pathlib import Path

from millrace.lifecycle.keep import gather, generation_store, home
from millrace.lifecycle.keep.gather import Content, Gathered
from millrace.lifecycle.keep.keeping import lock, mounted_pool, packed
from millrace.lifecycle.keep.kept_files import KEPT, STATE
from millrace.lifecycle.keep.model import Forgotten
from millrace.serve.config import store
from millrace.serve.config.model import Config, DesiredShare
from millrace.serve.config.protocols import Nfs, Smb
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.files import sync
from millrace.system.run import Runner

CONFIG = f"{STATE}/config.json"

STAYS = {
    *(
        f"{STATE}/{name}.json"
        for name in ("pool", "history/pool-*", "plan", "priority", "removed", "in-sync", "apart", "returns")
    ),
    *(f"{STATE}/{name}.json" for name in ("unclean", "scrub", "trim", "drives", "media-errors", "rises", "reset-last")),
    "accounts/quotas.json",
}
"""What of the table is about drives and trees alone. Everything else goes, also what a later table has beside it."""


def without_people(config: Config) -> Config:
    """Return the shares alone, which nobody can open; numbers that were given to users are not given to others."""
    closed = [
        DesiredShare(
            name=share.name,
            type=share.type,
            size=share.size,
            soft_size=share.soft_size,
            child_size=share.child_size,
            sealed=share.sealed,
            project=share.project,
            fsid=share.fsid,
            snapshots=share.snapshots,
            # the group is forgotten as well; its number on the directory lets nobody else in
            writing=share.writing if share.group is None else "own",
            nfs=Nfs(enabled=False),
            smb=Smb(enabled=False),
        )
        for share in config.shares
    ]
    return Config(serial=config.serial, next_id=config.next_id, next_project=config.next_project, shares=closed)


def forget_people(pool: Pool, run: Runner, who: Forgotten) -> int:
    """Write a generation without people and remove all others; return its number. Repeated after a power cut.

    Refused: another boot drive wrote the newest state. Failed: the pool is not mounted, or something of it cannot be
    read or written; older generations are there then.
    """
    with lock():
        mountpoint = mounted_pool(pool)
        home.refuse(mountpoint, pool.filesystem_uuid)
        where = generation_store.make_directory(mountpoint)
        gathered = gather.gather(run, [kept for kept in KEPT if kept.path in STAYS])
        if gathered.problems:
            raise Failed(f"the state of the pool cannot be read: {gathered.problems[0]}")
        number = max(generation_store.numbers(where), default=0) + 1
        everything = Gathered(sorted([*gathered.contents, _config()], key=lambda content: content.path), [], [])
        _, data = packed(pool, everything, None, number, datetime.now(UTC), who, home.record(number))
        generation_store.write(where, number, data)
        _remove_others(where, number)
        _remove_history(mountpoint)
    return number


def _remove_others(where: Path, number: int) -> None:
    for other in generation_store.numbers(where):
        if other != number:
            generation_store.file(where, other).unlink(missing_ok=True)
    generation_store.prune(where)
    sync(where)


def _remove_history(mountpoint: Path) -> None:
    """It has the addresses of clients."""
    history = mountpoint / paths.POOL_HISTORY
    for name in (history.name, f"{history.name}-journal", f"{history.name}.damaged"):
        history.with_name(name).unlink(missing_ok=True)
    if history.parent.is_dir():
        sync(history.parent)


def _config() -> Content:
    data = without_people(store.read().config).model_dump_json(indent=2).encode()
    return Content(CONFIG, 0o644, data, next(one for one in KEPT if one.path == CONFIG))
