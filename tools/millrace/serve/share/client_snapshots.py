# SPDX-License-Identifier: Apache-2.0
"""The snapshots that clients of a share see: as previous versions over SMB, as an export for reading over NFS.

Samba (vfs_shadow_copy2, 4.25) and nfsd read a snapshot where it is. The modes above its tree decide whether a user gets
there; those of the tree are those of the share, as they were. No client writes there: smbd has the directory read-only
(smbd.service.d/31-needs.conf), the export is read-only, and Samba refuses to change what it opens by a time.
"""

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from millrace.serve.share import kept_snapshots, permissions
from millrace.serve.share.kept_snapshots import SNAPSHOT_TREE
from millrace.serve.share.model import Share
from millrace.system import paths
from millrace.system.command import command
from millrace.system.errors import Failed, MillraceError
from millrace.system.files import describe
from millrace.system.names import share_name, snapshot_name
from millrace.system.trees import nofollow

MODULE: Final = "shadow_copy2"

CROSSED: Final = 0o711
"""The mode of directories of root that users pass and do not list."""
PRIVATE: Final = 0o700
"""The mode of what no client sees."""

# Names begin with the time in UTC, and end with a kind. With a prefix, here none, Samba looks names up in a list of the
# directory, where what follows the time counts for nothing; the prefix ends where the delimiter begins, with the year.
_NAMES: Final[Mapping[str, str]] = {
    "shadow:snapprefix": "^$",
    "shadow:delimiter": "20",
    "shadow:format": "%Y%m%dT%H%M%SZ",
}


def directory(mountpoint: str, share: str) -> str:
    """Return the path of the snapshots of a share, which need not exist."""
    return f"{mountpoint}/{paths.SNAPSHOTS}/{share}"


def parameters(share: Share) -> dict[str, str]:
    """Return the lines for Samba of a share whose snapshots SMB clients see."""
    mountpoint = str(Path(share.path).parent)
    # A home is below the share: what Samba adds is HOME as it is below the pool, and a link of that name leads there.
    below = {} if share.type == "home" else {"shadow:snapsharepath": SNAPSHOT_TREE}
    where = {"shadow:mountpoint": mountpoint, "shadow:snapdir": directory(mountpoint, share.name)}
    return {**where, **below, **_NAMES}


def settle(shares: Sequence[Share], mountpoint: str) -> list[str]:
    """Let users into the snapshots of shares whose clients see them, and into no others.

    Return what keeps users out of them, in words. Failed, OSError: the pool has something else in the place.
    """
    seen = {share.name: share for share in shares if _is_seen(share)}
    problems: list[str] = []
    with nofollow.directory(paths.ROOT / mountpoint.lstrip("/")) as pool:
        # also where none is seen: smbd, which starts after this, has it read-only from its start on
        nofollow.make_directory(paths.SNAPSHOTS, CROSSED, pool)
        with nofollow.directory(paths.SNAPSHOTS, pool) as top:
            if os.fstat(top).st_uid != os.getuid():
                where = f"{mountpoint}/{paths.SNAPSHOTS}"
                raise Failed(f"{where} is not a directory of root: examine it and remove it")
            _set_mode(top, CROSSED)
            for name in sorted({*os.listdir(top), *seen}):
                if share_name.problem(name) is not None:
                    continue
                try:
                    _settle(name, seen.get(name), mountpoint, top)
                except (MillraceError, OSError) as error:
                    problems.append(f"clients of {name} do not see its snapshots: {describe(error)}")
    return problems


def exportable(shares: Sequence[Share], mountpoint: str) -> list[Share]:
    """Return shares with the export of their snapshots only where its clients reach none of a former share.

    `settle` closes these to users; root of a client that is not squashed goes where users do not.
    """
    return [
        share
        if not _is_exported(share) or _problem(share, mountpoint) is None
        else share.model_copy(update={"exported_snapshots": None, "read_snapshots": None, "readers": []})
        for share in shares
    ]


def obstacles(shares: Sequence[Share], mountpoint: str) -> list[str]:
    """Return why the snapshots of shares are not exported that should be, in words."""
    found = ((share, _problem(share, mountpoint)) for share in shares if _is_exported(share))
    return [f"the snapshots of {share.name} are not exported: {problem}" for share, problem in found if problem]


