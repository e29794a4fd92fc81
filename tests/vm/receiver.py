# SPDX-License-Identifier: Apache-2.0
"""A receiver of the journal, which runs in a server: `receiver.py ADDRESS PORT DIRECTORY FILE`.

Speaks TLS with the certificate in DIRECTORY, takes clients with one of its authority only, and appends the bodies of
each POST to /upload to FILE: the journal in its export format.
"""

import ssl
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

ADDRESS, PORT, CERTIFICATES, FILE = sys.argv[1:]


class Receiver(BaseHTTPRequestHandler):
    """What systemd-journal-remote is for systemd-journal-upload, without a journal behind it."""

    # chunks, and "100 Continue"
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take one upload; it comes in chunks (RFC 9112, 7.1)."""
        known = self.path == "/upload" and self.headers["Content-Type"] == "application/vnd.fdo.journal"
        with open(FILE, "ab") as file:
            while size := int(self.rfile.readline(), 16):
                file.write(self.rfile.read(size))
                self.rfile.readline()
        self.rfile.readline()
        self.send_response(202 if known else 400)
        self.send_header("Content-Length", "0")
        self.end_headers()


def main() -> None:
    """Receive until the process is ended."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{CERTIFICATES}/current/server.pem", f"{CERTIFICATES}/current/server.key")
    context.load_verify_locations(f"{CERTIFICATES}/authority.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    server = HTTPServer((ADDRESS, int(PORT)), Receiver)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


main()
