# SPDX-License-Identifier: Apache-2.0
"""Request the dialect of smbd: SMB2 NEGOTIATE ([MS-SMB2] 2.2.3), and no more."""

import secrets
import struct

from millrace.health import tcp

PORT = 445
SECONDS = 10.0
_MAGIC = b"\xfeSMB"
_NEGOTIATE = 0
_DIALECTS = (0x0302, 0x0311)
_SIGNING_ENABLED, _PREAUTH_INTEGRITY, _SHA512 = 1, 1, 1
_HEADER, _REQUEST = 64, 36


def problem(address: str, port: int = PORT, seconds: float = SECONDS) -> str | None:
    """Return None where the server answers within `seconds`, else what happened, in words."""
    try:
        # [MS-SMB2] 2.1: four bytes with the length in front, the first of them zero.
        answer = tcp.exchange(address, port, 0, request(), 4 + 14, seconds)[4:]
    except OSError as error:
        return error.strerror or str(error)
    if not answer:
        return "it closes the connection"
    # Whatever the status: a server that wants another dialect is there to say so.
    command = struct.unpack_from("<H", answer, 12)[0] if len(answer) == 14 else None
    return None if answer[:4] == _MAGIC and command == _NEGOTIATE else "the reply is not one of SMB"


def request() -> bytes:
    """Return a NEGOTIATE for SMB 3.0.2 and 3.1.1."""
    header = struct.pack("<4sHHIHHIIQIIQ16s", _MAGIC, _HEADER, 0, 0, _NEGOTIATE, 1, 0, 0, 0, 0, 0, 0, b"")
    dialects = struct.pack(f"<{len(_DIALECTS)}H", *_DIALECTS)
    # Contexts begin at a multiple of eight from the header.
    padding = -(_HEADER + _REQUEST + len(dialects)) % 8
    offset = _HEADER + _REQUEST + len(dialects) + padding
    salt = secrets.token_bytes(32)
    context = struct.pack("<HHIHHH", _PREAUTH_INTEGRITY, 6 + len(salt), 0, 1, len(salt), _SHA512) + salt
    body = struct.pack(
        "<HHHHI16sIHH", _REQUEST, len(_DIALECTS), _SIGNING_ENABLED, 0, 0, secrets.token_bytes(16), offset, 1, 0
    )
    return header + body + dialects + bytes(padding) + context
