# SPDX-License-Identifier: Apache-2.0
"""Shares as the file wants them."""

from typing import Any

from millrace.cli.apply.model import NONE, ShareEntry
from millrace.cli.apply.reading import Reading
from millrace.serve.config.model import Config
from millrace.serve.share import edit, options
from millrace.system.command import command
from millrace.system.errors import MillraceError

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
    return config.model_copy(update={"shares": [share for share in config.shares if share.name in named]})


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
