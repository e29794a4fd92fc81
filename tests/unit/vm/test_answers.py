# SPDX-License-Identifier: Apache-2.0
"""`tools/run` reports a service as up once it responds in its own protocol."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from vm import answers


@contextmanager
def serving(reply: Callable[[bytes], bytes]) -> Iterator[int]:
    """Serve one connection on loopback with `reply` to its first message."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                if answer := reply(connection.recv(4096)):
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(listener.getsockname()[1])
        thread.join(10)


def framed(body: bytes, mark: int = 0) -> bytes:
    return struct.pack(">I", mark | len(body)) + body


def rpc(call: bytes, verdict: int) -> bytes:
    (xid,) = struct.unpack_from(">I", call, 4)
    return framed(struct.pack(">IIIIII", xid, 1, 0, 0, 0, verdict), 0x80000000)


def negotiated(call: bytes) -> bytes:
    assert call[4:8] == b"\xfeSMB"
    return framed(call[4:68])


def test_an_nfs_server_that_answers_null_is_up() -> None:
    with serving(lambda call: rpc(call, 0)) as port:
        assert answers.nfs(port)


def test_a_server_without_nfs_version_4_is_not_up() -> None:
    program_mismatch = 2
    with serving(lambda call: rpc(call, program_mismatch)) as port:
        assert not answers.nfs(port)


def test_an_smb_server_that_negotiates_is_up() -> None:
    with serving(negotiated) as port:
        assert answers.smb(port)


@pytest.mark.parametrize("ask", [answers.nfs, answers.smb, answers.cockpit])
@pytest.mark.parametrize("reply", [b"", b"\x00\x00\x00\x04nope", b"HTTP/1.1 200 OK\r\n\r\ncockpit"])
def test_an_open_port_alone_proves_nothing(ask: Callable[[int], bool], reply: bytes) -> None:
    with serving(lambda _: reply) as port:
        assert not ask(port)


@pytest.mark.parametrize("ask", [answers.nfs, answers.smb, answers.cockpit])
def test_a_closed_port_is_not_up(ask: Callable[[int], bool]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
    assert not ask(port)
