# SPDX-License-Identifier: Apache-2.0
"""Each change of the desired state as one line in the journal, beside the sign-ins, from where it can be forwarded."""

import contextlib
import os
import socket

from millrace.system import paths

# authpriv.notice of RFC 5424: the facility that sudo and PAM use, so one filter finds all of them
PRIORITY = 10 << 3 | 5
TIMEOUT_S = 1.0


def record(number: int, who: str, what: str) -> None:
    """Send one change to the system log. A log that does not answer within a second never fails the change."""
    note(f"change {number} by {_one_line(who)}: {_one_line(what)}")


def note(text: str) -> None:
    """Send one line to the system log, as `record` does."""
    line = f"<{PRIORITY}>millrace[{os.getpid()}]: {_one_line(text)}"
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.settimeout(TIMEOUT_S)
        log.connect(str(paths.ROOT / "dev/log"))
        log.send(line.encode())


def _one_line(text: str) -> str:
    """Without characters that would look like a second entry once the line is forwarded as plain text."""
    return "".join(one if one.isprintable() else " " for one in text)
