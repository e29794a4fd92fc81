# SPDX-License-Identifier: Apache-2.0
"""Routes are kept without their secrets, which only root and the service have."""

import stat
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.observe.alert import routes
from millrace.observe.alert.model import Report, Security
from millrace.observe.health.deliveries import Delivery
from millrace.system import paths
from millrace.system.errors import BadInput, Failed, LaterRelease, Refused
from millrace.system.run import Result
from tests.fakes.commands import Commands
from tests.unit.observe.alert.samples import HOOK, LOG, URL, mail_route


class Systemd(Commands):
    TAKEN: ClassVar = ("systemctl restart millrace-alert.service", "systemctl stop millrace-alert.service")


@pytest.fixture(autouse=True)
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return Systemd()


def test_secret_is_in_the_file_of_root_alone(systemd: Systemd) -> None:
    routes.add(HOOK, URL, systemd)
    assert URL in routes.secrets_file().read_text()
    assert stat.S_IMODE(routes.secrets_file().stat().st_mode) == 0o600
    assert "s3cret" not in paths.alert_routes_file().read_text()
    assert "s3cret" not in str(systemd.calls) + str(systemd.stdin)
    assert systemd.calls == [["systemctl", "restart", "millrace-alert.service"]]


def test_removed_route_leaves_no_secret(systemd: Systemd) -> None:
    routes.add(HOOK, URL, systemd)
    routes.add(mail_route(user="ops"), "pass-word", systemd)
    routes.remove("chat", systemd)
    assert [one.name for one in routes.load()] == ["ops"]
    text = routes.secrets_file().read_text()
    assert "s3cret" not in text and "pass-word" in text
    routes.remove("ops", systemd)
    assert not routes.secrets_file().exists() and not paths.alert_routes_file().exists()
    assert systemd.calls[-1] == ["systemctl", "stop", "millrace-alert.service"]


@pytest.mark.parametrize("text", [None, "", "{", '{"secrets": 3}'])
def test_lost_or_damaged_secrets_stand_in_no_way(systemd: Systemd, text: str | None) -> None:
    routes.add(HOOK, URL, systemd)
    routes.secrets_file().unlink()
    if text is not None:
        routes.secrets_file().write_text(text)
    routes.remove("chat", systemd)
    routes.add(HOOK, URL, systemd)
    assert URL in routes.secrets_file().read_text()
    assert stat.S_IMODE(routes.secrets_file().stat().st_mode) == 0o600


def test_secrets_of_a_later_release_are_kept(systemd: Systemd) -> None:
    routes.add(HOOK, URL, systemd)
    later = '{"schema_version": 2, "secrets": {}}'
    routes.secrets_file().write_text(later)
    with pytest.raises(LaterRelease):
        routes.add(LOG, None, systemd)
    assert routes.secrets_file().read_text() == later


DAMAGES = ["", "{", '{"routes": 3}', '{"schema_version": 1, "routes": [{"kind": "fax", "name": "x"}]}', "\x00" * 512]


@pytest.mark.parametrize("text", DAMAGES)
def test_damaged_routes_are_kept_until_an_administrator_removes_them(systemd: Systemd, text: str) -> None:
    routes.add(HOOK, URL, systemd)
    secrets, calls = routes.secrets_file().read_text(), len(systemd.calls)
    paths.alert_routes_file().write_text(text)
    for change in (
        lambda: routes.add(LOG, None, systemd),
        lambda: routes.remove("chat", systemd),
        lambda: routes.replace([LOG], systemd),
        lambda: routes.listed(None),
    ):
        with pytest.raises(BadInput) as refused:
            change()
        sentence = str(refused.value)
        assert sentence.startswith(f"{paths.alert_routes_file()}: ") and "\n" not in sentence
        assert sentence.endswith(
            "; restore the file, or remove it and add the routes again: millrace alert route add --help"
        )
    assert paths.alert_routes_file().read_text() == text
    assert routes.secrets_file().read_text() == secrets and len(systemd.calls) == calls
    # as the sentence says
    paths.alert_routes_file().unlink()
    routes.add(LOG, None, systemd)
    assert [route.name for route in routes.load()] == ["log"]


def test_routes_of_a_later_release_are_not_to_be_removed(systemd: Systemd) -> None:
    routes.add(LOG, None, systemd)
    paths.alert_routes_file().write_text('{"schema_version": 2, "routes": []}')
    with pytest.raises(LaterRelease, match=r"start the later release again$"):
        routes.add(HOOK, URL, systemd)


