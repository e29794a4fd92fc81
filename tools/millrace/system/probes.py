# SPDX-License-Identifier: Apache-2.0
"""Probe the servers of NFS and SMB as a client does, with a deadline: a server that hangs cannot hang the caller."""

import secrets
import socket
import struct

from millrace.system import nfs_rpc
from millrace.system.errors import Failed
from millrace.system.listeners import NFS_PORT, SMB_PORT

SECONDS = 10.0

_MAGIC = b"\xfeSMB"
_NEGOTIATE = 0
_DIALECTS = (0x0302, 0x0311)
_SIGNING_ENABLED, _PREAUTH_INTEGRITY, _SHA512 = 1, 1, 1
_HEADER, _REQUEST = 64, 36


def nfs(address: str, port: int = NFS_PORT, seconds: float = SECONDS) -> str | None:
    """Call procedure NULL of NFS version 4, which needs a free thread of nfsd (RFC 5531, RFC 7530).

    Return None where the server answers within `seconds`, else what happened, in words.
    """
    try:
        with socket.create_connection((address, port), seconds) as server:
            nfs_rpc.call(server, nfs_rpc.NULL)
    except OSError as error:
        return error.strerror or str(error)
    except (Failed, struct.error):
        return nfs_rpc.NOT_NFS
    return None


def smb(address: str, port: int = SMB_PORT, seconds: float = SECONDS) -> str | None:
    """Negotiate the dialect with smbd ([MS-SMB2] 2.2.3), and no more.

    Return None where the server answers within `seconds`, else what happened, in words.
    """
    try:
        # [MS-SMB2] 2.1: four bytes with the length in front, the first of them zero.
        answer = _exchange(address, port, _negotiate(), 4 + 14, seconds)[4:]
    except OSError as error:
        return error.strerror or str(error)
    if not answer:
        return "it closes the connection"
    # Whatever the status: a server that wants another dialect is there to say so.
    command = struct.unpack_from("<H", answer, 12)[0] if len(answer) == 14 else None
    return None if answer[:4] == _MAGIC and command == _NEGOTIATE else "the reply is not one of SMB"


def _negotiate() -> bytes:
    """Return a NEGOTIATE for SMB 3.0.2 and 3.1.1."""
    header = struct.pack("<4sHHIHHIIQIIQ16s", _MAGIC, _HEADER, 0, 0, _NEGOTIATE, 1, 0, 0, 0, 0, 0, 0, b"")
    dialects = struct.pack(f"<{len(_DIALECTS)}H", *_DIALECTS)
    # Contexts begin at a multiple of eight from the header.
    padding = -(_HEADER + _REQUEST + len(dialects)) % 8
    offset = _HEADER + _REQUEST + len(dialects) + padding
    salt = secrets.token_bytes(32)
    context = struct.pack("<HHIHHH", _PREAUTH_INTEGRITY, 6 + len(salt), 0, 1, len(salt), _SHA512) + salt
    body = struct.pack(
        "<HHHHI16sIHH", _REQUEST, len(_DIALECTS), _SIGNING_ENABLED, 0, 0, secrets.token_bytes(16), offset, 1, 0
    )
    return header + body + dialects + bytes(padding) + context


def _exchange(address: str, port: int, question: bytes, count: int, seconds: float) -> bytes:
    """Send a request behind its length; return up to `count` bytes of the reply.

    OSError: no reply within `seconds`.
    """
    reply = b""
    with socket.create_connection((address, port), seconds) as server:
        server.sendall(struct.pack(">I", len(question)) + question)
        while len(reply) < count and (more := server.recv(count - len(reply))):
            reply += more
    return reply
