# SPDX-License-Identifier: Apache-2.0
"""Connected clients: NFSv4 from the kernel, SMB from smbd."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from millrace.serve.share.direct.sessions import DirectSession
from millrace.serve.share.direct.sessions import sessions as sessions_of_ksmbd
from millrace.system import nfsd, paths
from millrace.system.documents import Contract
from millrace.system.errors import Failed
from millrace.system.run import Runner, last_words

# clients/*/info is one `key: value` a line, strings in quotes; one clause a line.
_LINE = re.compile(r'([a-z -]+?): *(?:"(.*)"|(.*))$', re.IGNORECASE)
_OPEN = re.compile(r"^- \S+ \{ type: open,", re.MULTILINE)

NOT_ROOT = "smbstatus only works as root"


class ClientSession(Contract):
    """One client. `lanes` are its TCP connections (NFS) or channels (SMB), null where they cannot be counted.

    `slots` is how many requests an NFS session has room for; `name` what the client calls itself, or the SMB user.
    SMB Direct: `host` is empty where the server does not know it, `open_files` null where there are several clients.
    """

    protocol: Literal["nfs", "smb"]
    host: str
    name: str
    version: str
    transport: Literal["tcp", "rdma", "unknown"]
    lanes: int | None
    slots: int | None
    encryption: str | None
    open_files: int | None


class SessionList(Contract):
    """All clients. `warnings` are what could not be read."""

    schema_version: Literal[1] = 1
    sessions: list[ClientSession]
    warnings: list[str]


def sessions(run: Runner) -> SessionList:
    """Return all clients of both protocols; a server that does not answer is a warning."""
    clients: list[ClientSession] = []
    warnings: list[str] = []
    for read in (nfs_sessions, smb_sessions, direct_sessions):
        try:
            sessions, more = read(run)
            clients += sessions
            warnings += more
        except PermissionError:
            warnings.append("listing NFS clients requires root")
        except (Failed, OSError) as error:
            warnings.append(str(error))
    return SessionList(sessions=clients, warnings=warnings)


def nfs_sessions(run: Runner) -> tuple[list[ClientSession], list[str]]:
    """Return NFSv4 clients from /proc/fs/nfsd/clients. Failed: it cannot be read; only root can.

    A trunked client has connections from several addresses and the kernel names one of them only: the others are its
    where it is the only client, else they are a warning.
    """
    directory = paths.ROOT / "proc/fs/nfsd/clients"
    if not directory.is_dir():
        return [], []
    lanes = _connections(run)
    read = [_nfs_session(path, lanes) for path in sorted(directory.iterdir()) if (path / "info").exists()]
    clients = [session for session in read if session is not None]
    others = {host: count for host, count in lanes.items() if host not in {session.host for session in clients}}
    if not others:
        return clients, []
    if len(clients) == 1:
        mine = clients[0]
        return [mine.model_copy(update={"transport": "tcp", "lanes": (mine.lanes or 0) + sum(others.values())})], []
    counted = ", ".join(f"{count} from {host}" for host, count in sorted(others.items()))
    return clients, [f"further NFS connections that the kernel does not attribute to a client: {counted}"]


def smb_sessions(run: Runner) -> tuple[list[ClientSession], list[str]]:
    """Return sessions from `smbstatus --json`. Failed: smbstatus fails."""
    status = smb_status(run)
    opened = Counter(
        str(handle["server_id"]["pid"])
        for file in status.get("open_files", {}).values()
        for handle in file["opens"].values()
    )
    return [_smb_session(session, opened) for session in status.get("sessions", {}).values()], []


def smb_status(run: Runner) -> dict[str, Any]:
    """Return the document of `smbstatus --json`; empty without Samba. Failed: it fails, or the caller is not root."""
    result = run(["smbstatus", "--json"])
    if result.status == 127:
        return {}
    # It prints a document without sessions then, as if there were none.
    if NOT_ROOT in result.err:
        raise Failed("listing SMB clients requires root")
    try:
        status = json.loads(result.out)
    except ValueError as error:
        raise Failed(f"smbstatus does not list SMB sessions: {last_words(result)}") from error
    return status if isinstance(status, dict) else {}


def direct_sessions(run: Runner) -> tuple[list[ClientSession], list[str]]:
    """Return the sessions of SMB Direct. OSError: they cannot be read."""
    return [_direct_session(one) for one in sessions_of_ksmbd(run)], []


def parse_info(text: str) -> dict[str, str]:
    """Return the lines of clients/*/info by key."""
    found = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            found[match[1].strip()] = match[2] if match[2] is not None else match[3].strip()
    return found


def _nfs_session(directory: Path, lanes: Counter[str]) -> ClientSession | None:
    try:
        info = parse_info((directory / "info").read_text())
        states = (directory / "states").read_text()
    except FileNotFoundError:
        # The client disconnected meanwhile.
        return None
    host = address(info.get("address", ""))
    slots = info.get("session slots", "")
    return ClientSession(
        protocol="nfs",
        host=host,
        name=info.get("name", ""),
        version=f"4.{info.get('minor version', '?')}",
        # RDMA has no socket to count: a client without one, where the server listens on RDMA, uses that.
        transport="tcp" if lanes[host] else "rdma" if nfsd.listens_on_rdma() else "unknown",
        lanes=lanes[host] or None,
        slots=int(slots) if slots.isdigit() else None,
        encryption=None,
        open_files=len(_OPEN.findall(states)),
    )


def _direct_session(session: DirectSession) -> ClientSession:
    return ClientSession(
        protocol="smb",
        host=session.host,
        name=session.user,
        version="3.1.1",
        transport="rdma",
        lanes=session.channels,
        slots=None,
        encryption=None,
        open_files=session.open_files,
    )


def _smb_session(session: dict[str, Any], opened: Counter[str]) -> ClientSession:
    channels = list(session.get("channels", {}).values())
    cipher = str(session.get("encryption", {}).get("cipher", "-"))
    return ClientSession(
        protocol="smb",
        host=smb_address(str(channels[0]["remote_address"]) if channels else str(session.get("remote_machine", ""))),
        name=str(session.get("username", "")),
        version=str(session.get("session_dialect", "")),
        transport="tcp",
        lanes=len(channels) or None,
        slots=None,
        encryption=None if cipher in ("", "-") else cipher,
        open_files=opened[str(session["server_id"]["pid"])],
    )


def _connections(run: Runner) -> Counter[str]:
    """Established TCP connections to the NFS server by the address of the client."""
    result = run(["ss", "-Htn", "state", "established", "sport", "=", ":2049"])
    if result.status != 0:
        raise Failed(f"ss does not list the connections of NFS clients: {last_words(result)}")
    rows: Sequence[list[str]] = [line.split() for line in result.out.splitlines()]
    return Counter(address(row[-1]) for row in rows if row)


def smb_address(end: str) -> str:
    """Return the address that smbd writes as `ipv4:10.0.0.2:445`."""
    return address(re.sub(r"^ipv[46]:", "", end))


def address(end: str) -> str:
    """Return an address without its port and brackets; IPv4 within IPv6 as IPv4."""
    match = re.fullmatch(r"\[(.*)\]:\d+", end) or re.fullmatch(r"(.*):\d+", end)
    return (match[1] if match else end).removeprefix("::ffff:")