def test_name_that_is_taken_or_unknown_is_refused(systemd: Systemd) -> None:
    routes.add(LOG, None, systemd)
    with pytest.raises(Refused, match=r"^there is a route log already: millrace alert route remove log$"):
        routes.add(LOG, None, systemd)
    with pytest.raises(Refused, match=r"^there is no route 'x': millrace alert route list$"):
        routes.remove("x", systemd)
    assert len(systemd.calls) == 1


def test_number_of_routes_is_bounded(systemd: Systemd) -> None:
    for number in range(routes.MOST):
        routes.add(LOG.model_copy(update={"name": f"log{number}"}), None, systemd)
    with pytest.raises(Refused, match="there are 20 routes already"):
        routes.add(LOG, None, systemd)


@pytest.mark.parametrize("secret", ["", "a\nb", "a\x00", "x" * 2001])
def test_secret_that_cannot_be_one_is_refused_and_nothing_is_kept(systemd: Systemd, secret: str) -> None:
    with pytest.raises(BadInput, match=r"^a password is one line of 1 to 2000 printable characters$"):
        routes.add(mail_route(user="ops"), secret, systemd)
    assert routes.load() == [] and systemd.calls == []


def test_service_that_does_not_start_is_a_failure(systemd: Systemd) -> None:
    systemd.broken["systemctl restart"] = Result(1, "", "Unit is masked.")
    with pytest.raises(Failed, match="Unit is masked"):
        routes.add(LOG, None, systemd)


def test_mail_route_takes_the_port_of_its_encryption() -> None:
    def made(server: str, security: Security) -> tuple[str, int]:
        one = routes.mail_route("ops", server, security, "a@example.com", ["b@example.com"], None, None)
        return one.host, one.port

    assert made("smtp.example.com", Security.STARTTLS) == ("smtp.example.com", 587)
    assert made("smtp.example.com", Security.TLS) == ("smtp.example.com", 465)
    assert made("10.0.0.9", Security.NONE) == ("10.0.0.9", 25)
    assert made("[fd00::9]:2525", Security.TLS) == ("fd00::9", 2525)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "Ops"}, "'Ops' cannot be the name of a route"),
        ({"server": "smtp.example.com:0"}, "'smtp.example.com:0' is not a mail server"),
        ({"server": "smtp.example.com:99999"}, "is not a mail server: write it like smtp.example.com:587"),
        ({"server": "[::x]"}, "is not a mail server"),
        ({"server": "a b"}, "is not a host name"),
        ({"sender": "nas"}, "'nas' is not a mail address: write it like storage@example.com"),
        ({"recipients": ["ops@example.com", "x@y\n"]}, "is not a mail address"),
        ({"recipients": ["a b@example.com"]}, "is not a mail address"),
        ({"user": "ops", "security": Security.NONE}, "a password is not sent unencrypted"),
        ({"user": "o\nps"}, "a user of a mail server is one line"),
        ({"daily": "24:00"}, "'24:00' is not a time of day: write it like 08:00"),
    ],
)
def test_mail_route_that_cannot_work_is_refused(change: dict[str, object], sentence: str) -> None:
    good = {"name": "ops", "server": "smtp.example.com", "security": Security.STARTTLS, "sender": "a@example.com"}
    rest = {"recipients": ["b@example.com"], "user": None, "daily": None}
    with pytest.raises(ValueError, match=sentence):
        routes.mail_route(**{**good, **rest, **change})  # type: ignore[arg-type]


def test_list_says_where_each_leads_and_how_it_does(systemd: Systemd) -> None:
    routes.add(HOOK, URL, systemd)
    routes.add(mail_route(25), None, systemd)
    did = Delivery(route="chat", delivered="2026-11-22T03:00:00+00:00", problem="replied with status 500")
    report = Report(open=[], deliveries=[did], queued={"chat": 2}, tests=[])
    chat, ops = routes.listed(report).routes
    assert (chat.to, chat.secure, chat.problem, chat.waiting) == (HOOK.host, True, "replied with status 500", 2)
    assert (ops.to, ops.secure) == ("ops@example.com, night@example.com by 127.0.0.1:25", False)
    assert (ops.delivered, ops.waiting) == (None, 0)
    assert [one.delivered for one in routes.listed(None).routes] == [None, None]
