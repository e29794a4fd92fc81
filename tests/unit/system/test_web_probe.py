# SPDX-License-Identifier: Apache-2.0
"""The probe of the web console: each fault behind a socket that is open is seen within its deadline."""

import contextlib
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from millrace.serve.certificate import pem
from millrace.system.web_probe import web
from tests.fakes.certificates import pair

PAGE = b'<html><form id="login"></form></html>'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


class WebServer:
    """Answers one connection: with a TLS context or without one, `reply` in parts, a pause before each."""

    def __init__(self, context: ssl.SSLContext | None, *reply: bytes, pause: float = 0) -> None:
        self._context, self._reply, self._pause = context, reply, pause
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.ended = Event()
        self.request = b""

    @contextlib.contextmanager
    def serving(self) -> Iterator[int]:
        thread = Thread(target=self._serve, daemon=True)
        thread.start()
        try:
            yield self.port
        finally:
            self.ended.set()
            self._listener.close()
            thread.join(10)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            if self._context:
                connection = self._context.wrap_socket(connection, server_side=True)
                self.request = connection.recv(1000)
            for part in self._reply:
                self.ended.wait(self._pause)
                connection.sendall(part)
            if self._reply or self._context:
                connection.close()
            else:
                self.ended.wait(30)


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    certificate, key = tmp_path / "a.pem", tmp_path / "a.key"
    for file, text in zip((certificate, key), pair(), strict=True):
        file.write_text(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def test_login_page_and_certificate_are_fetched(tls: ssl.SSLContext) -> None:
    server = WebServer(tls, HEAD, PAGE[:20], PAGE[20:])
    with server.serving() as port:
        reply = web("127.0.0.1", port)
    assert reply.problem is None and reply.certificate == pem.first_der(pair()[0])
    assert server.request.startswith(b"GET / HTTP/1.1\r\nHost: ")


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ((), "it closes the connection"),
        ((b"HTTP/1.1 500 Internal Server Error\r\n\r\n",), "it replies 'HTTP/1.1 500 Internal Server Error'"),
        ((b"SSH-2.0-x\r\n",), "it replies 'SSH-2.0-x'"),
        ((HEAD, b"<html></html>"), "its page has no form to sign in"),
    ],
)
def test_what_is_no_login_page_is_said(tls: ssl.SSLContext, parts: tuple[bytes, ...], problem: str) -> None:
    with WebServer(tls, *parts).serving() as port:
        assert web("127.0.0.1", port).problem == problem


def test_socket_that_nobody_accepts_ends_at_the_deadline() -> None:
    with WebServer(None).serving() as port:
        began = time.monotonic()
        assert web("127.0.0.1", port, 0.3).problem == "no reply within 0 s"
        assert time.monotonic() - began < 5


def test_page_that_never_ends_ends_at_the_deadline(tls: ssl.SSLContext) -> None:
    with WebServer(tls, HEAD, *[b"x"] * 100, pause=0.1).serving() as port:
        began = time.monotonic()
        assert web("127.0.0.1", port, 0.6).problem == "no reply within 1 s"
        assert time.monotonic() - began < 5


def test_console_without_a_key_is_said() -> None:
    # without a certificate no cipher is left
    with WebServer(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)).serving() as port:
        problem = web("127.0.0.1", port).problem
    assert problem is not None and problem.startswith("the TLS handshake fails")


def test_port_that_nobody_listens_on_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert web("127.0.0.1", port).problem == "Connection refused"
