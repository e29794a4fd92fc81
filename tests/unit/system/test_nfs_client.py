# SPDX-License-Identifier: Apache-2.0
"""The client in user space speaks NFSv4.2, says what a server refuses, and leaves nothing at the server."""

import errno
import os
import socket
import ssl
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.system import nfs_client, nfs_rpc
from millrace.system.errors import Failed
from millrace.system.nfs_client import NfsSession, TlsClient, session
from tests.fakes.certificates import pair
from tests.fakes.nfs_server import NfsServer

INODE = 0x1_2345_6789
PATH = "/srv/pool/train"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[NfsServer]:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(nfs_client, "SECONDS", 5.0)
    monkeypatch.setattr(nfs_client, "PAUSES", (0.0, 0.0))
    with NfsServer({PATH: INODE, "/srv/pool/größe": 9}).serving() as made:
        yield made


def inode(server: NfsServer, path: str = PATH, tls: TlsClient | None = None) -> int:
    with session("127.0.0.1", tls, server.port) as opened:
        return opened.inode(path)


def test_directory_is_opened_from_the_root_and_nothing_stays_at_the_server(server: NfsServer) -> None:
    with session("127.0.0.1", None, server.port) as opened:
        assert opened.inode(PATH) == INODE
        assert opened.inode("/srv/pool/größe") == 9
        assert server.sessions == 1 and server.clients
    assert server.sessions == 0 and not server.clients


def test_path_that_is_not_shown_is_said_and_the_session_goes_on(server: NfsServer) -> None:
    with session("127.0.0.1", None, server.port) as opened:
        with pytest.raises(Failed, match=r"^no such file or directory$"):
            opened.inode("/srv/pool/other")
        assert opened.inode(PATH) == INODE
    assert not server.clients


def test_file_is_no_directory(server: NfsServer) -> None:
    server.files = {"/srv/pool/file"}
    with pytest.raises(Failed, match=r"^not a directory$"):
        inode(server, "/srv/pool/file")


def test_server_that_asks_user_space_is_waited_for(server: NfsServer) -> None:
    server.delays = 2
    assert inode(server) == INODE
    server.delays = 9
    with pytest.raises(Failed, match="the server is not ready"):
        inode(server)


def test_export_that_asks_for_other_security_is_said(server: NfsServer) -> None:
    server.denied = True
    with pytest.raises(Failed, match="the server denies the call"):
        inode(server)


def test_server_that_says_nothing_or_is_not_there_is_said(server: NfsServer) -> None:
    server.silent = True
    with pytest.raises(Failed, match="the server does not answer"):
        inode(server)
    with pytest.raises(Failed, match=r"the server does not answer \(Connection refused\)"):
        inode(NfsServerThatEnded())


class NfsServerThatEnded(NfsServer):
    def __init__(self) -> None:
        super().__init__({})
        self._listener.close()


def test_root_comes_from_a_reserved_port_that_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    class Socket:
        def __init__(self, family: int) -> None:
            pass

        def settimeout(self, seconds: float) -> None:
            pass

        def bind(self, address: tuple[str, int]) -> None:
            tried.append(address[1])
            if len(tried) < 3:
                raise OSError(errno.EADDRINUSE, "Address already in use")

        def connect(self, address: tuple[str, int]) -> None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

        def close(self) -> None:
            pass

    monkeypatch.setattr(nfs_client.socket, "socket", Socket)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(Failed, match="Connection refused"), session("127.0.0.1"):
        pass
    assert len(tried) == 3 and all(512 < port < 1024 for port in tried)


def test_root_without_a_right_to_reserved_ports_is_said(server: NfsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(connection: socket.socket, address: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(nfs_client.socket.socket, "bind", refuse)
    with pytest.raises(Failed, match=r"^this process may not use ports below 1024"):
        inode(server)


def test_fragments_without_end_are_no_reply() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(bytes(4))
        with pytest.raises(Failed, match="the reply is not one of NFS"):
            nfs_rpc.call(ours, nfs_rpc.NULL)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate that trusts itself, as one that an administrator installs, and its key."""
    files = tmp_path / "server.pem", tmp_path / "server.key"
    for file, text in zip(files, pair("nas.example.com"), strict=True):
        file.write_text(text)
    return files


def over_tls(server: NfsServer, certificate: tuple[Path, Path], mutual: bool) -> None:
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.tls.load_cert_chain(*certificate)
    server.tls.set_alpn_protocols(["sunrpc"])
    if mutual:
        server.tls.load_verify_locations(certificate[0])
        server.tls.verify_mode = ssl.CERT_REQUIRED


@pytest.mark.parametrize("mutual", [False, True])
def test_directory_is_opened_over_tls(server: NfsServer, certificate: tuple[Path, Path], mutual: bool) -> None:
    over_tls(server, certificate, mutual)
    tls = TlsClient("nas.example.com", certificate[0], certificate if mutual else None)
    assert inode(server, tls=tls) == INODE
    assert bool(server.peers[0]) is mutual
    with pytest.raises(Failed, match="the server denies the call"):
        inode(server)


def test_certificate_of_another_name_is_refused(server: NfsServer, certificate: tuple[Path, Path]) -> None:
    over_tls(server, certificate, False)
    with pytest.raises(Failed, match=r"the TLS handshake fails \(Hostname mismatch"):
        inode(server, tls=TlsClient("other.example.com", certificate[0]))


def test_server_without_tls_and_files_that_are_gone_are_said(server: NfsServer, certificate: tuple[Path, Path]) -> None:
    tls = TlsClient("nas.example.com", certificate[0])
    with pytest.raises(Failed, match="the server does not offer TLS"):
        inode(server, tls=tls)
    over_tls(server, certificate, False)
    certificate[0].unlink()
    with pytest.raises(Failed, match=r"a certificate of this server cannot be used \(No such file or directory\)"):
        inode(server, tls=tls)


class Liar:
    """A server that reports success, and has the results that it is given."""

    def __init__(self, results: bytes) -> None:
        self.results, self.left = results, b""

    def sendall(self, message: bytes) -> None:
        # the number of the call; a reply, accepted, without a verifier
        reply = message[4:8] + struct.pack(">5I", 1, 0, 0, 0, 0) + self.results
        self.left += struct.pack(">I", 1 << 31 | len(reply)) + reply

    def recv(self, size: int) -> bytes:
        data, self.left = self.left[:size], self.left[size:]
        return data


@pytest.mark.parametrize("count", [0, 2, 1 << 31])
def test_success_with_other_results_than_asked_for_is_not_nfs(count: int) -> None:
    liar: Any = Liar(struct.pack(">III", 0, 0, count) + bytes(64))
    with pytest.raises(Failed, match=nfs_rpc.NOT_NFS):
        NfsSession(liar)
