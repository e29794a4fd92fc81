# SPDX-License-Identifier: Apache-2.0
"""A hostile `fio --server`: asks each client for a file on the first exchange, and writes down what it is sent.

    python3 fio_server.py ADDRESS PORT FILE-TO-ASK-FOR LOG

fio 3.33 to 3.41, server.h: a command is a little-endian header (version, opcode, flags, tag, length, CRC-16 of the
header before it, CRC-16 of the payload) and a payload. Runs on clients of the tests: Python 3.8.
"""

from __future__ import annotations

import socket
import struct
import sys

SENDFILE, NAME = 21, 256
HEAD, SUMS = struct.Struct("<HHIQI"), struct.Struct("<HH")


def crc16(data: bytes) -> int:
    """CRC-16/ARC, as fio's crc/crc16.c."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0xA001 if crc & 1 else 0)
    return crc


def exactly(peer: socket.socket, count: int) -> bytes:
    """So many bytes; EOFError where the client says less."""
    found = b""
    while len(found) < count:
        piece = peer.recv(count - len(found))
        if not piece:
            raise EOFError
        found += piece
    return found


def heard(peer: socket.socket) -> tuple[int, int, bytes]:
    """Version, opcode and payload of one command; ValueError where it is none of fio's."""
    head, sums = exactly(peer, HEAD.size), exactly(peer, SUMS.size)
    version, opcode, _, _, length = HEAD.unpack(head)
    payload = exactly(peer, length)
    if SUMS.unpack(sums) != (crc16(head), crc16(payload)):
        raise ValueError("this is not a command of fio")
    return version, opcode, payload


def serve(door: socket.socket, wanted: str, log: str) -> None:
    """Ask every client for the file."""
    while True:
        peer, where = door.accept()
        with peer, open(log, "ab") as out:
            out.write(b"connection from %s\n" % where[0].encode())
            try:
                version, opcode, _ = heard(peer)
                name = wanted.encode().ljust(NAME, b"\0")
                head = HEAD.pack(version, SENDFILE, 0, 0, len(name))
                peer.sendall(head + SUMS.pack(crc16(head), crc16(name)) + name)
                while opcode != SENDFILE:
                    _, opcode, payload = heard(peer)
                    out.write(b"opcode %d: %s\n" % (opcode, payload))
            except (EOFError, ValueError, OSError) as error:
                out.write(b"%s\n" % repr(error).encode())


if __name__ == "__main__":
    address, port, wanted, log = sys.argv[1:]
    open(log, "wb").close()
    with socket.create_server((address, int(port))) as door:
        serve(door, wanted, log)
