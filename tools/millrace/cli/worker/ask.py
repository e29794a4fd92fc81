# SPDX-License-Identifier: Apache-2.0
"""Have the process that listens at a socket run a verb: `python3 -I -S ask.py SOCKET WORD…`.

Where nobody listens the verb runs here: later, and not less. It runs every 30 seconds, and most of its time was
imports: only what is built into Python is imported, and more where there is something to say.
"""

import os
import sys

# What `socket` is made of: that would import half of the library.
from _socket import AF_UNIX, SOCK_STREAM, socket

PROGRAM = "/usr/bin/millrace"

QUIET = b'{"id": 1, "status": 0, "signal": null, "out": "", "err": ""}\n'
"""The reply of `worker.server` for a verb that ended well and printed nothing."""


def ask(path: str, words: list[str]) -> bytes | None:
    """Return the reply {id, status, signal, out, err} to a verb, a line; None where nobody replies.

    The words are those of a unit: they have no quotes and no backslashes.
    """
    quoted = ", ".join(f'"{word}"' for word in words)
    said = b""
    server = socket(AF_UNIX, SOCK_STREAM)
    try:
        server.connect(path)
        server.sendall(f'{{"id": 1, "words": [{quoted}]}}\n'.encode())
        while not said.endswith(b"\n"):
            chunk = server.recv(1 << 16)
            if not chunk:
                return None
            said += chunk
    except OSError:
        return None
    finally:
        server.close()
    return said


def main(argv: list[str]) -> int:
    """Run `ask SOCKET WORD…`: print what the verb printed and return its status, 1 where a signal ended it."""
    path, words = argv[0], argv[1:]
    said = ask(path, words)
    if said == QUIET:
        return 0
    reply = _parsed(said) if said else None
    if reply is None:
        print(f"Nobody replies at {path}; the verb runs by itself.", file=sys.stderr, flush=True)
        os.execv(PROGRAM, [PROGRAM, *words])
    sys.stdout.write(str(reply["out"]))
    sys.stderr.write(str(reply["err"]))
    if reply["signal"]:
        print(f"millrace: ended by SIG{reply['signal']}", file=sys.stderr)
    return reply["status"] if isinstance(reply["status"], int) else 1


def _parsed(said: bytes) -> dict[str, object] | None:
    import json

    try:
        return dict(json.loads(said))
    except ValueError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
