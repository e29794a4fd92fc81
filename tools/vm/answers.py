# SPDX-License-Identifier: Apache-2.0
"""Whether a service really answers in its own protocol: an open port behind a forward proves nothing."""

import http.client
import socket
import ssl
import struct

TIMEOUT = 20.0
RPC_CALL = 0
RPC_REPLY = 1
RPC_ACCEPTED = 0
RPC_SUCCESS = 0
NFS_PROGRAM = 100003
NFS_VERSION = 4
LAST_FRAGMENT = 0x80000000
XID = 0x4D494C4C
SMB2_DIALECTS = (0x0202, 0x0210, 0x0300, 0x0302)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            raise ConnectionError("closed")
        data += chunk
    return data


def nfs(port: int) -> bool:
    """Whether an NFSv4 server on loopback answers the NULL procedure (RFC 5531, RFC 7530)."""
    call = struct.pack(">IIIIII", XID, RPC_CALL, 2, NFS_PROGRAM, NFS_VERSION, 0) + struct.pack(">IIII", 0, 0, 0, 0)
    try:
        with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connection:
            connection.settimeout(TIMEOUT)
            connection.sendall(struct.pack(">I", LAST_FRAGMENT | len(call)) + call)
            (mark,) = struct.unpack(">I", _exactly(connection, 4))
            reply = _exactly(connection, mark & ~LAST_FRAGMENT)
    except OSError:
        return False
    if len(reply) < 24:
        return False
    xid, kind, state, _, _, verdict = struct.unpack_from(">IIIIII", reply)
    return bool((xid, kind, state, verdict) == (XID, RPC_REPLY, RPC_ACCEPTED, RPC_SUCCESS))


def smb(port: int) -> bool:
    """Whether an SMB server on loopback answers an SMB2 NEGOTIATE ([MS-SMB2] 2.2.3)."""
    header = b"\xfeSMB" + struct.pack("<HHIHHIIQIIQ16s", 64, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, bytes(16))
    body = struct.pack("<HHHHI16sQ", 36, len(SMB2_DIALECTS), 1, 0, 0, bytes(16), 0)
    body += struct.pack(f"<{len(SMB2_DIALECTS)}H", *SMB2_DIALECTS)
    message = header + body
    try:
        with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connection:
            connection.settimeout(TIMEOUT)
            connection.sendall(struct.pack(">I", len(message)) + message)
            (length,) = struct.unpack(">I", _exactly(connection, 4))
            reply = _exactly(connection, min(length, 4096))
    except OSError:
        return False
    # A dialect refused is an answer too: smb.conf may ask for 3.1.1, which needs negotiate contexts.
    return reply[:4] == b"\xfeSMB" and struct.unpack_from("<H", reply, 12)[0] == 0


def cockpit(port: int) -> bool:
    """Whether Cockpit on loopback answers /ping over TLS."""
    context = ssl.create_default_context()
    # The appliance signs its own certificate; this asks who is there, it sends no secret.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=TIMEOUT, context=context)
    try:
        connection.request("GET", "/ping")
        answer = connection.getresponse()
        return answer.status == http.client.OK and b"cockpit" in answer.read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
