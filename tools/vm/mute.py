# SPDX-License-Identifier: Apache-2.0
"""A drive that goes mute: it takes requests and answers none, by a server of the NBD protocol that holds them back.

QEMU has no such fault: what it throttles it finishes when the controller is reset. A reset waits inside QEMU for
requests that are under way, and the guest with it. A real drive gives them up at once, so that those that are held then
are carried out (`released`).
"""

import os
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

# NetworkBlockDevice/nbd, doc/proto.md
_MAGIC, _OPTION, _OPTION_REPLY = 0x4E42444D41474943, 0x49484156454F5054, 0x3E889045565A9
_REQUEST, _REPLY = struct.Struct(">IHHQQI"), struct.Struct(">IIQ")
_REQUEST_MAGIC, _REPLY_MAGIC = 0x25609513, 0x67446698
_GO, _ACK, _INFO, _UNSUPPORTED = 7, 1, 3, 0x80000001
_READ, _WRITE, _CLOSE, _FLUSH, _TRIM, _ZEROES = 0, 1, 2, 3, 4, 6
# has flags, flush, FUA, trim, write zeroes
_FLAGS = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6
_FUA = 1


@dataclass(frozen=True)
class _Request:
    flags: int
    kind: int
    handle: int
    offset: int
    length: int
    data: bytes


class MuteDrive:
    """Serves a raw file at a UNIX socket to one client, and holds requests back while it is mute.

    `stuck` is asked while requests are held: where it is true they are carried out, and later ones are held again.
    """

    def __init__(self, content: Path, path: Path, stuck: Callable[[], bool]) -> None:
        self._stuck = stuck
        self._lock = threading.Condition()
        self._held: list[_Request] = []
        self._mute = False
        self._ended = False
        self.released = 0
        self._file = os.open(content, os.O_RDWR | os.O_CLOEXEC)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._client: socket.socket | None = None
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._serve, self._watch)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def held(self) -> int:
        """Requests that are held back now."""
        with self._lock:
            return len(self._held)

    def fall_silent(self) -> None:
        """Answer nothing from now on."""
        with self._lock:
            self._mute = True

    def speak(self) -> None:
        """Carry out what is held, and answer everything from now on."""
        with self._lock:
            self._mute = False
            self._release()

    def close(self) -> None:
        """Carry out what is held and end."""
        self.speak()
        with self._lock:
            self._ended = True
            self._lock.notify_all()
        for connection in (self._client, self._listener):
            if connection is not None:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()
        for thread in self._threads:
            thread.join(10)
        os.close(self._file)

    def _release(self) -> None:
        for request in self._held:
            self._carry_out(request)
        self._held.clear()

    def _watch(self) -> None:
        while True:
            with self._lock:
                if self._lock.wait_for(lambda: self._ended, 0.5):
                    return
                waiting = bool(self._held)
            if waiting and self._stuck():
                with self._lock:
                    self.released += len(self._held)
                    self._release()

    def _serve(self) -> None:
        with suppress(OSError, EOFError):
            self._client, _ = self._listener.accept()
            self._greet()
            while True:
                magic, flags, kind, handle, offset, length = _REQUEST.unpack(self._read(_REQUEST.size))
                if magic != _REQUEST_MAGIC or kind == _CLOSE:
                    return
                data = self._read(length) if kind == _WRITE else b""
                request = _Request(flags, kind, handle, offset, length, data)
                with self._lock:
                    if self._mute:
                        self._held.append(request)
                    else:
                        self._carry_out(request)

    def _greet(self) -> None:
        self._send(struct.pack(">8sQH", b"NBDMAGIC", _OPTION, 1 | 2))
        self._read(4)
        while True:
            _, option, length = struct.unpack(">QII", self._read(16))
            self._read(length)
            if option != _GO:
                self._answer(option, _UNSUPPORTED, b"")
                continue
            size = os.fstat(self._file).st_size
            self._answer(option, _INFO, struct.pack(">HQH", 0, size, _FLAGS))
            self._answer(option, _ACK, b"")
            return

    def _answer(self, option: int, kind: int, data: bytes) -> None:
        self._send(struct.pack(">QIII", _OPTION_REPLY, option, kind, len(data)) + data)

    def _carry_out(self, request: _Request) -> None:
        data = b""
        if request.kind == _READ:
            data = os.pread(self._file, request.length, request.offset)
        elif request.kind == _WRITE:
            os.pwrite(self._file, request.data, request.offset)
        elif request.kind in (_TRIM, _ZEROES):
            os.pwrite(self._file, bytes(request.length), request.offset)
        if request.kind == _FLUSH or request.flags & _FUA:
            os.fdatasync(self._file)
        with suppress(OSError):
            self._send(_REPLY.pack(_REPLY_MAGIC, 0, request.handle) + data)

    def _read(self, length: int) -> bytes:
        assert self._client is not None
        data = bytearray()
        while len(data) < length:
            part = self._client.recv(length - len(data))
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def _send(self, data: bytes) -> None:
        assert self._client is not None
        self._client.sendall(data)
