# SPDX-License-Identifier: Apache-2.0
"""Which SMB clients have a share open, and with which files, from smbstatus; and the end of their connections.

NFS clients have the file system of the pool open, not a share: the kernel names the inode of each open file only.
"""

import pwd
from collections import Counter
from collections.abc import Mapping
from typing import Any

from millrace.serve.share.model import DisconnectReport, OpenFile, Share, ShareConnection, ShareConnections
from millrace.serve.share.session import smb_address, smb_status
from millrace.serve.share.smb_parameters import CHECKER
from millrace.system.errors import Refused
from millrace.system.run import Runner, must

MOST_FILES = 100
"""So many open files are listed by name."""


def connections(share: Share, run: Runner) -> ShareConnections:
    """Return the SMB clients of a share, and their open files. Failed: smbstatus fails, or the caller is not root."""
    status = smb_status(run)
    sessions: Mapping[str, Any] = status.get("sessions", {})
    opens = [
        (file, handle)
        for file in status.get("open_files", {}).values()
        if _below(str(file.get("service_path", "")), share)
        for handle in file.get("opens", {}).values()
    ]
    counts = Counter(str(handle["server_id"]["pid"]) for _, handle in opens)
    clients = [
        ShareConnection(
            host=smb_address(str(tree.get("machine", ""))),
            user=user,
            since=str(tree.get("connected_at", "")),
            files=counts[str(tree["server_id"]["pid"])],
        )
        for tree in status.get("tcons", {}).values()
        if tree.get("service") == share.name
        if (user := str(sessions.get(str(tree.get("session_id")), {}).get("username", ""))) != CHECKER
    ]
    files = [
        OpenFile(
            path=str(file.get("filename", "")),
            user=_user(handle.get("uid")),
            writing=bool(handle.get("access_mask", {}).get("WRITE_DATA")),
        )
        for file, handle in opens
    ]
    return ShareConnections(clients=clients, files=files[:MOST_FILES], open_files=len(files))


def disconnect(share: Share, run: Runner) -> DisconnectReport:
    """End the SMB connections to a share, which closes its files; clients connect again by themselves.

    Refused: the share is not served by Samba. Failed: smbd does not reply.
    """
    if share.smb is None:
        raise Refused(f"{share.name} is not served by Samba: only its SMB clients can be disconnected")
    before = connections(share, run)
    must(run, ["smbcontrol", "smbd", "close-share", share.name])
    return DisconnectReport(share=share.name, clients=len(before.clients))


def _below(path: str, share: Share) -> bool:
    # of homes each user has a directory
    return path == share.path or path.startswith(f"{share.path}/")


def _user(number: object) -> str:
    try:
        return pwd.getpwuid(int(str(number))).pw_name
    except (KeyError, ValueError, OverflowError):
        return str(number)
