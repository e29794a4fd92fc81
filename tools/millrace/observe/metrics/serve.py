# SPDX-License-Identifier: Apache-2.0
"""Serve metrics by HTTPS: those of node_exporter, in which Millrace's own are, or those alone.

This process reads a file and a socket and starts no other process: root collects (`collect`).
"""

import hmac
import os
import socket
import ssl
import sys
import threading
from contextlib import suppress
from datetime import timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any

from millrace.observe.metrics import node_exporter
from millrace.observe.metrics.endpoint import PORT, digest
from millrace.observe.metrics.family import CONTENT_TYPE, PREFIX, exposition, gauge
from millrace.observe.metrics.model import MetricsSettings, TokenHash
from millrace.system import ages, paths
from millrace.system.documents import read_model
from millrace.system.errors import Failed

PATH = "/metrics"
# A reader is served in milliseconds; what holds a connection longer is none.
SECONDS = 20.0
MOST_CONNECTIONS = 32
# They are collected every 30 s; what is older is no description of this server.
STALE_SECONDS = 120.0
# A collection always ends with it: a reply in which it is has all of Millrace's own metrics.
LAST = f"\n{PREFIX}scrape_timestamp_seconds "
# Then systemd starts it again, with the certificate of that day: a renewed one comes into use before the old one ends.
DAY = 86_400.0
# The names of the credentials of the unit.
SETTINGS, TOKEN, CERTIFICATE, KEY = "settings", "token", "certificate", "key"


class Reader(BaseHTTPRequestHandler):
    """One request. Its connection ends after it."""

    server: "Endpoint"
    # Neither this program nor its Python is anyone's business.
    server_version, sys_version = "millrace", ""

    def do_GET(self) -> None:
        """Answer with the metrics, or why there are none."""
        if not self._is_allowed():
            self._answer(HTTPStatus.UNAUTHORIZED, "a valid token is required\n", {"WWW-Authenticate": "Bearer"})
        elif self.path.partition("?")[0] != PATH:
            self._answer(HTTPStatus.NOT_FOUND, f"the metrics are at {PATH}\n")
        else:
            self._metrics()

    def log_message(self, format: str, *words: Any) -> None:
        """Log nothing of a request that goes well: there are two a minute for years."""

    def _is_allowed(self) -> bool:
        wanted = self.server.token
        if wanted is None:
            return True
        kind, _, given = self.headers.get("Authorization", "").partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(digest(given.strip()), wanted):
            return True
        _log(f"{_address(self.client_address)} has no valid token")
        return False

    def _metrics(self) -> None:
        try:
            text = paths.metrics_file().read_text()
            written = paths.metrics_file().stat().st_mtime
        except OSError:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "no metrics have been collected yet\n")
            return
        if not ages.is_recent(written, timedelta(seconds=STALE_SECONDS)):
            known = ages.age(written)
            old = f"{known.total_seconds():.0f} s old" if known is not None else "from a clock that was ahead"
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, f"the last metrics are {old}\n")
            return
        self._answer(HTTPStatus.OK, self.server.with_node_exporter(text), {"Content-Type": CONTENT_TYPE})

    def _answer(self, status: HTTPStatus, text: str, headers: dict[str, str] | None = None) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in ({"Content-Type": "text/plain; charset=utf-8"} | (headers or {})).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Endpoint(ThreadingHTTPServer):
    """The server: every connection has a thread, and there are MOST_CONNECTIONS at a time."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, settings: MetricsSettings, token: str | None, context: ssl.SSLContext, port: int = PORT) -> None:
        self._networks = [ip_network(one) for one in settings.addresses]
        self.token = token
        self._context = context
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._problem: str | None = None
        if socket.has_dualstack_ipv6():
            self.address_family = socket.AF_INET6
        super().__init__(("", port), Reader)

    def with_node_exporter(self, own: str) -> str:
        """Return the metrics of node_exporter with Millrace's own; `own` alone where it does not reply."""
        metrics, problem = "", None
        try:
            metrics = node_exporter.read()
        except Failed as error:
            problem = str(error)
        # once, not at each scrape for as long as it lasts
        if problem and problem != self._problem:
            _log(problem)
        self._problem = problem
        # it leaves out a textfile that it cannot read
        if LAST not in metrics:
            metrics += own
        up = gauge("node_exporter_up", "Whether node_exporter replied.", (problem is None, {}))
        return metrics + exposition([up])

    def server_bind(self) -> None:
        """Listen for IPv4 on an IPv6 socket, too."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Not HTTPServer's, which asks a name server for the name of this server.
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "millrace", self.server_address[1]

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection; TLS begins in its thread."""
        connection, address = self.socket.accept()
        return self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether the address may read; where it may not, nothing is said to it, not even the certificate."""
        if not self._networks:
            return True
        found = _address(client_address)
        return any(found in network for network in self._networks)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve in a thread; close at once where too many are served already."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            # no thread was to be had
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve, and make room for the next."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection for SECONDS at most. TLS begins here, in its thread: a silent client delays no other."""
        end = threading.Timer(SECONDS, _cut, [request])
        end.daemon = True
        end.start()
        try:
            request.settimeout(SECONDS)
            request.do_handshake()
            super().finish_request(request, client_address)
        finally:
            end.cancel()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log one line, whatever a client did; no trace of the program."""
        _log(f"{_address(client_address)}: {type(sys.exception()).__name__}")


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return a context of TLS 1.2 and later with this certificate. OSError: it cannot be read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    return context


def run() -> None:
    """Serve for a DAY. BadInput: the settings cannot be read."""
    given = Path(os.environ["CREDENTIALS_DIRECTORY"])
    settings = read_model(given / SETTINGS, MetricsSettings)
    token = read_model(given / TOKEN, TokenHash).sha256
    with Endpoint(settings, token, tls_context(given / CERTIFICATE, given / KEY)) as endpoint:
        end = threading.Timer(DAY, endpoint.shutdown)
        end.daemon = True
        end.start()
        endpoint.serve_forever()


def _address(client: tuple[Any, ...]) -> IPv4Address | IPv6Address:
    """The address of a client; one of IPv4 on an IPv6 socket as IPv4."""
    found = ip_address(client[0].partition("%")[0])
    return getattr(found, "ipv4_mapped", None) or found


def _cut(connection: ssl.SSLSocket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _log(sentence: str) -> None:
    print(f"millrace: {sentence}", file=sys.stderr, flush=True)
