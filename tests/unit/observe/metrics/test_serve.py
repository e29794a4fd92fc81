# SPDX-License-Identifier: Apache-2.0
"""Readers over TLS: who has the token, at the right address, gets all metrics; nobody else gets anything."""

import http.client
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from millrace.observe.metrics import serve
from millrace.observe.metrics.endpoint import digest
from millrace.observe.metrics.model import MetricsSettings
from millrace.serve.certificate import authority, files, own
from millrace.serve.certificate.identity import ServerIdentity
from millrace.system import paths
from tests.fakes import node_exporter
from tests.unit.observe.metrics.scrape import parsed, value

TOKEN = "correct-horse-battery-staple"
TEXT = "# TYPE millrace_scrape_timestamp_seconds gauge\nmillrace_scrape_timestamp_seconds 1790000000.5\n"
Start = Callable[..., serve.Endpoint]


class Waited(serve.Endpoint):
    """It ends with its connections, so that none writes its line into the test that comes after."""

    daemon_threads = False


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start an endpoint on a free port."""
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    name = ServerIdentity(names=["localhost"], addresses=["127.0.0.1"])
    authority.ensure(name)
    own.issue(name)
    paths.metrics_file().parent.mkdir(parents=True, exist_ok=True)
    paths.metrics_file().write_text(TEXT)
    started: list[serve.Endpoint] = []

    def endpoint(addresses: Sequence[str] = (), token: str | None = TOKEN) -> serve.Endpoint:
        context = serve.tls_context(files.current() / files.CHAIN, files.current() / files.KEY)
        settings = MetricsSettings(addresses=list(addresses), token=token is not None)
        made = Waited(settings, digest(token) if token else None, context, port=0)
        threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        started.append(made)
        return made

    yield endpoint
    for server in started:
        server.shutdown()
        server.server_close()


def get(
    endpoint: serve.Endpoint, authorization: str | None = f"Bearer {TOKEN}", path: str = "/metrics"
) -> tuple[int, str, http.client.HTTPMessage]:
    context = ssl.create_default_context(cafile=str(files.authority()[0]))
    # the default of Python 3.13
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    connection = http.client.HTTPSConnection("127.0.0.1", endpoint.server_port, timeout=10, context=context)
    try:
        connection.request("GET", path, headers={"Authorization": authorization} if authorization else {})
        reply = connection.getresponse()
        return reply.status, reply.read().decode(), reply.headers
    finally:
        connection.close()


def test_reader_with_the_token_gets_the_metrics_of_node_exporter_with_our_own(start: Start) -> None:
    with node_exporter.node_exporter():
        status, text, headers = get(start())
    assert (status, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    series = parsed(text)
    assert value(series, "node_md_disks_required", device="md126") == 10
    # once, from the textfile
    assert value(series, "millrace_scrape_timestamp_seconds") == 1790000000.5
    assert value(series, "millrace_node_exporter_up") == 1
    # neither the program nor its Python is named
    assert "Python" not in headers["Server"]


def test_own_metrics_come_without_node_exporter_and_one_of_them_shows_it(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint = start()
    status, text, _ = get(endpoint)
    assert status == 200 and text.startswith(TEXT)
    assert value(parsed(text), "millrace_node_exporter_up") == 0
    # one line for as long as it lasts
    get(endpoint)
    line = "millrace: node_exporter does not respond: No such file or directory"
    assert capsys.readouterr().err.splitlines() == [line]
    with node_exporter.node_exporter():
        assert value(parsed(get(endpoint)[1]), "millrace_node_exporter_up") == 1
    get(endpoint)
    assert capsys.readouterr().err.splitlines() == [line]


def test_own_metrics_come_where_node_exporter_cannot_read_them(start: Start) -> None:
    with node_exporter.node_exporter() as fake:
        fake.textfile = False
        found = parsed(get(start())[1])
    assert value(found, "millrace_scrape_timestamp_seconds") == 1790000000.5
    assert value(found, "millrace_node_exporter_up") == 1


def test_reader_without_the_token_does_not_start_node_exporter(start: Start) -> None:
    with node_exporter.node_exporter() as fake:
        assert get(start(), None)[0] == 401
        assert fake.asked == 0


@pytest.mark.parametrize("given", [None, "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x"])
def test_reader_without_the_token_gets_nothing(
    start: Start, given: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text, headers = get(start(), given)
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer") and "millrace_" not in text
    said = capsys.readouterr().err
    assert "127.0.0.1 has no valid token" in said and "wrong" not in said and TOKEN not in said


def test_path_is_not_told_to_who_has_no_token(start: Start) -> None:
    endpoint = start()
    assert [get(endpoint, path="/")[0], get(endpoint, None, "/")[0], get(endpoint, path="/metrics?x=1")[0]] == [
        404,
        401,
        200,
    ]


def test_right_address_needs_no_token_and_another_gets_no_certificate(start: Start) -> None:
    assert get(start(["127.0.0.0/8"], None), None)[0] == 200
    with pytest.raises(OSError):
        get(start(["10.0.0.0/8", "::1/128"], None), None)


def test_address_and_token_are_both_needed_where_both_are_set(start: Start) -> None:
    endpoint = start(["127.0.0.1/32"])
    assert [get(endpoint)[0], get(endpoint, None)[0]] == [200, 401]


def test_metrics_that_are_missing_or_old_are_an_error(start: Start) -> None:
    endpoint = start()
    now = time.time()
    os.utime(paths.metrics_file(), (now - 500, now - 500))
    assert get(endpoint)[:2] == (503, "the last metrics are 500 s old\n")
    os.utime(paths.metrics_file(), (now + 1e9, now + 1e9))
    assert get(endpoint)[:2] == (503, "the last metrics are from a clock that was ahead\n")
    paths.metrics_file().unlink()
    assert get(endpoint)[:2] == (503, "no metrics have been collected yet\n")


def test_only_get_is_served(start: Start) -> None:
    endpoint = start()
    context = ssl.create_default_context(cafile=str(files.authority()[0]))
    connection = http.client.HTTPSConnection("127.0.0.1", endpoint.server_port, timeout=10, context=context)
    connection.request("POST", "/metrics", b"x", {"Authorization": f"Bearer {TOKEN}"})
    assert connection.getresponse().status == 501
    connection.close()


def test_client_that_says_nothing_delays_no_reader_and_is_cut_off(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "SECONDS", 0.5)
    endpoint = start()
    with socket.create_connection(("127.0.0.1", endpoint.server_port), timeout=10) as silent:
        assert get(endpoint)[0] == 200
        assert silent.recv(1) == b""


def test_client_that_sends_a_byte_now_and_then_is_cut_off(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "SECONDS", 1.0)
    endpoint = start()
    context = ssl.create_default_context(cafile=str(files.authority()[0]))
    raw = socket.create_connection(("127.0.0.1", endpoint.server_port), timeout=10)
    with context.wrap_socket(raw, server_hostname="localhost") as slow:
        began = time.monotonic()
        with pytest.raises(OSError):
            for byte in b"GET /metrics HTTP/1.0\r\n" + b"X" * 1000:
                slow.sendall(bytes([byte]))
                assert time.monotonic() - began < 8
                threading.Event().wait(0.1)
        assert time.monotonic() - began > 0.5


def test_connections_beyond_the_limit_are_closed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "MOST_CONNECTIONS", 1)
    endpoint = start()
    where = "127.0.0.1", endpoint.server_port
    with socket.create_connection(where, timeout=10), socket.create_connection(where, timeout=10) as second:
        assert second.recv(1) == b""


def test_client_that_does_not_speak_tls_is_one_line_in_the_journal(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint = start()
    with socket.create_connection(("127.0.0.1", endpoint.server_port), timeout=10) as plain:
        plain.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        while plain.recv(100):
            pass
    with node_exporter.node_exporter():
        assert get(endpoint)[0] == 200
    assert capsys.readouterr().err.splitlines() == ["millrace: 127.0.0.1: SSLError"]
