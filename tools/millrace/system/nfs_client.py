# SPDX-License-Identifier: Apache-2.0
"""A small NFSv4.2 client of its own: it opens directories as a client does, and shares nothing with the kernel's.

The kernel's client recognises a server at any of its addresses (trunking, RFC 8881 2.10.5) and uses the session that it
has: a mount of 127.0.0.1 comes from the address of an earlier mount. What is verified here comes from where it says.
"""

import errno
import os
import secrets
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from millrace.system import nfs_rpc
from millrace.system.errors import Failed
from millrace.system.listeners import NFS_PORT
from millrace.system.nfs_rpc import opaque
from millrace.system.wait import wait_until

P = ParamSpec("P")
T = TypeVar("T")

SECONDS = 20.0
RESERVED = range(1023, 664, -1)
"""Ports that `secure` of exports(5) asks for, as the kernel's client takes them."""
# A server that asks user space about an export lets the client wait (NFS4ERR_DELAY).
PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)

_STARTTLS = b"STARTTLS"
_MINOR = 2
_GETATTR, _LOOKUP, _PUTROOTFH, _EXCHANGE_ID, _CREATE_SESSION, _DESTROY_SESSION, _SEQUENCE, _DESTROY_CLIENTID = (
    9,
    15,
    24,
    42,
    43,
    44,
    53,
    57,
)
# bytes of a result in front of others
_LENGTHS = {_SEQUENCE: 36}
_TYPE, _FILEID = 1, 20
_DIRECTORY = 2
_DELAY = 10008
# RFC 8881 15.1, what a server says of a path that is looked up and of a client that introduces itself
_ERRORS = {
    1: "operation not permitted",
    2: "no such file or directory",
    5: "input/output error",
    13: "permission denied",
    20: "not a directory",
    28: "no space left on device",
    70: "stale file handle",
    10006: "the server fails",
    10008: "the server is not ready",
    10016: "the export asks for other security",
    10021: "the version is not supported",
}


@dataclass(frozen=True)
class TlsClient:
    """RPC over TLS (RFC 9289): the name that the server's certificate has, the file of what is trusted.

    `shown` are the files of the certificate and the key that the client shows; None where it shows none.
    """

    name: str
    trusted: Path
    shown: tuple[Path, Path] | None = None


class NfsSession:
    """A session with an NFS server, as root of this machine by AUTH_SYS."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._slot = 0
        owner = f"verification-{secrets.token_hex(8)}".encode()
        # no state protection, no implementation id
        said = self._compound([(_EXCHANGE_ID, secrets.token_bytes(8) + opaque(owner) + struct.pack(">III", 0, 0, 0))])
        self._client, sequence = struct.unpack_from(">QI", said[_EXCHANGE_ID])
        # header padding, largest request and reply, largest cached reply, operations, requests, no RDMA
        channel = struct.pack(">7I", 0, 8192, 8192, 1024, 64, 1, 0)
        # no callback ever comes: the session holds no state
        callbacks = struct.pack(">III", 0x40000000, 1, nfs_rpc.AUTH_NONE)
        made = struct.pack(">QII", self._client, sequence, 0) + channel + channel + callbacks
        self._id = self._compound([(_CREATE_SESSION, made)])[_CREATE_SESSION][:16]

    def inode(self, path: str) -> int:
        """Return the inode number of a directory, looked up from the root that NFSv4 shows.

        Failed: the server does not show it to this client, or it is no directory.
        """
        names = [name.encode() for name in path.split("/") if name]
        wanted = struct.pack(">II", 1, 1 << _TYPE | 1 << _FILEID)
        steps = [(_PUTROOTFH, b""), *((_LOOKUP, opaque(name)) for name in names), (_GETATTR, wanted)]
        attributes = _told(self._in_session, steps)[_GETATTR]
        # the bitmap, the length of the values, and these in the order of their numbers
        words, bitmap, _, kind, number = _told(struct.unpack_from, ">IIIIQ", attributes)
        if (words, bitmap) != (1, 1 << _TYPE | 1 << _FILEID):
            raise Failed("the server does not show what a directory is")
        if kind != _DIRECTORY:
            raise Failed("not a directory")
        return int(number)

    def close(self) -> None:
        """End the session and the client: the server keeps nothing of them. Failed: it does not do so."""
        self._compound([(_DESTROY_SESSION, self._id)])
        self._compound([(_DESTROY_CLIENTID, struct.pack(">Q", self._client))])

    def _in_session(self, steps: Sequence[tuple[int, bytes]]) -> dict[int, bytes]:
        def once() -> tuple[int, dict[int, bytes]]:
            self._slot += 1
            sequence = self._id + struct.pack(">IIII", self._slot, 0, 0, 0)
            return self._ask([(_SEQUENCE, sequence), *steps])

        return _in_time(once)

    def _compound(self, steps: Sequence[tuple[int, bytes]]) -> dict[int, bytes]:
        return _in_time(lambda: self._ask(steps))

    def _ask(self, steps: Sequence[tuple[int, bytes]]) -> tuple[int, dict[int, bytes]]:
        """Return the status of a COMPOUND, and the rest of the reply from each result on, by operation."""
        arguments = opaque(b"") + struct.pack(">II", _MINOR, len(steps))
        arguments += b"".join(struct.pack(">I", operation) + argument for operation, argument in steps)
        machine = os.uname().nodename.encode()[:255]
        credentials = struct.pack(">I", 0) + opaque(machine) + struct.pack(">III", 0, 0, 0)
        reply = nfs_rpc.call(self._connection, nfs_rpc.COMPOUND, nfs_rpc.AUTH_SYS, credentials, arguments)
        return _results(reply.result, [operation for operation, _ in steps])


@contextmanager
def session(address: str, tls: TlsClient | None = None, port: int = NFS_PORT) -> Iterator[NfsSession]:
    """Open a session with the NFS server at an address; root does so from a reserved port.

    Failed: the server does not answer within SECONDS, or refuses, or root lacks CAP_NET_BIND_SERVICE.
    """
    with _told(_connect, address, port) as plain:
        connection = _told(_encrypted, plain, tls) if tls else plain
        with connection:
            opened = _told(NfsSession, connection)
            try:
                yield opened
            finally:
                # the lease ends what is left
                with suppress(OSError, Failed, struct.error):
                    opened.close()


def _told(step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a step. Failed: with the words of the operating system, or of TLS."""
    try:
        return step(*args, **kwargs)
    except OSError as error:
        # of ssl.SSLError, which is slow to import
        tls = getattr(error, "verify_message", None) or getattr(error, "reason", None)
        if tls:
            raise Failed(f"the TLS handshake fails ({tls})") from error
        raise Failed(f"the server does not answer ({error.strerror or error})") from error
    except struct.error as error:
        raise Failed(nfs_rpc.NOT_NFS) from error


