# SPDX-License-Identifier: Apache-2.0
"""One share with its directory, and its rule for writing."""

import grp
import os
import pwd
import stat
from collections.abc import Sequence
from contextlib import suppress

from millrace.serve.share import directories, kept_results, permissions, smb_parameters
from millrace.serve.share.connections import connections
from millrace.serve.share.model import Caching, Denials, Share, ShareConnections, ShareDetails
from millrace.serve.share.share_list import listed, served, space
from millrace.storage.record.model import Pool
from millrace.system import paths
from millrace.system.command import command
from millrace.system.errors import MillraceError, Refused
from millrace.system.net import Interface
from millrace.system.printing import fields
from millrace.system.run import Runner, attempt
from millrace.system.text import moment

CACHING: dict[Caching, str] = {
    "clients": "SMB clients keep data and open files (leases, durable handles)",
    "none": "none, because NFS clients write the same files: 100 reads of an open file are 100 requests instead of 1, "
    "and a lost connection closes the files",
}
DENIALS: dict[Denials, str] = {
    "kept": "entries of Windows that deny access are kept and count",
    "refused": "entries of Windows that deny access are refused; remove the entry that allows access instead",
    "dropped": "entries of Windows that deny access are dropped without an error",
}


def details(
    name: str, pool: Pool | None, ports: Sequence[Interface] | None = None, run: Runner = attempt
) -> ShareDetails:
    """Return one share and its directory. Refused: there is none of this name."""
    share = next((share for share in listed(pool, ports, run) if share.name == name), None) if pool else None
    if share is None:
        raise Refused(f"share {name} does not exist: millrace share list")
    opened, problem = _connections(share, run)
    owner = group = mode = None
    with suppress(OSError):
        status = os.stat(paths.ROOT / share.path.lstrip("/"))
        owner, group, mode = _user(status.st_uid), _group(status.st_gid), f"{stat.S_IMODE(status.st_mode):04o}"
    return ShareDetails(
        share=share,
        writers=permissions.words(share),
        owner=owner,
        group=group,
        mode=mode,
        follows=_follows(share),
        denials=smb_parameters.denials(share),
        caching=smb_parameters.caching(share),
        connections=opened,
        problem=problem,
        verification=next(iter(kept_results.kept([share.name])), None),
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
        "Access lists": DENIALS[shown.denials] if shown.denials else "",
        "Served": served(share),
        "Caching": CACHING[shown.caching] if shown.caching else "",
        "Access log": "on" if share.smb and share.smb.audit else "off" if share.smb else "",
        "Snapshots": f"{share.snapshots.words} are kept" if share.snapshots else "",
        "Seen by": _seen_by(share),
        "Connected": _connected(shown),
        "Verified": _verified(shown),
    }
    return list(fields((title, text) for title, text in cells.items() if text))


def _seen_by(share: Share) -> str:
    ways = [
        "SMB clients (previous versions)" if share.smb and share.smb.previous_versions else "",
        f"NFS clients ({share.exported_snapshots}, read-only)" if share.exported_snapshots else "",
    ]
    return f"snapshots: {', '.join(filter(None, ways)) or 'no clients'}"


def _connections(share: Share, run: Runner) -> tuple[ShareConnections | None, str | None]:
    if share.smb is None:
        return None, None
    try:
        return connections(share, run), None
    except MillraceError as error:
        return None, str(error)


def _connected(shown: ShareDetails) -> str:
    if shown.connections is None:
        return shown.problem or ""
    clients = shown.connections.clients
    names = ", ".join(sorted({f"{client.user} from {client.host}" for client in clients}))
    return f"{names or 'no SMB clients'}; {shown.connections.open_files} open files"


def _verified(shown: ShareDetails) -> str:
    if shown.verification is None:
        return f"no: {command('millrace share verify', shown.share.name)}"
    result = shown.verification.result
    at = moment(shown.verification.at)
    return f"{at}: {result.problem}" if result.problem else f"{at}: served"


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
