# SPDX-License-Identifier: Apache-2.0
"""Shares as the file wants them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from millrace.cli.apply.model import NONE, ShareEntry
from millrace.cli.apply.reading import Reading
from millrace.protect.backup import backup_store
from millrace.protect.snapshot import snapshot_plan
from millrace.serve.config.model import Config
from millrace.serve.share import edit, options
from millrace.serve.share.server import ShareServer
from millrace.system import paths
from millrace.system.command import command
from millrace.system.errors import Failed, MillraceError
from millrace.system.files import describe
from millrace.system.names import several

SIZES = ("size", "soft_size", "child_size")


def with_shares(config: Config, reading: Reading, prune: bool) -> Config:
    """Return a state with the shares of the file; what is wrong is noted in the reading."""
    named = reading.document.shares
    for name, share in (named or {}).items():
        try:
            config = _with_share(config, name, share)
        except MillraceError as error:
            reading.problem(("shares", name), str(error))
    if not prune or named is None:
        return config
    for share_ in config.shares:
        if share_.sealed and share_.name not in named:
            reading.problem(
                ("shares",),
                f"share {share_.name} is sealed and cannot be removed: {command('millrace share unseal', share_.name)}",
            )
        if share_.replica is not None and share_.name not in named:
            reading.warnings.append(
                f"share {share_.name} is a replica, which no file decides, and stays: "
                f"{command('millrace replica remove', share_.name)} ends it"
            )
    kept = [share for share in config.shares if share.name in named or share.replica is not None]
    return config.model_copy(update={"shares": kept})


def refuse_schedules(old: Config, new: Config, reading: Reading, server: Callable[[], ShareServer]) -> None:
    """Verify the schedules of snapshots that differ, of shares that have files. FileProblems: one cannot hold.

    Failed: a share cannot be counted. Without a pool nothing is verified.
    """
    before = {share.name: share for share in old.shares}
    due = [share for share in new.shares if share.name in before and share.snapshots != before[share.name].snapshots]
    if not paths.pool_file().exists() or not any(share.snapshots for share in due):
        return
    host = server()
    for share in due:
        try:
            planned = None if share.snapshots is None else snapshot_plan.plan(share, share.snapshots, host)
        except OSError as error:
            raise Failed(f"share {share.name} cannot be counted: {describe(error)}") from error
        if planned is not None and planned.obstacle:
            reading.problem(("shares", share.name, "snapshots"), planned.obstacle)
    reading.refuse()


def with_copies(things: Iterable[str], old: Config) -> Iterator[str]:
    """Yield things that are removed, shares with the backups and the readers of their snapshots that end with them.

    BadInput: the backups cannot be read.
    """
    backups = backup_store.load()
    ends = {
        f"share {share.name}": [
            *(f"backup {backup.name}" for backup in backups if backup.share == share.name),
            *(f"replica of {reader.address}" for reader in share.readers),
        ]
        for share in old.shares
    }
    for thing in things:
        names = ends.get(thing)
        yield f"{thing} (with {several(names)})" if names else thing


def _with_share(config: Config, name: str, entry: ShareEntry) -> Config:
    typed = _typed(entry)
    if config.share(name) is not None:
        return edit.setting_of(name, typed)(config) if any(typed.values()) else config
    if {"users", "groups"} & set(typed["smb"]):
        # as `share create` does: who is named opens it, and nobody else
        typed["smb"] = {"users": [], "groups": [], **typed["smb"]}
    project = config.next_project
    return edit.creation_of([name], typed)(config).model_copy(update={"next_project": project + 1})


def _typed(entry: ShareEntry) -> dict[str, dict[str, Any]]:
    """What is decided, by where it belongs, as options of the command line are."""
    share = entry.model_dump(exclude_none=True, exclude={"nfs", "smb"})
    share |= {key: options.size(share[key]) for key in SIZES if key in share}
    share |= {key: None for key in ("group", "snapshots") if share.get(key) == NONE}
    return {
        "share": share,
        "nfs": entry.nfs.model_dump(exclude_none=True),
        "smb": entry.smb.model_dump(exclude_none=True),
    }
