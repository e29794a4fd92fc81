# SPDX-License-Identifier: Apache-2.0
"""One question to a server over TCP, with a deadline: a server that hangs cannot hang who asks."""

import socket
import struct


def exchange(address: str, port: int, mark: int, question: bytes, count: int, seconds: float) -> bytes:
    """Send a question behind the 32-bit record mark that NFS and SMB have; up to `count` bytes of the answer.

    OSError where nothing answers within `seconds`.
    """
    found = b""
    with socket.create_connection((address, port), seconds) as server:
        server.sendall(struct.pack(">I", mark | len(question)) + question)
        while len(found) < count and (more := server.recv(count - len(found))):
            found += more
    return found
