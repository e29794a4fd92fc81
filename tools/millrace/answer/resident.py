# SPDX-License-Identifier: Apache-2.0
"""One verb, run again and again in children of a process that stays: what it imports is imported once.

millrace-checker.service runs this for the health check, millrace-metrics-collector.service for the collection of
metrics: imports were most of the time of both.
"""

import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from millrace.answer.server import Server
from millrace.errors import BadInput
from millrace.system.units import notify_ready


def listen(path: Path, words: Sequence[str], notify: str | None = None) -> NoReturn:
    """Serve one connection of root after another at a socket, until the process is ended.

    The verb of a client that goes away is killed. When the socket is there systemd learns it at `notify`, by default
    $NOTIFY_SOCKET. OSError: the socket cannot be made.
    """
    server = Server(words)
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        before = os.umask(0o177)
        listener.bind(os.fspath(path))
        os.umask(before)
        listener.listen()
        server.prepare()
        notify_ready(notify or os.environ.get("NOTIFY_SOCKET"))
        while True:
            connection, _ = listener.accept()
            with connection:
                try:
                    server.serve(connection.fileno(), connection.fileno())
                except (BadInput, OSError) as error:
                    # the client is gone, or its request was for another verb
                    print(f"millrace: {error}", file=sys.stderr, flush=True)
            server.settle()
