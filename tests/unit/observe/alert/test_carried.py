# SPDX-License-Identifier: Apache-2.0
"""Routes move with an exported configuration; their secrets do not."""

import json
from pathlib import Path
from typing import Any

import pytest

from millrace.cli import program
from millrace.observe.alert import routes, send
from millrace.observe.alert.carried import CarriedRoutes
from millrace.observe.alert.model import AlertMessage, Security, WebhookRoute
from millrace.serve.config import carried
from millrace.system import paths
from millrace.system.errors import BadInput, Failed
from tests.unit.observe.alert.samples import BEGAN, HOOK, LOG, URL
from tests.unit.observe.alert.test_routes import Systemd

PART = CarriedRoutes()


@pytest.fixture(autouse=True)
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    return Systemd()


@pytest.fixture
def exported(systemd: Systemd) -> Any:
    """A route of each kind, and what an export has of them."""
    routes.add(HOOK, URL, systemd)
    mail = routes.mail_route(
        "ops", "smtp.example.com", Security.STARTTLS, "nas@example.com", ["ops@example.com"], "ops", None
    )
    routes.add(mail, "pass-word", systemd)
    routes.add(LOG, None, systemd)
    routes.add(routes.syslog_route("siem", "[2001:db8::1]:601", Security.NONE, None), None, systemd)
    exported_routes = PART.exported()
    systemd.calls.clear()
    return exported_routes


def secrets() -> dict[str, str]:
    found = json.loads(routes.secrets_file().read_text())["secrets"]
    assert isinstance(found, dict)
    return found


def test_config_verbs_export_and_import_routes() -> None:
    assert program.millrace.get_command(None, "config") is not None  # type: ignore[arg-type]
    assert isinstance(carried.known()["alert_routes"], CarriedRoutes)


def test_no_secret_is_exported(exported: Any) -> None:
    text = json.dumps(exported)
    assert "s3cret" not in text and "pass-word" not in text
    assert [one["name"] for one in exported] == ["chat", "ops", "log", "siem"]


def test_new_server_has_the_routes_and_names_each_without_its_secret(systemd: Systemd, exported: Any) -> None:
    for file in (paths.alert_routes_file(), routes.secrets_file()):
        file.unlink()
    chat, mail = PART.take(exported, systemd)
    assert chat == (
        "alert route chat has no URL, which no export contains: millrace alert route remove chat, then "
        "millrace alert route add webhook chat"
    )
    assert mail.startswith("alert route ops has no password, which no export contains: millrace alert route remove ops")
    assert "millrace alert route add mail ops --server " in mail and mail.endswith("--user ops")
    assert [route.name for route in routes.load()] == ["chat", "ops", "log", "siem"]
    assert secrets() == {}
    assert systemd.calls == [["systemctl", "restart", "millrace-alert.service"]]


def test_route_that_leads_where_it_led_keeps_its_secret(systemd: Systemd, exported: Any) -> None:
    exported[0]["daily"] = "08:00"
    assert PART.take(exported, systemd) == []
    assert secrets() == {"chat": URL, "ops": "pass-word"}
    assert routes.load()[0].daily == "08:00"


@pytest.mark.parametrize(("number", "key", "value"), [(0, "host", "https://evil.example.com"), (1, "port", 2525)])
def test_secret_does_not_follow_a_route_to_another_host(
    systemd: Systemd, exported: Any, number: int, key: str, value: Any
) -> None:
    exported[number][key] = value
    assert len(PART.take(exported, systemd)) == 1
    assert exported[number]["name"] not in secrets()


def test_routes_that_the_file_does_not_have_are_removed_with_their_secrets(systemd: Systemd, exported: Any) -> None:
    PART.take(exported[2:], systemd)
    assert secrets() == {}
    PART.take([], systemd)
    assert not paths.alert_routes_file().exists() and not routes.secrets_file().exists()
    assert systemd.calls[-1] == ["systemctl", "stop", "millrace-alert.service"]
    PART.take([], systemd)
    assert len(systemd.calls) == 2


@pytest.mark.parametrize(
    ("number", "changes", "words"),
    [
        (0, {"host": "https://u:p@example.com"}, "a webhook is a URL"),
        (0, {"host": "https://example.com/hooks/s3cret"}, "is not the name of a host"),
        (1, {"recipients": ["a@example.com\nBcc: x@example.com"]}, "is not a mail address"),
        (1, {"host": "-oops"}, "alert route ops"),
        (1, {"port": 0}, "is not a mail server"),
        (1, {"security": "none"}, "a password is not sent unencrypted"),
        (2, {"kind": "pigeon"}, "alert routes"),
        (2, {"name": "chat"}, "chat is there twice"),
    ],
)
def test_route_that_could_not_be_added_is_not_imported(
    exported: Any, number: int, changes: dict[str, Any], words: str
) -> None:
    exported[number] |= changes
    with pytest.raises(BadInput, match=words) as error:
        PART.check(exported)
    assert "\n" not in str(error.value)


def test_more_routes_than_possible_are_not_imported(exported: Any) -> None:
    with pytest.raises(BadInput, match="there are 21, and 20 are possible"):
        PART.check([exported[2] | {"name": f"log{number}"} for number in range(21)])


def test_route_without_its_secret_says_what_to_do(exported: Any) -> None:
    message = AlertMessage(number=1, event="test", at=BEGAN.isoformat())
    parcel = send.Parcel(route=WebhookRoute.model_validate(exported[0]), secret="", message=message, host="nas")
    with pytest.raises(Failed, match=r"^the route has no URL: millrace alert route remove chat, then add it again$"):
        send.deliver(parcel)
