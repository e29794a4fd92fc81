# SPDX-License-Identifier: Apache-2.0
"""One share with its directory, and its rule for writing."""

import grp
import os
import pwd
import stat
from collections.abc import Sequence
from contextlib import suppress

from millrace.serve.share import directories, permissions
from millrace.serve.share.listing import listed, served, space
from millrace.serve.share.model import Share, ShareDetails
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.command import command
from millrace.system.errors import MillraceError, Refused
from millrace.system.net import Interface
from millrace.system.printing import fields
from millrace.system.run import Runner, attempt


def details(
    name: str, pool: Pool | None, ports: Sequence[Interface] | None = None, run: Runner = attempt
) -> ShareDetails:
    """Return one share and its directory. Refused: there is none of this name."""
    share = next((share for share in listed(pool, ports, run) if share.name == name), None) if pool else None
    if share is None:
        raise Refused(f"share {name} does not exist: millrace share list")
    owner = group = mode = None
    with suppress(OSError):
        status = os.stat(paths.ROOT / share.path.lstrip("/"))
        owner, group, mode = _user(status.st_uid), _group(status.st_gid), f"{stat.S_IMODE(status.st_mode):04o}"
    return ShareDetails(
        share=share, writers=permissions.words(share), owner=owner, group=group, mode=mode, follows=_follows(share)
    )


def lines(shown: ShareDetails) -> list[str]:
    """Return the lines of one share."""
    share = shown.share
    directory = "unknown" if shown.mode is None else f"{shown.owner}:{shown.group} {shown.mode}"
    if shown.follows is False:
        todo = command("millrace share permissions", share.name, options=["--apply"])
        directory += f", not as the rule says: {todo}"
    cells = {
        "Name": share.name,
        "Type": share.type,
        "Comment": share.comment,
        "Path": share.path,
        "Used": space(share),
        "Writing": shown.writers,
        "Directory": directory,
        "Served": served(share),
    }
    return list(fields((title, text) for title, text in cells.items() if text))


def _follows(share: Share) -> bool | None:
    with suppress(MillraceError, OSError):
        return directories.follows(share)
    return None


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
