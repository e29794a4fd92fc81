# SPDX-License-Identifier: Apache-2.0
"""One verb, run again and again in children of a process that stays: what it imports is imported once.

millrace-checker.service runs this for the health check, millrace-metrics-collector.service for the collection of
metrics: imports were most of the time of both, and a unit that systemd starts for each of them most of the rest.
"""

import os
import select
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from millrace.cli.worker.server import VerbServer
from millrace.system.errors import BadInput
from millrace.system.run import Runner, quickly
from millrace.system.units import notify

OWN_SECONDS = 10.0
"""A verb that takes longer is run again by its unit, which has more time and reports where that passes, too."""

FIRST_SECONDS = 30.0
"""The same for the first run, which has to import everything."""

ALIVE_SECONDS = 30.0
"""After so many seconds at most systemd learns that this process lives, while no verb runs."""


@dataclass(frozen=True)
class Period:
    """The verb runs by itself so many seconds after it has ended; where that fails, `unit` is started, which asks."""

    seconds: float
    unit: str


def listen(
    path: Path, words: Sequence[str], period: Period | None = None, manager: str | None = None, run: Runner = quickly
) -> NoReturn:
    """Run a verb for one connection of root after another at a socket, and by itself, until the process is ended.

    The verb of a client that goes away is killed, and one that runs by itself is as soon as a client connects. When
    the socket is there systemd learns it at `manager`, by default $NOTIFY_SOCKET. OSError: the socket cannot be made.
    """
    server = VerbServer(words)
    manager = manager or os.environ.get("NOTIFY_SOCKET")
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        before = os.umask(0o177)
        listener.bind(os.fspath(path))
        os.umask(before)
        listener.listen()
        server.prepare()
        notify(manager, "READY=1")
        due, seconds = time.monotonic(), FIRST_SECONDS
        while True:
            with suppress(OSError):
                notify(manager, "WATCHDOG=1")
            left = due - time.monotonic() if period else ALIVE_SECONDS
            if _is_readable(listener, min(max(0.0, left), ALIVE_SECONDS)):
                _serve(listener, server)
            elif period is None or time.monotonic() < due:
                continue
            elif not _succeeds(server, listener, seconds):
                server.settle()
                run(["systemctl", "start", "--no-block", period.unit])
            server.settle()
            seconds = OWN_SECONDS
            due = time.monotonic() + (period.seconds if period else 0.0)


def _serve(listener: socket.socket, server: VerbServer) -> None:
    connection, _ = listener.accept()
    with connection:
        try:
            server.serve(connection.fileno(), connection.fileno())
        except (BadInput, OSError) as error:
            # the client is gone, or its request was for another verb
            print(f"millrace: {error}", file=sys.stderr, flush=True)


def _succeeds(server: VerbServer, listener: socket.socket, seconds: float) -> bool:
    """Whether the verb ended well by itself, or need not: a client has connected."""
    reply = server.run(seconds, listener.fileno())
    if reply is None:
        return _is_readable(listener, 0.0)
    sys.stderr.write(str(reply["err"]))
    sys.stderr.flush()
    return bool(reply["status"] == 0)


def _is_readable(listener: socket.socket, seconds: float) -> bool:
    return bool(select.select([listener], [], [], seconds)[0])
