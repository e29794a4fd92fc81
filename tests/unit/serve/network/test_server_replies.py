# SPDX-License-Identifier: Apache-2.0
"""Name and time servers are asked with one datagram; silence and an unknown name are no answer."""

import socket
import threading

import pytest

from millrace.serve.network import server_replies


def test_server_that_responds_does(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(5)
        monkeypatch.setattr(server_replies, "DNS_PORT", server.getsockname()[1])

        def reply() -> None:
            question, client = server.recvfrom(512)
            server.sendto(question, client)

        thread = threading.Thread(target=reply)
        thread.start()
        assert server_replies.dns("127.0.0.1")
        thread.join()


def test_silent_server_does_not_respond(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        monkeypatch.setattr(server_replies, "NTP_PORT", server.getsockname()[1])
        monkeypatch.setattr(server_replies, "SECONDS", 0.05)
        assert not server_replies.ntp("127.0.0.1")


def test_unknown_name_does_not_respond(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*arguments: object, **more: object) -> None:
        raise socket.gaierror("unknown")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert not server_replies.ntp("nowhere.invalid")
