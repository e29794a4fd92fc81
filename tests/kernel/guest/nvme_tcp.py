# SPDX-License-Identifier: Apache-2.0
"""A host of NVMe/TCP that does not cooperate: it connects the queues that it likes, and never authenticates.

Formats: NVMe/TCP transport specification 1.1 (PDUs), NVMe base specification 2.1 (connect, property set), as in
include/linux/nvme.h and include/linux/nvme-tcp.h.
"""

import socket
import struct
from dataclasses import dataclass

REQUEST, RESPONSE, COMMAND, COMPLETION, DATA = 0x00, 0x01, 0x04, 0x05, 0x07
FABRICS, CONNECT, PROPERTY_SET = 0x7F, 0x01, 0x00
READ, IDENTIFY = 0x02, 0x06
IN_CAPSULE, BY_TRANSPORT = 0x01, 0x5A
"""Types of an SGL: the data follow the command, or the transport carries them."""
CONTROLLER_CONFIGURATION, ENABLED = 0x14, 0x00460001
"""A register, and its value: enabled, entries of 64 and 16 bytes."""
ANY = 0xFFFF
SECONDS = 20


@dataclass(frozen=True)
class Target:
    """A subsystem at an address, and the name that a host gives itself."""

    address: str
    port: int
    subsystem: str
    host: str


class Queue:
    """One queue, which is one connection. `result`: what connecting it returned; `status` 0: it is connected.

    OSError: the target does not answer, or closed the connection.
    """

    def __init__(self, target: Target, number: int, controller: int = ANY) -> None:
        """Connect queue `number` of a controller, or a new one with the queue 0."""
        self._socket = socket.create_connection((target.address, target.port), SECONDS)
        self._send(REQUEST, struct.pack("<HBBI112x", 0, 0, 0, 0))
        self._receive(RESPONSE)
        data = struct.pack(
            "<16sH238x256s256s256x", bytes(16), controller, target.subsystem.encode(), target.host.encode()
        )
        command = self._fabrics(CONNECT, struct.pack("<HHHBxI12x", 0, number, 31, 0, 0), data)
        self.result, self.status, _ = self._run(command, data)

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def enable(self) -> int:
        """Enable the controller of an admin queue; return the status."""
        body = struct.pack("<B3xIQ8x", 0, CONTROLLER_CONFIGURATION, ENABLED)
        return self._run(self._fabrics(PROPERTY_SET, body))[1]

    def identify(self) -> int:
        """Ask an admin queue what the controller is; return the status."""
        command = self._command(IDENTIFY, 0, _sgl(BY_TRANSPORT, 4096), struct.pack("<I20x", 1))
        return self._run(command)[1]

    def read(self, length: int) -> tuple[int, bytes]:
        """Read the first block of the namespace, of `length` bytes; return the status and what came."""
        command = self._command(READ, 1, _sgl(BY_TRANSPORT, length), struct.pack("<QHH12x", 0, 0, 0))
        _, status, data = self._run(command)
        return status, data

    @staticmethod
    def _command(operation: int, namespace: int, sgl: bytes, rest: bytes) -> bytes:
        return struct.pack("<BBHI16x", operation, 0x40, 1, namespace) + sgl + rest

    @staticmethod
    def _fabrics(kind: int, rest: bytes, data: bytes = b"") -> bytes:
        sgl = _sgl(IN_CAPSULE, len(data)) if data else bytes(16)
        return struct.pack("<BBHB19x", FABRICS, 0x40, 1, kind) + sgl + rest

    def _run(self, command: bytes, data: bytes = b"") -> tuple[int, int, bytes]:
        """Return result, status and data of a command."""
        assert len(command) == 64
        self._send(COMMAND, command, data)
        came = b""
        while True:
            kind, header, more = self._receive()
            if kind == COMPLETION:
                result, _, _, _, status = struct.unpack("<QHHHH", header)
                return result & 0xFFFFFFFF, status >> 1, came
            if kind != DATA:
                raise OSError(f"the target sent a PDU of type {kind:#x}")
            came += more

    def _send(self, kind: int, header: bytes, data: bytes = b"") -> None:
        length = 8 + len(header)
        common = struct.pack("<BBBBI", kind, 0, length, length if data else 0, length + len(data))
        self._socket.sendall(common + header + data)

    def _receive(self, wanted: int | None = None) -> tuple[int, bytes, bytes]:
        """Return type, header and data of the next PDU."""
        kind, _, header, offset, whole = struct.unpack("<BBBBI", self._exactly(8))
        if wanted is not None and kind != wanted:
            raise OSError(f"the target sent a PDU of type {kind:#x}")
        rest = self._exactly(whole - 8)
        return kind, rest[: header - 8], rest[offset - 8 :] if offset else b""

    def _exactly(self, length: int) -> bytes:
        parts = b""
        while len(parts) < length:
            more = self._socket.recv(length - len(parts))
            if not more:
                raise OSError("the target closed the connection")
            parts += more
        return parts


def _sgl(kind: int, length: int) -> bytes:
    return struct.pack("<QI3xB", 0, length, kind)
