# SPDX-License-Identifier: Apache-2.0
"""A request at the port of metrics, from anywhere in the networks that may read them."""

import io
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from millrace.observe.metrics import serve
from tests.fuzz import scratch

SERVER: Any = SimpleNamespace(token="0" * 64, with_node_exporter=lambda own: own)


class Connection:
    """What a client sends, and nobody who reads the answer."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str, size: int = -1) -> io.BytesIO:
        """What the client sends."""
        return io.BytesIO(self._data)

    def sendall(self, data: bytes) -> None:
        """Take an answer."""
        assert b"Traceback" not in data


def check(data: bytes) -> None:
    """Answer the input."""
    connection: Any = Connection(data)
    with scratch.empty_root(), patch.object(serve, "_log", lambda sentence: None):
        serve.Reader(connection, ("192.0.2.1", 1), SERVER)
