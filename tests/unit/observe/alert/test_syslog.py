# SPDX-License-Identifier: Apache-2.0
"""Alerts to a syslog receiver: whole lines of RFC 5424, encrypted, and a failure where it does not take them."""

import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from millrace.observe.alert import syslog
from millrace.observe.alert.model import AlertMessage, Security, SyslogRoute
from millrace.observe.alert.send import Parcel, deliver
from millrace.observe.health.model import Level
from millrace.system.errors import Failed
from tests.unit.observe.alert.receivers import closed_port, encryption
from tests.unit.observe.alert.samples import alert, message, stamp


class Log:
    """A receiver that takes what comes until the connection ends."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.said = b""
        self._tls = tls
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def _serve(self) -> None:
        connection, _ = self.listener.accept()
        with connection:
            try:
                talk = self._tls.wrap_socket(connection, server_side=True) if self._tls else connection
                while chunk := talk.recv(4096):
                    self.said += chunk
            except OSError:
                return

    @property
    def frames(self) -> list[str]:
        """What was said, split by the counts of octets."""
        found, rest = [], self.said
        while rest:
            count, _, rest = rest.partition(b" ")
            found.append(rest[: int(count)].decode())
            rest = rest[int(count) :]
        return found


@contextmanager
def receiver(tls: ssl.SSLContext | None = None) -> Iterator[Log]:
    log = Log(tls)
    log.thread.start()
    try:
        yield log
        log.thread.join(10)
    finally:
        log.listener.close()


def sent(log: Log, said: AlertMessage, security: Security = Security.NONE) -> None:
    route = SyslogRoute(name="log", host="127.0.0.1", port=log.port, security=security)
    deliver(Parcel(route=route, secret="", message=said, host="nas7"))


def test_each_problem_is_a_line_with_priority_time_host_and_event() -> None:
    with receiver() as log:
        sent(log, message("opened", alert(), alert("nfs", Level.WARN)))
    first, second = log.frames
    assert re.fullmatch(
        rf"<25>1 {re.escape(stamp())} nas7 millrace-alert \d+ opened - \ufeff\[nas7\] FAIL: arrays data is FAIL\.",
        first,
    )
    assert second.startswith("<28>1 ") and second.endswith("WARN: nfs  is WARN.")


def test_line_that_is_not_ascii_is_counted_in_octets() -> None:
    with receiver() as log:
        sent(log, message("opened", alert().model_copy(update={"sentence": "Freigabe größer"})))
    assert log.frames[0].endswith("Freigabe größer")


def test_encrypted_to_a_receiver_whose_certificate_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = encryption(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with receiver(context) as log:
        sent(log, message(), Security.TLS)
    assert len(log.frames) == 1 and b"nas7" in log.said


def test_receiver_with_an_unknown_certificate_gets_nothing(tmp_path: Path) -> None:
    with receiver(encryption(tmp_path)) as log, pytest.raises(Failed, match=r"127\.0\.0\.1: .*certificate"):
        sent(log, message(), Security.TLS)
    assert log.said == b""


def test_receiver_that_does_not_listen_or_takes_nothing_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = SyslogRoute(name="log", host="127.0.0.1", port=closed_port(), security=Security.NONE)
    with pytest.raises(Failed, match=r"127\.0\.0\.1: Connection refused"):
        deliver(Parcel(route=closed, secret="", message=message(), host="nas7"))
    monkeypatch.setattr(syslog, "SECONDS", 0.2)
    monkeypatch.setattr(syslog, "_outstanding", lambda connection: 1)
    with receiver() as log, pytest.raises(Failed, match=r"took nothing within 0\.2 s"):
        sent(log, message())
