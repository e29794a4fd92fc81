# SPDX-License-Identifier: Apache-2.0
"""Runs on the client: logs in over SMB 3.1.1 with the right password and then asks for a share without a signature.

    python3 unsigned.py HOST SHARE USER < password

Prints the NT status of the login and of the request, in hexadecimal. No client library sends such a request, so the
four packets are made here ([MS-SMB2], [MS-NLMP]); nothing but the standard library is needed.
"""

import hmac
import os
import socket
import struct
import sys

NEGOTIATE, SESSION_SETUP, TREE_CONNECT = 0, 1, 3
MORE_PROCESSING = 0xC0000016
NTLMSSP_FLAGS = 0x00088205  # unicode, target name, NTLM, always sign, extended session security


def md4(data: bytes) -> bytes:
    """RFC 1320: OpenSSL has it no more, and Windows passwords are hashed with it."""
    mask = 0xFFFFFFFF
    state = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476]
    padded = data + b"\x80" + bytes(-(len(data) + 9) % 64) + struct.pack("<Q", 8 * len(data))
    rounds = (
        (lambda x, y, z: (x & y) | (~x & z), 0, range(16), (3, 7, 11, 19)),
        (
            lambda x, y, z: (x & y) | (x & z) | (y & z),
            0x5A827999,
            [4 * (i % 4) + i // 4 for i in range(16)],
            (3, 5, 9, 13),
        ),
        (
            lambda x, y, z: x ^ y ^ z,
            0x6ED9EBA1,
            (0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15),
            (3, 9, 11, 15),
        ),
    )
    for start in range(0, len(padded), 64):
        words = struct.unpack("<16I", padded[start : start + 64])
        a, b, c, d = state
        for function, constant, order, shifts in rounds:
            for step, index in enumerate(order):
                value = (a + function(b, c, d) + words[index] + constant) & mask
                shift = shifts[step % 4]
                a, b, c, d = d, ((value << shift) | (value >> (32 - shift))) & mask, b, c
        state = [(old + new) & mask for old, new in zip(state, (a, b, c, d), strict=True)]
    return struct.pack("<4I", *state)


class Connection:
    """One TCP connection that signs nothing."""

    def __init__(self, host: str) -> None:
        self.socket = socket.create_connection((host, 445), timeout=120)
        self.message = 0
        self.session = 0

    def ask(self, command: int, body: bytes) -> tuple[int, bytes]:
        header = struct.pack(
            "<4sHHIHHIIQIIQ16s", b"\xfeSMB", 64, 1, 0, command, 31, 0, 0, self.message, 0, 0, self.session, b""
        )
        self.message += 1
        packet = header + body
        self.socket.sendall(struct.pack(">I", len(packet)) + packet)
        (size,) = struct.unpack(">I", self._read(4))
        answer = self._read(size)
        (self.session,) = struct.unpack_from("<Q", answer, 40)
        return struct.unpack_from("<I", answer, 8)[0], answer[64:]

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise SystemExit("the server closed the connection")
            data += more
        return data


def negotiate(connection: Connection) -> None:
    integrity = struct.pack("<HHH", 1, 32, 1) + os.urandom(32)  # one hash, SHA-512, with a salt
    context = struct.pack("<HHI", 1, len(integrity), 0) + integrity
    offset = 64 + 36 + 2 + 2  # behind header, fixed part, the one dialect and padding to 8
    body = struct.pack("<HHHHI16sIHHH", 36, 1, 1, 0, 0, os.urandom(16), offset, 1, 0, 0x0311) + bytes(2) + context
    status, _ = connection.ask(NEGOTIATE, body)
    if status:
        raise SystemExit(f"negotiation fails: {status:08x}")


def session_setup(connection: Connection, token: bytes) -> tuple[int, bytes]:
    body = struct.pack("<HBBIIHHQ", 25, 0, 1, 0, 0, 64 + 24, len(token), 0) + token
    status, answer = connection.ask(SESSION_SETUP, body)
    offset, length = struct.unpack_from("<HH", answer, 4) if len(answer) >= 8 else (64, 0)
    return status, answer[offset - 64 : offset - 64 + length]


def authenticate(challenge: bytes, user: str, password: str) -> bytes:
    nonce = challenge[24:32]
    length, offset = struct.unpack_from("<HxxI", challenge, 40)
    names = challenge[offset : offset + length]
    key = hmac.digest(md4(password.encode("utf-16-le")), user.upper().encode("utf-16-le"), "md5")
    blob = b"\x01\x01" + bytes(6) + struct.pack("<Q", 0x01D000000000000) + os.urandom(8) + bytes(4) + names + bytes(4)
    proof = hmac.digest(key, nonce + blob, "md5")
    fields, payload, start = b"", b"", 64
    for value in (bytes(24), proof + blob, b"", user.encode("utf-16-le"), b"", b""):
        fields += struct.pack("<HHI", len(value), len(value), start + len(payload))
        payload += value
    return b"NTLMSSP\x00" + struct.pack("<I", 3) + fields + struct.pack("<I", NTLMSSP_FLAGS) + payload


def main() -> None:
    host, share, user = sys.argv[1:]
    password = sys.stdin.readline().rstrip("\n")
    connection = Connection(host)
    negotiate(connection)
    hello = b"NTLMSSP\x00" + struct.pack("<II", 1, NTLMSSP_FLAGS) + bytes(16)
    status, challenge = session_setup(connection, hello)
    if status != MORE_PROCESSING:
        raise SystemExit(f"no challenge: {status:08x}")
    status, _ = session_setup(connection, authenticate(challenge, user, password))
    print(f"{status:08x}")
    if status == 0:
        path = f"\\\\{host}\\{share}".encode("utf-16-le")
        status, _ = connection.ask(TREE_CONNECT, struct.pack("<HHHH", 9, 0, 64 + 8, len(path)) + path)
        print(f"{status:08x}")


if __name__ == "__main__":
    main()
