# SPDX-License-Identifier: Apache-2.0
"""Have the process that listens at a socket run a verb: `python3 -m millrace.answer.ask SOCKET WORD…`.

Where nobody listens the verb runs here: later, and not less. It imports next to nothing, because it runs every 30
seconds.
"""

import json
import os
import socket
import sys
from collections.abc import Sequence

PROGRAM = "/usr/bin/millrace"


def ask(path: str, words: Sequence[str]) -> dict[str, object] | None:
    """Return the reply {id, status, signal, out, err} to a verb; None where nobody replies."""
    said = b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        try:
            server.connect(path)
            server.sendall(json.dumps({"id": 1, "words": list(words)}).encode() + b"\n")
            while chunk := server.recv(1 << 16):
                said += chunk
                if chunk.endswith(b"\n"):
                    return dict(json.loads(said))
        except (OSError, ValueError):
            return None
    return None


def main(argv: Sequence[str]) -> int:
    """Run `ask SOCKET WORD…`: print what the verb printed and return its status, 1 where a signal ended it."""
    path, words = argv[0], argv[1:]
    reply = ask(path, words)
    if reply is None:
        print(f"Nobody replies at {path}; the verb runs by itself.", file=sys.stderr, flush=True)
        os.execv(PROGRAM, [PROGRAM, *words])
    sys.stdout.write(str(reply["out"]))
    sys.stderr.write(str(reply["err"]))
    if reply["signal"]:
        print(f"millrace: ended by SIG{reply['signal']}", file=sys.stderr)
    return reply["status"] if isinstance(reply["status"], int) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