def reached_by_root(share: Share) -> bool:
    """Whether clients read all snapshots of a share as root: modes keep them from none of a former share."""
    return _is_exported(share) and _has_roots(share)


def _has_roots(share: Share) -> bool:
    return bool(share.readers) or any(client.squash == "none" for client in share.exports)


def _is_exported(share: Share) -> bool:
    return share.exported_snapshots is not None or share.read_snapshots is not None


def _is_seen(share: Share) -> bool:
    return _is_exported(share) or (share.smb is not None and share.smb.previous_versions)


def _problem(share: Share, mountpoint: str) -> str | None:
    try:
        with kept_snapshots.opened(mountpoint, share.name) as at:
            _require_own(at, share.name)
    except (Failed, OSError) as error:
        # exportfs would follow a link to what it leads to
        return f"their directory is not usable: {describe(error)}"
    if _has_roots(share) and foreign(share.name, share.project, mountpoint):
        listed = command("millrace snapshot list", share.name)
        return (
            "some of them are of a former share or cannot be read, and root of a client is not squashed; remove these "
            f"snapshots, or squash root of all clients: {listed}"
        )
    return None


def foreign(share: str, project: int, mountpoint: str) -> list[str]:
    """Return the names of snapshots that are of a former share, or of which it is not known.

    OSError: they cannot be listed.
    """
    names = kept_snapshots.names(share, mountpoint)
    return [name for name in names if kept_snapshots.project_of(share, name, mountpoint) != project]


def _settle(name: str, share: Share | None, mountpoint: str, top: int) -> None:
    if share is None:
        # none stays empty; a link lets nobody into anything of ours
        with suppress(OSError, Failed):
            with nofollow.directory(name, top) as at:
                _set_mode(at, PRIVATE)
            os.rmdir(name, dir_fd=top)
        return
    nofollow.make_directory(name, PRIVATE, top)
    gid, mode = _access(share)
    with nofollow.directory(name, top) as at:
        _require_own(at, name)
        # nobody whom the share lets in no more, whatever happens to a snapshot below
        if os.fstat(at).st_gid != gid:
            os.fchmod(at, PRIVATE)
            os.fchown(at, -1, gid)
        _set_mode(at, stat.S_IMODE(os.fstat(at).st_mode) & mode)
        for each in os.listdir(at):
            if snapshot_name.problem(each) is None:
                _settle_snapshot(each, share, mountpoint, at)
        _set_mode(at, mode)


def _settle_snapshot(name: str, share: Share, mountpoint: str, at: int) -> None:
    own = kept_snapshots.project_of(share.name, name, mountpoint) == share.project
    try:
        with nofollow.directory(name, at) as snapshot:
            _set_mode(snapshot, CROSSED if own and _leads_nowhere_else(snapshot) else PRIVATE)
    except Failed as error:
        # removed meanwhile
        if not isinstance(error.__cause__, FileNotFoundError):
            raise


def _require_own(at: int, name: str) -> None:
    if os.fstat(at).st_uid != os.getuid():
        raise Failed(f"the directory of the snapshots of {name} is not of root: examine it and remove it")


def _leads_nowhere_else(snapshot: int) -> bool:
    """Whether no link in a snapshot, beside its tree, leads smbd to anything but the tree."""
    with os.scandir(snapshot) as held:
        links = {entry.name for entry in held if entry.is_symlink()}
    return SNAPSHOT_TREE not in links and {os.readlink(link, dir_fd=snapshot) for link in links} <= {SNAPSHOT_TREE}


def _access(share: Share) -> tuple[int, int]:
    """The group and the mode of the directory of snapshots: whom the rule of the share lets into it now."""
    rule = permissions.rule(share)
    if rule is None or share.group is None:
        return os.getgid(), 0o755
    return permissions.number(share), PRIVATE | rule.mode & 0o055


def _set_mode(at: int, mode: int) -> None:
    if stat.S_IMODE(os.fstat(at).st_mode) != mode:
        os.fchmod(at, mode)
