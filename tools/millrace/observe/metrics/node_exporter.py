# SPDX-License-Identifier: Apache-2.0
"""The reply of node_exporter, which has Millrace's own metrics too: it reads them as a textfile."""

import socket
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, IncompleteRead

from millrace.system import paths
from millrace.system.errors import Failed

# Prometheus waits 10 s by default. A collector that hangs in the kernel holds the whole reply of node_exporter.
SECONDS = 5.0
# 160 KiB are the reply of a server with 128 CPUs, 24 drives and 9 ports.
MOST_BYTES = 4 << 20
# The only format to which something can be added.
TEXT = "text/plain"


class _Connection(HTTPConnection):
    """A connection through a Unix socket, which can be cut while its reply is read."""

    opened: socket.socket | None = None

    def connect(self) -> None:
        self.sock = self.opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(paths.node_exporter_socket()))

    def cut(self) -> None:
        """End a read that waits. http.client has forgotten the socket where the server closes the connection."""
        with suppress(OSError):
            if self.opened is not None:
                self.opened.shutdown(socket.SHUT_RDWR)


def read(seconds: float = SECONDS) -> str:
    """Return the metrics of node_exporter, within `seconds`.

    Failed: it does not run, does not reply in time, or replies with something else.
    """
    deadline = time.monotonic() + seconds
    connection = _Connection("node-exporter", timeout=seconds)
    # The time limit of a socket is one of each read.
    end = threading.Timer(seconds, connection.cut)
    end.daemon = True
    end.start()
    try:
        connection.request("GET", "/metrics", headers={"Accept": f"{TEXT};version=0.0.4", "Connection": "close"})
        reply = connection.getresponse()
        body = reply.read(MOST_BYTES + 1)
        # http.client raises it for a read without a limit only
        if reply.length and len(body) <= MOST_BYTES:
            raise IncompleteRead(body, reply.length)
    except (OSError, HTTPException) as error:
        late = time.monotonic() >= deadline
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise Failed(f"node_exporter does not respond{f' within {seconds:g} s' if late else f': {why}'}") from error
    finally:
        end.cancel()
        connection.close()
    if reply.status != HTTPStatus.OK:
        raise Failed(f"node_exporter responds with status {reply.status}")
    if len(body) > MOST_BYTES:
        raise Failed(f"the reply of node_exporter is longer than {MOST_BYTES >> 20} MiB")
    if not reply.headers.get("Content-Type", "").startswith(TEXT) or not body.endswith(b"\n"):
        raise Failed("the reply of node_exporter is not text for Prometheus")
    return body.decode(errors="replace")
