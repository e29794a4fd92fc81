# SPDX-License-Identifier: Apache-2.0
"""A receiver of a private authority is verified against its certificate, and no route skips the verification."""

import json
import ssl
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from millrace.cli.program import millrace
from millrace.observe.alert import authority, mail, routes, verbs
from millrace.observe.alert.carried import CarriedRoutes
from millrace.observe.alert.model import MailRoute, Security, SyslogRoute, WebhookRoute
from millrace.observe.alert.send import Parcel, deliver
from millrace.serve.certificate import x509
from millrace.system import paths
from millrace.system.errors import BadInput, Failed
from millrace.system.text import shown
from tests.unit.observe.alert.receivers import MailServer, encryption, old_chain, serving
from tests.unit.observe.alert.samples import HOOK, LOG, URL, mail_route, message
from tests.unit.observe.alert.test_routes import Systemd
from tests.unit.observe.alert.test_syslog import receiver

MAIL = ("--server", "smtp.example.com", "--from", "nas@example.com", "--to", "ops@example.com")


def made(name: str = "Example CA", days: float = 100) -> str:
    return x509.issue("authority", x509.new_key(), name, [], [], timedelta(days=days), None)


@pytest.fixture(autouse=True)
def python_of_the_appliance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contexts are as strict as Python 3.13 makes them, also where the tests run on an older one."""
    plain = ssl.create_default_context

    def strict(*args: Any, **options: Any) -> ssl.SSLContext:
        context = plain(*args, **options)
        context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
        return context

    monkeypatch.setattr(ssl, "create_default_context", strict)


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    runner = Systemd()
    monkeypatch.setattr(verbs, "attempt", runner)
    return runner


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "corp-ca.pem"
    path.write_text(f"Example CA, ask the network team\n{made()}")
    return path


def typed(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(millrace, ["alert", "route", *words], input=stdin, standalone_mode=False)


def test_mail_reaches_a_server_of_the_private_authority_alone(tmp_path: Path) -> None:
    server = MailServer(encryption(tmp_path))
    own = (tmp_path / "ca.pem").read_text()
    with serving(server):
        route = mail_route(server.port, Security.STARTTLS, "ops").model_copy(update={"ca": own})
        mail.send(route, "s3cret", message(), "nas7")
        assert len(server.mails) == 1 and server.encrypted
        # the public ones, and another private one, do not know it
        server.encrypted = False
        for other in (None, made()):
            with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
                mail.send(route.model_copy(update={"ca": other}), "s3cret", message(), "nas7")
    assert len(server.mails) == 1


def test_public_authorities_are_not_trusted_beside_the_private_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = MailServer(encryption(tmp_path))
    # as if a public authority had issued it
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with serving(server), pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
        route = mail_route(server.port, Security.STARTTLS).model_copy(update={"ca": made()})
        mail.send(route, "", message(), "nas7")
    assert not server.mails


def test_syslog_receiver_of_the_private_authority_gets_its_lines(tmp_path: Path) -> None:
    context = encryption(tmp_path)
    for own, good in (((tmp_path / "ca.pem").read_text(), True), (made(), False)):
        with receiver(context) as log:
            route = SyslogRoute(name="log", host="127.0.0.1", port=log.port, ca=own)
            parcel = Parcel(route=route, secret="", message=message(), host="nas7")
            if good:
                deliver(parcel)
                assert len(log.frames) == 1
            else:
                with pytest.raises(Failed, match=r"127\.0\.0\.1: .*certificate"):
                    deliver(parcel)
                assert log.said == b""


def test_private_authority_without_identifiers_of_keys_is_good_enough(tmp_path: Path) -> None:
    """One that has worked for years with every other client of the owner."""
    context = old_chain(tmp_path)
    own = (tmp_path / "ca.pem").read_text()
    with receiver(context) as log:
        route = SyslogRoute(name="log", host="127.0.0.1", port=log.port, ca=own)
        deliver(Parcel(route=route, secret="", message=message(), host="nas7"))
    assert len(log.frames) == 1


def test_private_authority_vouches_for_the_name_all_the_same(tmp_path: Path) -> None:
    context = old_chain(tmp_path)
    own = (tmp_path / "ca.pem").read_text()
    with receiver(context) as log, pytest.raises(Failed, match=r"Hostname mismatch|not valid for 'localhost'"):
        route = SyslogRoute(name="log", host="localhost", port=log.port, ca=own)
        deliver(Parcel(route=route, secret="", message=message(), host="nas7"))
    assert log.said == b""


def test_receiver_is_no_authority_for_others(tmp_path: Path) -> None:
    """The key of a server that the private authority knows signs nothing."""
    leaf, key = x509.issue("server", own_key := x509.new_key(), "a", ["a"], [], timedelta(days=9), None), own_key
    forged = x509.issue("server", other := x509.new_key(), "b", [], ["127.0.0.1"], timedelta(days=9), (leaf, key))
    (tmp_path / "server.pem").write_text(forged + other)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with receiver(context) as log, pytest.raises(Failed, match=r"certificate|CERTIFICATE"):
        route = SyslogRoute(name="log", host="127.0.0.1", port=log.port, ca=leaf)
        deliver(Parcel(route=route, secret="", message=message(), host="nas7"))
    assert log.said == b""


def test_public_authorities_are_judged_strictly() -> None:
    assert authority.context(None).verify_flags & ssl.VERIFY_X509_STRICT


@pytest.fixture
def https(tmp_path: Path) -> Iterator[tuple[str, list[bytes]]]:
    """The URL of a receiver with TLS, and what it got."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    server.socket = encryption(tmp_path).wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}/hook", bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_webhook_of_the_private_authority_gets_its_message(tmp_path: Path, https: tuple[str, list[bytes]]) -> None:
    url, bodies = https
    for own in (None, made()):
        route = HOOK.model_copy(update={"ca": own})
        with pytest.raises(Failed, match=r"certificate verify failed|CERTIFICATE_VERIFY_FAILED"):
            deliver(Parcel(route=route, secret=url, message=message(), host="nas7"))
    assert bodies == []
    route = HOOK.model_copy(update={"ca": (tmp_path / "ca.pem").read_text()})
    deliver(Parcel(route=route, secret=url, message=message(), host="nas7"))
    assert len(bodies) == 1


