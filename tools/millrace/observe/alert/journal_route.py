# SPDX-License-Identifier: Apache-2.0
"""A message as lines of the journal, with a priority by which journalctl and receivers of the journal find it."""

import os
import socket

from millrace.observe.alert import syslog
from millrace.observe.alert.model import AlertMessage
from millrace.system import paths

TIMEOUT_S = 5.0


def send(message: AlertMessage, host: str) -> None:
    """Log a message, a line for each problem. OSError: the journal does not accept it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.settimeout(TIMEOUT_S)
        log.connect(str(paths.ROOT / "dev/log"))
        for priority, line in syslog.lines(message, host):
            log.send(f"<{priority}>{syslog.PROGRAM}[{os.getpid()}]: {line}".encode())
