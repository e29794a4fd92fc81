# SPDX-License-Identifier: Apache-2.0
"""The fake fio server of the tests of booted servers speaks fio's protocol."""

import socket
from pathlib import Path
from threading import Thread

import pytest

from tests.fakes import fio_server
from tests.fakes.fio_server import HEAD, SENDFILE, SUMS, crc16, heard

# what fio 3.33 sends first, recorded: FIO_NET_CMD_PROBE
VERSION, PROBE = 97, 10


def command(opcode: int, payload: bytes = b"", version: int = VERSION) -> bytes:
    head = HEAD.pack(version, opcode, 0, 0, len(payload))
    return head + SUMS.pack(crc16(head), crc16(payload)) + payload


def test_its_checksum_is_fios() -> None:
    assert crc16(b"123456789") == 0xBB3D


def test_it_asks_for_the_file_and_writes_down_what_it_is_sent(tmp_path: Path) -> None:
    log = tmp_path / "log"
    door = socket.create_server(("127.0.0.1", 0))
    Thread(target=fio_server.serve, args=(door, "/etc/shadow", str(log)), daemon=True).start()
    with socket.create_connection(door.getsockname(), 5) as fio:
        fio.sendall(command(PROBE))
        version, opcode, payload = heard(fio)
        assert (version, opcode, payload.rstrip(b"\0")) == (VERSION, SENDFILE, b"/etc/shadow")
        fio.sendall(command(SENDFILE, b"root:$y$"))
        assert fio.recv(1) == b""
    assert log.read_bytes() == b"connection from 127.0.0.1\nopcode 21: root:$y$\n"
    with socket.create_connection(door.getsockname(), 5) as other:
        other.sendall(b"x" * 100)
        other.shutdown(socket.SHUT_WR)
        assert other.recv(1) == b""
    assert b"EOFError" in log.read_bytes()


def test_what_is_no_command_is_refused() -> None:
    one, two = socket.socketpair()
    with one, two:
        one.sendall(command(PROBE).replace(b"\x61", b"\x62"))
        with pytest.raises(ValueError, match="not a command of fio"):
            heard(two)
