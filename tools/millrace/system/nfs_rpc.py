# SPDX-License-Identifier: Apache-2.0
"""Calls of an NFSv4 server over TCP (ONC RPC, RFC 5531)."""

import secrets
import socket
import struct
from typing import NamedTuple

from millrace.system.errors import Failed

NULL, COMPOUND = 0, 1
"""The procedures of NFS version 4."""
AUTH_NONE, AUTH_SYS, AUTH_TLS = 0, 1, 7

LARGEST = 1 << 20
"""Bytes of the longest reply that is read."""
NOT_NFS = "the reply is not one of NFS"

_CALL, _REPLY, _VERSION = 0, 1, 2
_NFS, _NFS_VERSION = 100003, 4
_LAST_FRAGMENT = 1 << 31


class RpcReply(NamedTuple):
    """What an accepted call returned, and the verifier of the server."""

    result: bytes
    verifier: bytes


def call(
    connection: socket.socket,
    procedure: int,
    flavor: int = AUTH_NONE,
    credentials: bytes = b"",
    arguments: bytes = b"",
) -> RpcReply:
    """Call a procedure and return its reply.

    OSError: the connection ends, or is silent for longer than its time limit. struct.error: the reply is too short.
    Failed: the server refuses the call, or the reply is not one of NFS.
    """
    xid = secrets.randbits(32)
    header = struct.pack(">7I", xid, _CALL, _VERSION, _NFS, _NFS_VERSION, procedure, flavor)
    message = header + opaque(credentials) + struct.pack(">I", AUTH_NONE) + opaque(b"") + arguments
    connection.sendall(struct.pack(">I", _LAST_FRAGMENT | len(message)) + message)
    reply = _record(connection)
    replied_to, kind, denied = struct.unpack_from(">III", reply)
    if (replied_to, kind) != (xid, _REPLY):
        raise Failed(NOT_NFS)
    if denied:
        raise Failed("the server denies the call: the export asks for other security")
    (length,) = struct.unpack_from(">I", reply, 16)
    verifier, rest = reply[20 : 20 + length], reply[20 + length + -length % 4 :]
    (refused,) = struct.unpack_from(">I", rest)
    if refused:
        raise Failed(f"the server does not accept the call (RPC status {refused})")
    return RpcReply(rest[4:], verifier)


def opaque(data: bytes) -> bytes:
    """Return data of any length as XDR has it (RFC 4506 4.10)."""
    return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)


def _record(connection: socket.socket) -> bytes:
    """Return the fragments of a record (RFC 5531 11)."""
    record, last = b"", False
    while not last:
        (mark,) = struct.unpack(">I", _exactly(connection, 4))
        last, length = bool(mark & _LAST_FRAGMENT), mark & ~_LAST_FRAGMENT
        # empty fragments without end would never fill a record
        if len(record) + length > LARGEST or not (last or length):
            raise Failed(NOT_NFS)
        record += _exactly(connection, length)
    return record


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError("it closes the connection")
        data += more
    return data