def test_added_route_keeps_its_authority_and_the_list_shows_it(systemd: Systemd, file: Path) -> None:
    said = typed("add", "mail", "ops", *MAIL, "--ca", str(file)).stdout
    end = authority.described(file.read_text())[0].not_after[:10]
    assert f"verified against CN=Example CA, which ends on {end}\n" in said
    file.unlink()
    [route] = routes.load()
    # nothing of what stood around the certificate
    assert route.ca is not None and route.ca.startswith("-----BEGIN CERTIFICATE-----\n") and "network" not in route.ca
    [shown] = json.loads(typed("list", "--json").stdout)["routes"]
    assert [one["subject"] for one in shown["authorities"]] == ["CN=Example CA"]


def test_secret_and_authority_both_come_through_standard_input(systemd: Systemd) -> None:
    done = typed("add", "webhook", "chat", "--url-stdin", "--ca", "-", stdin=f"{URL}\n{made('Corp')}")
    assert "verified against CN=Corp" in done.stdout
    assert URL in routes.secrets_file().read_text() and "s3cret" not in paths.alert_routes_file().read_text()


def test_what_cannot_be_an_authority_is_refused_and_nothing_is_kept(systemd: Systemd, tmp_path: Path) -> None:
    path = tmp_path / "given.pem"
    server = ("syslog", "log", "--server", "log.example.com", "--ca", str(path))
    for text, sentence in (
        ("", "no certificate and no key in the input"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "a certificate cannot be read"),
        (made() + x509.new_key(), "private key in the input"),
        (made("Old", -0.5), "CN=Old ended on "),
        (made() * 100, "more than 32 KiB of certificates"),
        ("x" * (authority.LONGEST_INPUT + 1), "larger than 1 MiB"),
    ):
        path.write_text(text)
        error = typed("add", *server).exception
        assert isinstance(error, BadInput) and str(error).startswith(sentence), text[:100]
    path.unlink()
    assert str(typed("add", *server).exception) == f"{shown(str(path))} cannot be read: No such file or directory"
    assert routes.load() == [] and systemd.calls == []


def test_authority_without_encryption_is_refused(systemd: Systemd, file: Path) -> None:
    ca = ("--ca", str(file))
    for words, stdin in (
        (("mail", "ops", *MAIL, "--security", "none", *ca), ""),
        (("webhook", "chat", "--url-stdin", *ca), "http://chat.example.com/\n"),
        (("syslog", "log", "--server", "log.example.com", "--security", "none", *ca), ""),
        (("syslog", "log", *ca), ""),
    ):
        error = typed("add", *words, stdin=stdin).exception
        assert isinstance(error, BadInput) and "has no certificate: use --ca with" in str(error)
    assert routes.load() == []


def test_authority_moves_with_an_exported_configuration(systemd: Systemd, file: Path) -> None:
    part = CarriedRoutes()
    typed("add", "webhook", "chat", "--url-stdin", "--ca", str(file), stdin=f"{URL}\n")
    before, exported = routes.load(), part.exported()
    assert part.take(exported, systemd) == [] and routes.load() == before
    typed("remove", "chat")
    [remedy] = part.take(exported, systemd)
    assert routes.load() == before
    assert remedy.endswith("millrace alert route add webhook chat --ca FILE")


def test_imported_authority_that_is_none_or_has_no_use_is_refused(systemd: Systemd) -> None:
    part = CarriedRoutes()
    for route in (HOOK, LOG):
        value: Any = [route.model_dump(mode="json") | {"ca": "x" if route is HOOK else made()}]
        with pytest.raises(BadInput, match=f"^alert route {route.name}: "):
            part.check(value)


@pytest.mark.parametrize("kind", [MailRoute, WebhookRoute, SyslogRoute])
def test_no_route_can_skip_the_verification(kind: type[MailRoute | WebhookRoute | SyslogRoute]) -> None:
    context = authority.context(made())
    assert context.check_hostname and context.verify_mode.name == "CERT_REQUIRED"
    assert not {"verify", "insecure"} & set(kind.model_fields)