def _connect(address: str, port: int) -> socket.socket:
    """Connect, root from a reserved port. OSError: nobody listens. Failed: root has no right to such a port."""
    first = secrets.randbelow(len(RESERVED))
    for local in (*RESERVED[first:], *RESERVED[:first]) if os.geteuid() == 0 else (0,):
        connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        try:
            connection.settimeout(SECONDS)
            connection.bind(("", local))
            connection.connect((address, port))
        except OSError as error:
            connection.close()
            if isinstance(error, PermissionError):
                raise Failed("this process may not use ports below 1024 (CAP_NET_BIND_SERVICE)") from error
            # another program has the port, or the server still remembers it
            if error.errno not in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
                raise
        else:
            return connection
    raise OSError(errno.EADDRINUSE, "all reserved ports are in use")


def _encrypted(plain: socket.socket, tls: TlsClient) -> socket.socket:
    """Return the connection over TLS. OSError: the handshake fails. Failed: the server does not offer TLS."""
    if nfs_rpc.call(plain, nfs_rpc.NULL, nfs_rpc.AUTH_TLS).verifier != _STARTTLS:
        raise Failed("the server does not offer TLS")
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # RFC 9289 4.1
    context.set_alpn_protocols(["sunrpc"])
    # An installed certificate is a trust anchor, even if it is no root certificate.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(tls.trusted)
        if tls.shown:
            context.load_cert_chain(*tls.shown)
    except OSError as error:
        raise Failed(f"a certificate of this server cannot be used ({error.strerror or error})") from error
    return context.wrap_socket(plain, server_hostname=tls.name)


def _results(reply: bytes, operations: Sequence[int]) -> tuple[int, dict[int, bytes]]:
    """Return the status of a COMPOUND, and what follows each result's status, by operation."""
    status, tag = struct.unpack_from(">II", reply)
    (count,) = struct.unpack_from(">I", reply, 8 + tag + -tag % 4)
    if status == 0 and count != len(operations):
        raise Failed(nfs_rpc.NOT_NFS)
    rest = reply[12 + tag + -tag % 4 :]
    parts: dict[int, bytes] = {}
    for operation in operations[:count]:
        replied, done = struct.unpack_from(">II", rest)
        if replied != operation:
            raise Failed(nfs_rpc.NOT_NFS)
        rest = rest[8:]
        parts[operation] = rest
        if done == 0:
            # only what another result follows has a length that matters
            rest = rest[_LENGTHS.get(operation, 0) :]
    return status, parts


def _in_time(once: Callable[[], tuple[int, dict[int, bytes]]]) -> dict[int, bytes]:
    """Return the results of a COMPOUND; again while the server lets its clients wait. Failed: it refuses."""
    status, parts = wait_until(once, lambda answer: answer[0] != _DELAY, PAUSES)
    if status:
        raise Failed(_ERRORS.get(status, f"NFS error {status}"))
    return parts
