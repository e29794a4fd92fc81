# SPDX-License-Identifier: Apache-2.0
"""One request to a server over TCP, with a deadline: a server that hangs cannot hang the caller."""

import socket
import struct


def exchange(address: str, port: int, mark: int, question: bytes, count: int, seconds: float) -> bytes:
    """Send a request behind the 32-bit record mark of NFS and SMB; return up to `count` bytes of the reply.

    OSError: no reply within `seconds`.
    """
    found = b""
    with socket.create_connection((address, port), seconds) as server:
        server.sendall(struct.pack(">I", mark | len(question)) + question)
        while len(found) < count and (more := server.recv(count - len(found))):
            found += more
    return found
