# SPDX-License-Identifier: Apache-2.0
"""Replies of the NFS server that a verification of shares asks: whatever listens at its port."""

import struct
from contextlib import suppress
from typing import Any
from unittest.mock import patch

from millrace.system import nfs_client, nfs_rpc
from tests.fuzz.parts import split


class Connection:
    """A server whose replies are the parts of the input, each with the right number."""

    def __init__(self, parts: list[bytes]) -> None:
        self._parts, self._left = parts, b""

    def sendall(self, message: bytes) -> None:
        """Take a call; prepare the next reply."""
        reply = self._parts.pop(0) if self._parts else b""
        body = message[4:8] + reply
        self._left += struct.pack(">I", 1 << 31 | len(body)) + body

    def recv(self, size: int) -> bytes:
        """Return the next bytes of the reply."""
        data, self._left = self._left[:size], self._left[size:]
        return data


def check(data: bytes) -> None:
    """Look a directory up in a session whose replies are the input."""
    connection: Any = Connection(split(data))
    with patch.object(nfs_client, "PAUSES", (0.0,)), suppress(OSError, struct.error):
        # as `session` does, which has these two for its own
        opened = nfs_client.NfsSession(connection)
        opened.inode("/data")
    with suppress(OSError, struct.error):
        nfs_rpc.call(connection, nfs_rpc.NULL)
