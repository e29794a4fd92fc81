# SPDX-License-Identifier: Apache-2.0
"""An NFSv4.2 server on a socket, as strict as nfsd: what a client sends has to be complete and in order."""

import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

DELAY, NOENT, WRONGSEC, BADSESSION, INVAL, NOTDIR = 10008, 2, 10016, 10052, 22, 20
SESSION = b"0123456789abcdef"


class Xdr:
    """Reads a message from its begin to its end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self) -> int:
        return int(struct.unpack(">I", self.take(4))[0])

    def long(self) -> int:
        return int(struct.unpack(">Q", self.take(8))[0])

    def opaque(self) -> bytes:
        data = self.take(self.number())
        assert self.take(-len(data) % 4) == bytes(-len(data) % 4)
        return data

    def take(self, count: int) -> bytes:
        data = self._data[self._at : self._at + count]
        assert len(data) == count, "the message ends early"
        self._at += count
        return data

    def end(self) -> None:
        assert self._at == len(self._data), "something follows the message"


class NfsServer:
    """Shows directories by path with their inode numbers. A test plants faults.

    `delays` is how often the server lets a client wait, `denied` whether it denies calls by their credentials, and
    `tls` is the context where calls without TLS are denied.
    """

    def __init__(self, directories: dict[str, int]) -> None:
        self.directories = directories
        self.files: set[str] = set()
        self.delays = 0
        self.denied = False
        self.silent = False
        self.tls: ssl.SSLContext | None = None
        self.clients: set[int] = set()
        self.sessions = 0
        self.faults: list[BaseException] = []
        self.peers: list[dict[str, object] | None] = []
        self._sequence = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]

    @contextmanager
    def serving(self) -> Iterator["NfsServer"]:
        thread = Thread(target=self._serve, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            thread.join(10)
        assert self.faults == []

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            try:
                self._talk(connection)
            except (ConnectionError, ssl.SSLError):
                pass
            except BaseException as error:
                self.faults.append(error)
            finally:
                connection.close()

    def _talk(self, connection: socket.socket) -> None:
        encrypted = False
        while mark := connection.recv(4):
            (length,) = struct.unpack(">I", mark)
            assert length & 1 << 31, "a call is one fragment"
            data = b""
            while len(data) < length & 0x7FFFFFFF:
                data += connection.recv((length & 0x7FFFFFFF) - len(data))
            if self.silent:
                return
            call = Xdr(data)
            xid = call.number()
            assert [call.number() for _ in range(4)] == [0, 2, 100003, 4]
            procedure, flavor, credentials = call.number(), call.number(), call.opaque()
            assert (call.number(), call.opaque()) == (0, b"")
            if procedure == 0:
                assert flavor == 7 and credentials == b"" and not encrypted
                call.end()
                verifier = b"STARTTLS" if self.tls else b""
                self._send(connection, struct.pack(">IIIII", xid, 1, 0, 0, len(verifier)) + verifier + bytes(4))
                if self.tls:
                    connection = self.tls.wrap_socket(connection, server_side=True)
                    assert isinstance(connection, ssl.SSLSocket) and connection.selected_alpn_protocol() == "sunrpc"
                    self.peers.append(connection.getpeercert(binary_form=False))
                    encrypted = True
                continue
            assert procedure == 1 and flavor == 1 and _root(credentials)
            if self.denied or (self.tls and not encrypted):
                self._send(connection, struct.pack(">IIIII", xid, 1, 1, 1, 5))
                continue
            status, results = self._compound(call)
            head = struct.pack(">IIIIII", xid, 1, 0, 0, 0, 0)
            answer = struct.pack(">III", status, 0, len(results)) + b"".join(results)
            self._send(connection, head + answer)

    def _send(self, connection: socket.socket, reply: bytes) -> None:
        """In two fragments, as a server may."""
        half = len(reply) // 2
        connection.sendall(struct.pack(">I", half) + reply[:half])
        connection.sendall(struct.pack(">I", 1 << 31 | (len(reply) - half)) + reply[half:])

    def _compound(self, call: Xdr) -> tuple[int, list[bytes]]:
        assert (call.opaque(), call.number()) == (b"", 2)
        results: list[bytes] = []
        self._path: str | None = None
        for position in range(call.number()):
            operation = call.number()
            assert position or operation in (42, 43, 44, 53, 57), "an operation outside a session"
            status, body = getattr(self, f"_{operation}")(call)
            results.append(struct.pack(">II", operation, status) + body)
            if status:
                return status, results
        call.end()
        return 0, results

    def _42(self, call: Xdr) -> tuple[int, bytes]:
        call.take(8)
        owner = call.opaque()
        assert owner.startswith(b"verification-") and [call.number() for _ in range(3)] == [0, 0, 0]
        self.clients.add(77)
        return 0, struct.pack(">QIII", 77, 5, 0x10000, 0) + struct.pack(">QI", 0, 4) + b"mine" + bytes(8)

    def _43(self, call: Xdr) -> tuple[int, bytes]:
        assert (call.long(), call.number(), call.number()) == (77, 5, 0)
        for _ in range(2):
            _, request, reply, _, operations, requests, rdma = (call.number() for _ in range(7))
            assert min(request, reply) >= 4096 and operations >= 2 and requests >= 1 and rdma == 0
        assert call.number() and (call.number(), call.number()) == (1, 0)
        self.sessions += 1
        self._sequence = 0
        return 0, SESSION + struct.pack(">II", 5, 0) + bytes(56)

    def _53(self, call: Xdr) -> tuple[int, bytes]:
        session, number = call.take(16), call.number()
        assert [call.number() for _ in range(3)] == [0, 0, 0]
        if session != SESSION or number != self._sequence + 1:
            return BADSESSION, b""
        self._sequence = number
        return 0, session + struct.pack(">5I", number, 0, 0, 0, 0)

    def _24(self, call: Xdr) -> tuple[int, bytes]:
        self._path = "/"
        if self.delays:
            self.delays -= 1
            return DELAY, b""
        return 0, b""

    def _15(self, call: Xdr) -> tuple[int, bytes]:
        assert self._path is not None
        self._path = f"{self._path.rstrip('/')}/{call.opaque().decode()}"
        shown = (*self.directories, *self.files)
        return (0, b"") if any(f"{path}/".startswith(f"{self._path}/") for path in shown) else (NOENT, b"")

    def _9(self, call: Xdr) -> tuple[int, bytes]:
        assert (call.number(), call.number()) == (1, 1 << 1 | 1 << 20)
        assert self._path is not None
        kind = 1 if self._path in self.files else 2
        return 0, struct.pack(">IIIIQ", 1, 1 << 1 | 1 << 20, 12, kind, self.directories.get(self._path, 1))

    def _44(self, call: Xdr) -> tuple[int, bytes]:
        assert call.take(16) == SESSION
        self.sessions -= 1
        return 0, b""

    def _57(self, call: Xdr) -> tuple[int, bytes]:
        assert self.sessions == 0
        self.clients.remove(call.long())
        return 0, b""


def _root(credentials: bytes) -> bool:
    data = Xdr(credentials)
    data.number()
    assert data.opaque()
    numbers = [data.number() for _ in range(3)]
    data.end()
    return numbers == [0, 0, 0]
