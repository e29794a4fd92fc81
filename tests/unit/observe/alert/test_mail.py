# SPDX-License-Identifier: Apache-2.0
"""Mail arrives once, signed in and encrypted as the route says; every refusal is one sentence without the password."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.observe.alert import mail
from millrace.observe.alert.model import Security
from millrace.system.errors import Failed
from tests.unit.observe.alert.receivers import MailServer, closed_port, encryption, serving, silent
from tests.unit.observe.alert.samples import alert, mail_route, message


@pytest.fixture
def plain() -> Iterator[MailServer]:
    made = MailServer()
    with serving(made):
        yield made


@pytest.fixture
def encrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServer]:
    made = MailServer(encryption(tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with serving(made):
        yield made


def test_mail_names_the_problem_and_who_sent_it(plain: MailServer) -> None:
    mail.send(mail_route(plain.port), "", message(), "nas7")
    [text] = plain.mails
    for line in (
        "Subject: [nas7] FAIL: arrays data is FAIL.",
        "From: nas@example.com",
        "To: ops@example.com, night@example.com",
        "Message-ID: <millrace.7.202611220300000000@nas7>",
        "Auto-Submitted: auto-generated",
        "To do: Replace the drive.",
    ):
        assert f"{line}\r\n" in text
    assert [line for line in plain.said if line.startswith("rcpt")] == [
        "rcpt TO:<ops@example.com>",
        "rcpt TO:<night@example.com>",
    ]


def test_text_of_others_adds_no_header(plain: MailServer) -> None:
    odd = alert().model_copy(update={"sentence": "model x\r\nBcc: all@example.com"})
    mail.send(mail_route(plain.port), "", message("opened", odd), "nas7")
    head = plain.mails[0].partition("\r\n\r\n")[0]
    assert not [line for line in head.split("\r\n") if line.startswith("Bcc")]


def test_password_is_sent_after_starttls_only(encrypted: MailServer) -> None:
    mail.send(mail_route(encrypted.port, Security.STARTTLS, "ops"), "s3cret", message(), "nas7")
    assert len(encrypted.mails) == 1
    verbs = [line.split()[0].upper() for line in encrypted.said]
    assert verbs.index("STARTTLS") < verbs.index("AUTH")


def test_server_without_starttls_gets_nothing(plain: MailServer) -> None:
    with pytest.raises(Failed, match=r"^127\.0\.0\.1: STARTTLS extension not supported by server\.$"):
        mail.send(mail_route(plain.port, Security.STARTTLS, "ops"), "s3cret", message(), "nas7")
    assert not plain.mails and not [line for line in plain.said if "AUTH" in line.upper()]


def test_certificate_that_nobody_knows_stops_the_mail(encrypted: MailServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
        mail.send(mail_route(encrypted.port, Security.STARTTLS, "ops"), "s3cret", message(), "nas7")
    assert not encrypted.mails


def test_wrong_password_is_a_sentence_without_it(encrypted: MailServer) -> None:
    with pytest.raises(Failed, match=r"^127\.0\.0\.1: the server refuses user and password \(535\)$"):
        mail.send(mail_route(encrypted.port, Security.STARTTLS, "ops"), "wrong", message(), "nas7")


@pytest.mark.parametrize(
    ("verb", "reply", "sentence"),
    [
        ("RCPT", "550 no such user", "ops@example.com: 550 no such user; night@example.com: 550 no such user"),
        ("MAIL", "451 try later", "451 try later"),
        ("DATA", "452 full", "452 full"),
    ],
)
def test_refusal_of_the_server_is_repeated(plain: MailServer, verb: str, reply: str, sentence: str) -> None:
    plain.replies[verb] = reply
    with pytest.raises(Failed) as refused:
        mail.send(mail_route(plain.port), "", message(), "nas7")
    assert sentence in str(refused.value)
    assert not plain.mails


def test_recipient_that_is_refused_is_named_by_a_test_and_keeps_no_alert_from_the_others(plain: MailServer) -> None:
    plain.refused.add("<night@example.com>")
    mail.send(mail_route(plain.port), "", message(), "nas7")
    assert len(plain.mails) == 1
    with pytest.raises(Failed, match=r"^127\.0\.0\.1: night@example\.com: 550 no such user$"):
        mail.send(mail_route(plain.port), "", message("test"), "nas7")


def test_mail_that_was_taken_has_arrived_whatever_follows(plain: MailServer) -> None:
    plain.replies["QUIT"] = "421 gone"
    mail.send(mail_route(plain.port), "", message(), "nas7")
    assert len(plain.mails) == 1


def test_server_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "SECONDS", 0.2)
    with silent() as port, pytest.raises(Failed, match=r"^127\.0\.0\.1: no reply within 0\.2 s$"):
        mail.send(mail_route(port), "", message(), "nas7")


def test_server_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ConnectionRefusedError):
        mail.send(mail_route(closed_port()), "", message(), "nas7")
