# SPDX-License-Identifier: Apache-2.0
"""A message to a syslog receiver: RFC 5424, over TCP with TLS (RFC 5425) or without (RFC 6587, counted octets)."""

import fcntl
import os
import socket
import struct
import termios
from collections.abc import Iterator

from millrace.observe.alert import authority, text
from millrace.observe.alert.model import Alert, AlertMessage, Security, SyslogRoute
from millrace.observe.health.model import Level
from millrace.system.errors import Failed
from millrace.system.wait import wait_until

PROGRAM = "millrace-alert"
# For the connection, and for what was sent to be acknowledged.
SECONDS = 15.0
PAUSE = 0.05
# So long a receiver may take to close the connection because it refuses it.
REFUSAL_SECONDS = 0.5
# Facility `daemon` of RFC 5424.
_FACILITY = 3 << 3
_ALERT, _WARNING, _NOTICE = 1, 4, 5
# What has no value, and the mark before a text in UTF-8 (RFC 5424, 6.3 and 6.4).
_NIL, _BOM = "-", "\ufeff"


def lines(message: AlertMessage, host: str) -> Iterator[tuple[int, str]]:
    """Yield priority and text of a line for each problem."""
    apart = message.alerts if message.event in ("opened", "worse", "closed") else [None]
    for alert in apart:
        one = message.model_copy(update={"alerts": [alert]}) if alert else message
        yield _FACILITY | _severity(message, alert), text.subject(one, host)


def send(route: SyslogRoute, message: AlertMessage, host: str) -> None:
    """Deliver a message. Failed: the receiver does not take it, with the reason. OSError: it cannot be reached.

    Syslog has no replies: delivered is what the receiver's TCP has acknowledged.
    """
    frames = b"".join(_frame(priority, line, message, host) for priority, line in lines(message, host))
    with _connected(route) as connection:
        connection.sendall(frames)
        _wait(connection, f"{route.host}")


def _frame(priority: int, line: str, message: AlertMessage, host: str) -> bytes:
    header = f"<{priority}>1 {message.at} {host} {PROGRAM} {os.getpid()} {message.event} {_NIL}"
    said = f"{header} {_BOM}{line}".encode()
    return f"{len(said)} ".encode() + said


def _connected(route: SyslogRoute) -> socket.socket:
    plain = socket.create_connection((route.host, route.port), timeout=SECONDS)
    if route.security is Security.NONE:
        return plain
    try:
        return authority.context(route.ca).wrap_socket(plain, server_hostname=route.host)
    except BaseException:
        plain.close()
        raise


def _wait(connection: socket.socket, host: str) -> None:
    """Wait until the receiver has what was sent. Failed: it has not in time, or refuses the connection."""
    pauses = [PAUSE] * round(SECONDS / PAUSE)
    if wait_until(lambda: _outstanding(connection), lambda left: left == 0, pauses):
        raise Failed(f"{host}: the receiver took nothing within {SECONDS:g} s")
    connection.settimeout(REFUSAL_SECONDS)
    try:
        # TLS 1.3: a receiver that wants a certificate of this server refuses after the handshake.
        connection.recv(1)
    except TimeoutError:
        return


def _outstanding(connection: socket.socket) -> int:
    """Bytes that the receiver has not acknowledged (tcp(7), SIOCOUTQ)."""
    return int(struct.unpack("i", fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, struct.pack("i", 0)))[0])


def _severity(message: AlertMessage, alert: Alert | None) -> int:
    if alert is None or message.event not in ("opened", "worse"):
        return _NOTICE
    return _ALERT if alert.level is Level.FAIL else _WARNING
