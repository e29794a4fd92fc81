# SPDX-License-Identifier: Apache-2.0
"""A drive over NBD that holds requests back, as QEMU's client speaks the protocol."""

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from vm.mute import MuteDrive

SIZE = 1 << 20
READ, WRITE, FLUSH, ZEROES = 0, 1, 3, 6


class Client:
    """As much of a client as QEMU is."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10)
        self.socket.connect(str(path))
        assert self.take(18)[:16] == b"NBDMAGICIHAVEOPT"
        self.socket.sendall(struct.pack(">I", 3))
        # structured replies, which it need not have; then the export
        self.option(8, b"")
        assert self.reply() == (0x80000001, b"")
        self.option(7, struct.pack(">IH", 0, 0))
        kind, info = self.reply()
        assert kind == 3 and struct.unpack(">HQH", info)[1] == SIZE
        assert self.reply() == (1, b"")

    def option(self, number: int, data: bytes) -> None:
        self.socket.sendall(b"IHAVEOPT" + struct.pack(">II", number, len(data)) + data)

    def reply(self) -> tuple[int, bytes]:
        _, _, kind, length = struct.unpack(">QIII", self.take(20))
        return kind, self.take(length)

    def ask(self, kind: int, handle: int, offset: int, length: int, data: bytes = b"") -> None:
        self.socket.sendall(struct.pack(">IHHQQI", 0x25609513, 0, kind, handle, offset, length) + data)

    def answer(self, length: int = 0) -> tuple[int, bytes]:
        magic, error, handle = struct.unpack(">IIQ", self.take(16))
        assert (magic, error) == (0x67446698, 0)
        return handle, self.take(length)

    def take(self, length: int) -> bytes:
        found = b""
        while len(found) < length:
            part = self.socket.recv(length - len(found))
            assert part
            found += part
        return found


@pytest.fixture
def stuck() -> list[bool]:
    return [False]


@pytest.fixture
def drive(tmp_path: Path, stuck: list[bool]) -> Iterator[MuteDrive]:
    (tmp_path / "drive.raw").write_bytes(bytes(SIZE))
    with MuteDrive(tmp_path / "drive.raw", tmp_path / "s", lambda: stuck[0]) as found:
        yield found


@pytest.fixture
def client(drive: MuteDrive, tmp_path: Path) -> Iterator[Client]:
    found = Client(tmp_path / "s")
    yield found
    found.socket.close()


def test_drive_does_what_it_is_asked(client: Client, tmp_path: Path) -> None:
    client.ask(WRITE, 1, 4096, 4, b"abcd")
    assert client.answer() == (1, b"")
    client.ask(READ, 2, 4096, 4)
    assert client.answer(4) == (2, b"abcd")
    client.ask(FLUSH, 3, 0, 0)
    assert client.answer() == (3, b"")
    assert (tmp_path / "drive.raw").read_bytes()[4096:4100] == b"abcd"
    client.ask(ZEROES, 4, 4096, 2)
    assert client.answer() == (4, b"")
    assert (tmp_path / "drive.raw").read_bytes()[4096:4100] == b"\0\0cd"


def test_mute_drive_holds_requests_and_carries_them_out_when_it_speaks(drive: MuteDrive, client: Client) -> None:
    drive.fall_silent()
    client.ask(WRITE, 1, 0, 4, b"abcd")
    client.socket.settimeout(0.2)
    with pytest.raises(TimeoutError):
        client.answer()
    client.socket.settimeout(10)
    assert drive.held == 1
    drive.speak()
    assert client.answer() == (1, b"")


def test_client_that_is_stuck_gets_its_answers_and_the_drive_stays_mute(
    drive: MuteDrive, client: Client, stuck: list[bool]
) -> None:
    drive.fall_silent()
    client.ask(READ, 1, 0, 4)
    stuck[0] = True
    assert client.answer(4) == (1, b"\0\0\0\0")
    stuck[0] = False
    assert drive.released == 1
    client.ask(READ, 2, 0, 4)
    client.socket.settimeout(0.2)
    with pytest.raises(TimeoutError):
        client.answer(4)
