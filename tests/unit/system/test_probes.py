# SPDX-License-Identifier: Apache-2.0
"""nfsd and smbd are probed like a client does; a probe ends after a few seconds."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from millrace.system import probes

Probe = Callable[..., str | None]


@contextmanager
def answering(answer: Callable[[bytes], bytes]) -> Iterator[int]:
    """A server that reads one whole record, says what `answer` makes of it, and closes; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection, connection.makefile("rb") as stream:
                length = struct.unpack(">I", stream.read(4))[0] & 0x7FFFFFFF
                connection.sendall(answer(stream.read(length)))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(10)


def accepted(call: bytes) -> bytes:
    """A strict nfsd: NULL of NFS version 4 without credentials, and nothing else."""
    xid, *rest = struct.unpack(">10I", call)
    assert rest == [0, 2, 100003, 4, 0, 0, 0, 0, 0]
    return struct.pack(">I6I", 0x80000018, xid, 1, 0, 0, 0, 0)


def negotiated(request: bytes) -> bytes:
    """A strict smbd ([MS-SMB2] 3.3.5.4): it reads the dialects and finds the contexts where they are said to be."""
    assert request[:4] == b"\xfeSMB" and struct.unpack_from("<H", request, 4)[0] == 64
    assert struct.unpack_from("<H", request, 12)[0] == 0
    size, count = struct.unpack_from("<HH", request, 64)
    assert (size, struct.unpack_from(f"<{count}H", request, 100)) == (36, (0x0302, 0x0311))
    offset, contexts = struct.unpack_from("<IH", request, 64 + 28)
    assert offset % 8 == 0 and contexts == 1
    kind, length = struct.unpack_from("<HH", request, offset)
    algorithms, salt, algorithm = struct.unpack_from("<HHH", request, offset + 8)
    assert (kind, algorithms, algorithm, length) == (1, 1, 1, 6 + salt)
    assert len(request) == offset + 8 + length
    header = struct.pack("<4sHHIHH", b"\xfeSMB", 64, 0, 0, 0, 1) + bytes(48) + bytes(65)
    return struct.pack(">I", len(header)) + header


@pytest.mark.parametrize(("probe", "answer"), [(probes.nfs, accepted), (probes.smb, negotiated)])
def test_a_server_that_answers_has_no_problem(probe: Probe, answer: Callable[[bytes], bytes]) -> None:
    with answering(answer) as port:
        assert probe("127.0.0.1", port) is None


@pytest.mark.parametrize("probe", [probes.nfs, probes.smb])
def test_a_server_whose_threads_all_hang(probe: Probe) -> None:
    # the kernel takes the connection, nobody the call
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert probe("127.0.0.1", listening.getsockname()[1], seconds=0.1) == "timed out"


@pytest.mark.parametrize("probe", [probes.nfs, probes.smb])
def test_port_without_a_listener_is_refused(probe: Probe) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert probe("127.0.0.1", port) == "Connection refused"


def test_an_smbd_that_has_all_the_processes_it_may_have() -> None:
    with answering(lambda request: b"") as port:
        assert probes.smb("127.0.0.1", port) == "it closes the connection"


@pytest.mark.parametrize("probe", [probes.nfs, probes.smb])
@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(64)])
def test_another_server_on_the_port_is_not_taken_for_ours(probe: Probe, said: bytes) -> None:
    with answering(lambda request: said) as port:
        assert probe("127.0.0.1", port) is not None


def test_a_call_that_nfsd_refuses_is_no_answer() -> None:
    def denied(call: bytes) -> bytes:
        return struct.pack(">I6I", 0x80000018, struct.unpack_from(">I", call)[0], 1, 1, 0, 0, 0)

    with answering(denied) as port:
        assert probes.nfs("127.0.0.1", port) == "the reply is not one of NFS"
