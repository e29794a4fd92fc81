# SPDX-License-Identifier: Apache-2.0
"""Real servers on loopback: a webhook's receiver and a mail server, which do what the test says."""

import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


class Receiver:
    """A webhook's receiver that replies with `status`; what arrives is in `bodies`."""

    def __init__(self) -> None:
        self.status = 200
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.paths.append(self.path)
                receiver.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(receiver.status)
                self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks/s3cret?token=1"


class MailServer:
    """A mail server; `replies` replace what it says to a command, `mails` are what it took, `refused` recipients.

    With `tls` it offers STARTTLS. Whoever signs in must be `ops` with the password `s3cret`.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.replies: dict[str, str] = {}
        self.mails: list[str] = []
        self.said: list[str] = []
        self.refused: set[str] = set()
        self.encrypted = False
        mail = self

        class Handler(StreamRequestHandler):
            def say(self, line: str) -> None:
                self.wfile.write(f"{line}\r\n".encode())

            def handle(self) -> None:
                self.say("220 mail.example.com ESMTP")
                while line := self.rfile.readline().decode().strip():
                    mail.said.append(line)
                    verb = line.split()[0].upper()
                    if verb in mail.replies:
                        self.say(mail.replies[verb])
                    elif line.rpartition(":")[2] in mail.refused:
                        self.say("550 no such user")
                    elif verb == "EHLO":
                        offers = ["STARTTLS"] if tls and not mail.encrypted else ["AUTH PLAIN"]
                        self.say(f"250-mail.example.com\r\n250 {offers[0]}")
                    elif verb == "STARTTLS" and tls:
                        self.say("220 go ahead")
                        self.connection = tls.wrap_socket(self.connection, server_side=True)
                        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
                        mail.encrypted = True
                    elif verb == "AUTH":
                        # AUTH PLAIN of ops and s3cret
                        good = line.split()[-1] == "AG9wcwBzM2NyZXQ="
                        self.say("235 welcome" if good else f"535 no: {line}")
                    elif verb == "DATA":
                        self.say("354 go on")
                        text = b""
                        while not text.endswith(b"\r\n.\r\n"):
                            text += self.rfile.readline()
                        mail.mails.append(text.decode())
                        self.say("250 taken")
                    elif verb == "QUIT":
                        self.say("221 bye")
                        return
                    else:
                        self.say("250 ok")

        self.server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        # A client that ends the connection, as one does that knows no such certificate, is nothing to print.
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.port = self.server.server_address[1]


@contextmanager
def serving(made: Receiver | MailServer) -> Iterator[None]:
    """Serve until the block ends."""
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        made.server.shutdown()
        thread.join()
        made.server.server_close()


@contextmanager
def silent() -> Iterator[int]:
    """The port of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def old_chain(directory: Path) -> ssl.SSLContext:
    """The context of a server for 127.0.0.1 whose CA, `ca.pem`, is like those that openssl made for many years.

    RFC 5280 wants more: both lack the identifiers of their keys, and the CA says neither what its key is for, nor in a
    critical field that it is one.
    """
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    issuer, subject = (
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]) for name in ("Corp CA", "log.example.com")
    )
    now = datetime.now(UTC)
    authority, server = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(extension, False)
        .sign(keys[0], hashes.SHA256())
        for name, key, extension in (
            (issuer, keys[0], x509.BasicConstraints(ca=True, path_length=None)),
            (subject, keys[1], x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])),
        )
    )
    (directory / "ca.pem").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    return _loaded(directory, server, keys[1])


def encryption(directory: Path) -> ssl.SSLContext:
    """The context of a server whose certificate is for 127.0.0.1, and is in `directory` as `ca.pem`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mail.example.com")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    (directory / "ca.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return _loaded(directory, made, key)


def _loaded(directory: Path, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (directory / "server.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "server.pem")
    return context
