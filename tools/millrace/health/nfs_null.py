# SPDX-License-Identifier: Apache-2.0
"""Request procedure NULL of NFS version 4, which needs a free thread of nfsd (RFC 5531, RFC 7530)."""

import secrets
import struct

from millrace.health import tcp

PORT = 2049
SECONDS = 10.0
PROGRAM, VERSION, NULL = 100003, 4, 0
_CALL, _REPLY, _RPC_VERSION, _AUTH_NONE, _LAST_FRAGMENT = 0, 1, 2, 0, 1 << 31


def problem(address: str, port: int = PORT, seconds: float = SECONDS) -> str | None:
    """Return None where the server answers within `seconds`, else what happened, in words."""
    xid = secrets.randbits(32)
    call = struct.pack(">10I", xid, _CALL, _RPC_VERSION, PROGRAM, VERSION, NULL, _AUTH_NONE, 0, _AUTH_NONE, 0)
    try:
        answer = tcp.exchange(address, port, _LAST_FRAGMENT, call, 16, seconds)
    except OSError as error:
        return error.strerror or str(error)
    _, said, kind, status = struct.unpack(">4I", answer) if len(answer) == 16 else (0, 0, 0, 1)
    return None if (said, kind, status) == (xid, _REPLY, 0) else "the reply is not one of NFS"
