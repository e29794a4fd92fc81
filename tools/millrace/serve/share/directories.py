# SPDX-License-Identifier: Apache-2.0
"""The directories of shares: created with the right mode in one step, removed only by name, out of reach of clients."""

import os
import secrets
import stat
from pathlib import Path

from millrace.serve.share import permissions
from millrace.serve.share.model import Share
from millrace.serve.share.permissions import TopState
from millrace.system import paths
from millrace.system.errors import Failed, Refused
from millrace.system.run import Runner, must
from millrace.system.trees import nofollow

# Only root creates where all is read-only, or below which homes are; root alone until all of a directory is set.
GUARDED, PRIVATE = 0o755, 0o700

# Beside the shares, and only root's: what is deleted is moved out of the clients' reach first.
TRASH = ".millrace-trash"


def create(share: Share) -> bool:
    """Create the directory of a share and the homes below it; return whether it was missing.

    The mode of a directory that exists is its users' choice. Failed: something else is in its place, or its group is
    not known.
    """
    path, rule = _path(share), permissions.rule(share)
    if rule is not None and rule.default is not None:
        created = _make(path, PRIVATE)
        with nofollow.directory(path) as at:
            # a power cut between making it and setting all of it left it to root
            if created or _is_unfinished(at):
                permissions.restore(at, permissions.wanted(rule, permissions.number(share)))
        return created
    created = _make(path, GUARDED if rule is None else rule.mode)
    if share.homes:
        with nofollow.directory(path) as at:
            # what clients could change until now they could change again before it is given away
            if not _is_closed(at):
                return created
            for name, uid in share.homes.items():
                nofollow.make_directory(name, PRIVATE, at, (uid, -1))
                with nofollow.directory(name, at) as home:
                    status = os.fstat(home)
                    # A power cut between making it and giving it away left it to root.
                    if status.st_uid == os.getuid() and stat.S_IMODE(status.st_mode) == PRIVATE:
                        os.fchown(home, uid, -1)
    return created


def set_rule(share: Share) -> TopState | None:
    """Give the directory of a share what its rule says, and nothing in it; return the state before.

    None: it is missing, or its type has no such rule. Failed: its group is not known.
    """
    path, rule = _path(share), permissions.rule(share)
    if rule is None or not os.path.lexists(path):
        return None
    after = permissions.wanted(rule, permissions.number(share))
    with nofollow.directory(path) as at:
        before = permissions.state(at)
        if before != after:
            permissions.restore(at, after)
    return before


def follows(share: Share) -> bool:
    """Whether the directory of a share is as its rule says; True for a type that has no such rule."""
    path, rule = _path(share), permissions.rule(share)
    if rule is None:
        return True
    with nofollow.directory(path) as at:
        return permissions.state(at) == permissions.wanted(rule, permissions.number(share))


def close(share: Share) -> TopState | None:
    """Allow only root to create directories beside the homes of a share; return the state before.

    None: it was closed.

    A share that becomes one of homes may have been open to all users until now.
    """
    path = _path(share)
    if share.type != "home" or not os.path.lexists(path):
        return None
    with nofollow.directory(path) as at:
        if _is_closed(at):
            return None
        before = permissions.state(at)
        permissions.restore(at, TopState((os.getuid(), os.getgid()), GUARDED, None, None))
    return before


def reopen(share: Share, before: TopState) -> None:
    """Undo `close` and `set_rule`."""
    with nofollow.directory(_path(share)) as at:
        permissions.restore(at, before)


def foreign_homes(share: Share) -> list[str]:
    """Return homes of a share that are not owned by their users, in words: they stay as they are and are no home."""
    path = _path(share)
    problems: list[str] = []
    if not share.homes or not os.path.lexists(path):
        return []
    with nofollow.directory(path) as at:
        for name, uid in share.homes.items():
            try:
                entry = os.stat(name, dir_fd=at, follow_symlinks=False)
            except FileNotFoundError:
                continue
            if not stat.S_ISDIR(entry.st_mode):
                problems.append(f"{share.path}/{name} is not a directory, so {name} has no home there: move it away")
            elif entry.st_uid not in (uid, os.getuid()):
                problems.append(
                    f"{share.path}/{name} belongs to another user (number {entry.st_uid}), so {name} has no home "
                    f"there: move it away, or give it to the user: chown -R {uid} {share.path}/{name}"
                )
    return problems


def _is_closed(at: int) -> bool:
    """Whether only root can create anything in an open directory."""
    found = os.fstat(at)
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_unfinished(at: int) -> bool:
    """Whether an open directory is as it was made. One that root closed by hand has content, and stays closed."""
    status = os.fstat(at)
    return status.st_uid == os.getuid() and stat.S_IMODE(status.st_mode) == PRIVATE and _is_empty(at)


def _is_empty(at: int) -> bool:
    with os.scandir(at) as inner:
        return next(inner, None) is None


def opened_again(share: Share, before: TopState) -> str | None:
    """Return in words that the directory of a new share was there with content and is another now; None: neither."""
    with nofollow.directory(_path(share)) as at:
        after, empty = permissions.state(at), _is_empty(at)
    if empty or before == after:
        return None
    return (
        f"{share.path} existed with content: its mode was {before.mode:04o} and is now {after.mode:04o}, as "
        f"{share.name} says who may write; to close it: chmod 0700 {share.path}"
    )


def _path(share: Share) -> Path:
    return paths.ROOT / share.path.lstrip("/")


def remove_empty(share: Share) -> None:
    """Remove a directory that a change created and that is empty."""
    path = _path(share)
    for directory in [*(path / name for name in share.homes), path]:
        try:
            directory.rmdir()
        except OSError:
            return


def delete(name: str, mountpoint: str, run: Runner) -> None:
    """Delete the data of a share that is no longer served.

    Refused: its path is not a directory. Failed: something of it remains.
    """
    root = paths.ROOT / mountpoint.lstrip("/")
    path = root / name
    if path.is_symlink() or not path.is_dir():
        raise Refused(f"{path} is not a directory: nothing was deleted")
    _make(root / TRASH, PRIVATE)
    away = root / TRASH / f"{name}-{secrets.token_hex(8)}"
    # In one step: no client sees half of it, and a name that was just deleted is free at once.
    os.rename(path, away)
    must(run, ["rm", "-rf", "--one-file-system", "--", str(away)])


def _make(path: Path, mode: int) -> bool:
    with nofollow.directory(path.parent) as at:
        try:
            return nofollow.make_directory(path.name, mode, at)
        except Failed as error:
            raise Failed(f"{path} blocks a share: it is not a directory; move it elsewhere") from error
