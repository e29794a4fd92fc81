# SPDX-License-Identifier: Apache-2.0
"""Sessions of SMB Direct, from /proc/fs/ksmbd (kernel 7.2: fs/smb/server/mgmt/user_session.c)."""

from pathlib import Path
from typing import NamedTuple

from millrace.serve.share.direct.listener import peers
from millrace.serve.share.smb_parameters import CHECKER
from millrace.system import paths
from millrace.system.run import Runner


class DirectSession(NamedTuple):
    """One session; `host` is empty and `open_files` None where the kernel does not say which client it is of.

    A cipher that the kernel lists was agreed upon, and is not in use unless the client asks for it.
    """

    user: str
    host: str
    channels: int | None
    open_files: int | None


def sessions(run: Runner) -> list[DirectSession]:
    """Return the sessions over RDMA. OSError: they cannot be read.

    The kernel knows no address of a client over RDMA; where all connections come from one, it is that.
    """
    directory = paths.ROOT / "proc/fs/ksmbd/sessions"
    if not directory.is_dir():
        return []
    texts = [text for path in sorted(directory.iterdir()) if (text := _read(path)) is not None]
    read = [_fields(text) for text in texts]
    open_sessions = [session for session in read if session.get("state") == "valid" and session.get("user") != CHECKER]
    if not open_sessions:
        return []
    hosts = sorted(peers(run))
    opened = _open_files() if len(open_sessions) == 1 else None
    return [_session(session, hosts[0] if len(hosts) == 1 else "", opened) for session in open_sessions]


def _fields(text: str) -> dict[str, str]:
    pairs = [line.split("\t", 1) for line in text.splitlines() if "\t" in line]
    return {key.strip(): value.strip() for key, value in pairs}


def _session(found: dict[str, str], host: str, opened: int | None) -> DirectSession:
    channels = found.get("channels", "")
    return DirectSession(found.get("user", ""), host, int(channels) if channels.isdigit() else None, opened)


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except FileNotFoundError:
        # the client disconnected meanwhile
        return None


def _open_files() -> int | None:
    rows = [line.split() for line in (_read(paths.ROOT / "proc/fs/ksmbd/clients") or "").splitlines()]
    counts = [int(row[3]) for row in rows if len(row) > 3 and row[3].isdigit()]
    return sum(counts) if counts else None
