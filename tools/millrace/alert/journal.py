# SPDX-License-Identifier: Apache-2.0
"""A message as lines of the journal, with a priority by which journalctl and receivers of the journal find it."""

import os
import socket

from millrace import paths
from millrace.alert import text
from millrace.alert.model import Alert, Message
from millrace.health.model import Level

TIMEOUT_S = 5.0
# Facility `daemon` of RFC 5424.
_FACILITY = 3 << 3
_ALERT, _WARNING, _NOTICE = 1, 4, 5


def send(message: Message, host: str) -> None:
    """Log a message, a line for each problem. OSError: the journal does not accept it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.settimeout(TIMEOUT_S)
        log.connect(str(paths.ROOT / "dev/log"))
        apart = message.alerts if message.event in ("opened", "worse", "closed") else [None]
        for alert in apart:
            one = message.model_copy(update={"alerts": [alert]}) if alert else message
            priority = _FACILITY | _severity(message, alert)
            log.send(f"<{priority}>millrace-alert[{os.getpid()}]: {text.subject(one, host)}".encode())


def _severity(message: Message, alert: Alert | None) -> int:
    if alert is None or message.event not in ("opened", "worse"):
        return _NOTICE
    return _ALERT if alert.level is Level.FAIL else _WARNING
