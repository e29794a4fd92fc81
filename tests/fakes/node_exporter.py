# SPDX-License-Identifier: Apache-2.0
"""node_exporter on its Unix socket: its reply is one of Debian's prometheus-node-exporter 1.11.1.

`node-exporter-reply.prom` is what it printed of files of /proc and /sys, with the options of
millrace-node-exporter.service, without the help texts. Only the request that node_exporter is to get is answered; any
other fails the test that made it.
"""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from millrace.system import paths

REPLY = (Path(__file__).parent / "node-exporter-reply.prom").read_text()
TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"


@dataclass
class NodeExporter:
    """What it answers; `textfile` is whether it can read that of Millrace. A `body` of None never ends."""

    status: int = 200
    body: bytes | None = REPLY.encode()
    type: str = TYPE
    textfile: bool = True
    asked: int = 0
    wrong: list[str] = field(default_factory=list)
    end: threading.Event = field(default_factory=threading.Event)

    def text(self) -> bytes:
        assert self.body is not None
        return self.body + (paths.metrics_file().read_bytes() if self.textfile else b"")


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    fake: NodeExporter


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *words: object) -> None:
        pass

    def do_GET(self) -> None:
        fake = self.server.fake
        fake.asked += 1
        if (self.path, self.headers["Accept"], self.headers["Connection"]) != (
            "/metrics",
            "text/plain;version=0.0.4",
            "close",
        ):
            fake.wrong.append(f"{self.path} {self.headers}")
        self.send_response(fake.status)
        self.send_header("Content-Type", fake.type)
        # as Go does: http.client forgets the socket of such a reply before it is read
        self.send_header("Connection", "close")
        if fake.body is None:
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            # a byte now and then, so that no read of the client waits for long
            while not fake.end.wait(0.05):
                try:
                    self.wfile.write(b"#")
                    self.wfile.flush()
                except OSError:
                    return
            return
        self.send_header("Content-Length", str(len(fake.text())))
        self.end_headers()
        self.wfile.write(fake.text())


@contextmanager
def node_exporter() -> Iterator[NodeExporter]:
    """Listen where millrace-node-exporter.socket does."""
    path = paths.node_exporter_socket()
    path.parent.mkdir(parents=True, exist_ok=True)
    fake = NodeExporter()
    with _Server(str(path), _Handler) as server:
        server.fake = fake
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield fake
        fake.end.set()
        server.shutdown()
    path.unlink()
    assert fake.wrong == []
