# SPDX-License-Identifier: Apache-2.0
"""The rule for writing in a share: owner, group, mode and default access list of its directory, and of its content.

The default list is what both servers keep: nfsd gets the umask of a client apart (RFC 8275), so that the list counts
instead of it, and smbd inherits lists (`inherit acls`).
"""

import grp
import os
import stat
from typing import NamedTuple

from millrace.serve.config.choices import ShareType, Writing
from millrace.serve.config.model import DesiredShare
from millrace.serve.share.model import Share
from millrace.system import posix_acl
from millrace.system.errors import Failed

# Types that have a rule of their own: nobody writes, or each user has a directory.
RULED: frozenset[ShareType] = frozenset({"dataset-ro", "home"})


class AccessRule(NamedTuple):
    """Mode of the top directory, and permissions of new entries; `default` None leaves these to their creators."""

    mode: int
    default: int | None

    @property
    def inner(self) -> int:
        """The mode of a directory below the top."""
        return self.mode if self.default is not None else 0o755


class TopState(NamedTuple):
    """Owner, mode and access lists of a directory."""

    owner: tuple[int, int]
    mode: int
    access: bytes | None
    default: bytes | None


def rule(share: Share | DesiredShare) -> AccessRule | None:
    """Return the rule of a share; None for a type that has its own."""
    if share.type in RULED or share.writing is None:
        return None
    return _rule(share.writing, share.group is not None)


def _rule(writing: Writing, with_group: bool) -> AccessRule:
    if writing == "own":
        return AccessRule(0o1777, None)
    if not with_group:
        return AccessRule(0o777, 0o777)
    return AccessRule(0o2775, 0o775) if writing == "some" else AccessRule(0o2770, 0o770)


def number(share: Share) -> int:
    """Return the number of the group of a share, 0 for root. Failed: the domain does not report its group."""
    if share.group is None:
        return os.getgid()
    if share.gid is not None:
        return share.gid
    try:
        return grp.getgrnam(share.group).gr_gid
    except KeyError as error:
        raise Failed(f"group {share.group} of {share.name} has no number: the domain does not report it") from error


def state(at: int) -> TopState:
    """Return the state of an open directory."""
    status = os.fstat(at)
    return TopState(
        (status.st_uid, status.st_gid),
        stat.S_IMODE(status.st_mode),
        posix_acl.read(at, posix_acl.ACCESS),
        posix_acl.read(at, posix_acl.DEFAULT),
    )


def restore(at: int, before: TopState) -> None:
    """Put an open directory back into a state; nothing is allowed meanwhile that neither the old nor the new allows."""
    now = state(at)
    if now.access is not None or now.owner != before.owner:
        # the group bits are the mask of a list, which allows its group less; a new group has none of the old mode
        os.fchmod(at, now.mode & before.mode & ~0o070)
    posix_acl.write(at, posix_acl.ACCESS, None)
    posix_acl.write(at, posix_acl.DEFAULT, before.default)
    os.fchown(at, *before.owner)
    if before.access is None:
        os.fchmod(at, before.mode)
        return
    # the list sets the bits of the group, which are its mask
    os.fchmod(at, before.mode & ~0o070)
    posix_acl.write(at, posix_acl.ACCESS, before.access)


def wanted(found: AccessRule, gid: int) -> TopState:
    """Return the state of a top directory under a rule."""
    default = None if found.default is None else posix_acl.encode(found.default)
    return TopState((os.getuid(), gid), found.mode, None, default)


def rule_of(seen: TopState) -> tuple[Writing, int | None] | None:
    """Return the rule, and the number of its group, that set a top directory so that all or a group write in it."""
    rules: tuple[tuple[Writing, int | None], ...] = (
        ("together", None),
        ("together", seen.owner[1]),
        ("some", seen.owner[1]),
    )
    for writing, gid in rules:
        if seen == wanted(_rule(writing, gid is not None), os.getgid() if gid is None else gid):
            return writing, gid
    return None


def words(share: Share) -> str:
    """Return the rule for writing in a share, in words."""
    if share.type == "dataset-ro":
        return "nobody writes"
    if share.type == "home" or share.writing is None:
        return "each user has a private directory"
    if share.writing == "own":
        return "all users of the share create files; each user changes only their own"
    if share.writing == "some":
        return f"members of {share.group} write; all users of the share read"
    who = f"members of {share.group}" if share.group else "all users of the share"
    return f"{who} write everything"
