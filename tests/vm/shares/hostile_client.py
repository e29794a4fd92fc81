# SPDX-License-Identifier: Apache-2.0
"""Runs on a client: asks the server for what no client is given, and sends what no client sends.

    python3 hostile_client.py HOST

Prints as JSON how many attempts there were, and those that were not refused. Standard library only; SMB without a
signature is in unsigned.py, handles of other shares are in forged_handle.py.
"""

import json
import os
import resource
import selectors
import socket
import ssl
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPException, HTTPSConnection
from types import MappingProxyType

SECONDS = 60
# of a scan: the firewall drops, so every closed port takes it
SCAN_SECONDS = 10
OPEN = {445, 2049, 9090}
# what Linux, Samba, NFS and monitoring listen on, beside the first thousand
MORE = (2049, 3260, 4420, 4421, 5201, 5355, 5432, 6443, 8009, 8080, 9090, 9100, 9300, 19100, 19532, 20048, 20049, 32765)
NFS, MOUNT, ACCEPTED = 100003, 100005, 0
# RFC 5531: the procedure ran
SUCCESS = 0
# no page without a sign-in, and nothing but files of the console before it
CLOSED_PAGES = (
    "/cockpit/@localhost/manifests.json",
    "/cockpit/@localhost/millrace/index.html",
    "/cockpit/socket",
    "/cockpit/static/../../../../../etc/passwd",
    "/cockpit/static/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
    "/..%2f..%2f..%2fetc/passwd",
    "//etc/passwd",
)


def main() -> None:
    host = sys.argv[1]
    attempts = list(ports(host)) + list(calls(host)) + list(pages(host)) + list(dialects(host)) + list(noise(host))
    print(json.dumps({"attempts": len(attempts), "not refused": [name for name, refused in attempts if not refused]}))


def ports(host: str) -> Iterator[tuple[str, bool]]:
    """Connect to each port of the list; only those of the documentation may answer."""
    scanned = sorted({*range(1, 1025), *MORE})
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))
    answered: set[int] = set()
    waiting = selectors.DefaultSelector()
    for port in scanned:
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex((host, port))
        waiting.register(connection, selectors.EVENT_WRITE, (connection, port))
    end = time.monotonic() + SCAN_SECONDS
    while time.monotonic() < end:
        for key, _ in waiting.select(1):
            connection, port = key.data
            if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
                answered.add(port)
            waiting.unregister(connection)
            connection.close()
    for key in list(waiting.get_map().values()):
        key.data[0].close()
    if not answered >= OPEN:
        raise SystemExit(f"of the ports of clients these do not answer: {sorted(OPEN - answered)}")
    for port in scanned:
        yield f"connect to port {port}", port not in answered or port in OPEN


def calls(host: str) -> Iterator[tuple[str, bool]]:
    """Call versions and programs that are not served at the port of NFS (RFC 5531); 4 is."""
    if accepted(host, NFS, 4) != SUCCESS:
        raise SystemExit("NFS 4 does not answer")
    for name, program, version in (("NFS 2", NFS, 2), ("NFS 3", NFS, 3), ("MOUNT 3", MOUNT, 3), ("NLM 4", 100021, 4)):
        yield f"call of {name}", accepted(host, program, version) != SUCCESS


def accepted(host: str, program: int, version: int) -> int | None:
    """Call the procedure that does nothing; the status that the server gives, None where it gives none."""
    call = struct.pack(">IIIIIIIIII", 7, 0, 2, program, version, 0, 0, 0, 0, 0)
    try:
        with socket.create_connection((host, 2049), SECONDS) as connection:
            connection.sendall(struct.pack(">I", 1 << 31 | len(call)) + call)
            answer = connection.recv(4096)
        _, _, _, reply, _, length = struct.unpack_from(">IIIIII", answer)
        return struct.unpack_from(">I", answer, 24 + length)[0] if reply == ACCEPTED else None
    except (OSError, struct.error):
        return None


def pages(host: str) -> Iterator[tuple[str, bool]]:
    """Ask the web console for what needs a sign-in, and for files of the server."""
    for path in CLOSED_PAGES:
        status, body = page(host, path)
        # instead of a page of the console there is the sign-in
        yield f"page {path}", b"root:x:0:0:" not in body and (status != 200 or b'id="login-password-input"' in body)
    status, _ = page(host, "/cockpit/login", {"Authorization": "Basic cm9vdDpyb290"})
    yield "sign-in of root", status != 200


def page(host: str, path: str, headers: Mapping[str, str] = MappingProxyType({})) -> tuple[int, bytes]:
    """Status and body of a page; status 0 where the server closed the connection."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = HTTPSConnection(host, 9090, timeout=SECONDS, context=context)
    try:
        connection.request("GET", path, headers=dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, HTTPException):
        return 0, b""
    finally:
        connection.close()


def dialects(host: str) -> Iterator[tuple[str, bool]]:
    """Offer SMB 1 alone ([MS-CIFS] 2.2.4.52): the server takes no dialect, or closes the connection."""
    body = b"\x02NT LM 0.12\x00"
    packet = b"\xffSMB\x72" + bytes(27) + b"\x00" + struct.pack("<H", len(body)) + body
    try:
        with socket.create_connection((host, 445), SECONDS) as connection:
            connection.sendall(struct.pack(">I", len(packet)) + packet)
            answer = connection.recv(4096)
    except OSError:
        answer = b""
    # the chosen dialect; 0xffff is none
    taken = answer[4:8] == b"\xffSMB" and len(answer) >= 39 and answer[37:39] != b"\xff\xff"
    yield "SMB 1", not taken


def noise(host: str) -> Iterator[tuple[str, bool]]:
    """Send what nobody sends to each service; it must answer the next client all the same."""
    largest = struct.pack(">I", 0x7FFFFFFF)
    for port in sorted(OPEN):
        for data in (os.urandom(4096), largest + bytes(64), b"\xff" * 4096, b"GET / HTTP/1.1\r\n" + b"A: " * 30000):
            try:
                with socket.create_connection((host, port), SECONDS) as connection:
                    connection.sendall(data)
            except OSError:
                # closed while it is sent: refused
                pass
    yield "NFS after noise", accepted(host, NFS, 4) == SUCCESS
    yield "web console after noise", page(host, "/cockpit/login")[0] == 401
    with socket.create_connection((host, 445), SECONDS):
        yield "SMB after noise", True


if __name__ == "__main__":
    main()
