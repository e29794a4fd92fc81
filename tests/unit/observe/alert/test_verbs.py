# SPDX-License-Identifier: Apache-2.0
"""`millrace alert …` on a terminal and for programs."""

import json
from pathlib import Path
from typing import ClassVar

import pytest
from click.testing import CliRunner, Result

from millrace.cli.program import millrace
from millrace.observe.alert import routes, verbs
from millrace.observe.alert.model import Acknowledgement, Acknowledgements, Report, TestReport, TestResult
from millrace.observe.health.model import Level
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import BadInput
from tests.fakes.commands import Commands
from tests.unit.observe.alert.samples import URL, alert, stamp


class Systemd(Commands):
    TAKEN: ClassVar = ("systemctl restart millrace-alert.service", "systemctl stop millrace-alert.service")


@pytest.fixture(autouse=True)
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    made = Systemd()
    monkeypatch.setattr(verbs, "attempt", made)
    return made


def typed(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(millrace, ["alert", *words], input=stdin, standalone_mode=False)


def test_routes_are_added_listed_and_removed() -> None:
    typed("route", "add", "webhook", "chat", "--url-stdin", "--daily", "08:00", stdin=f"{URL}\n")
    mail = ("--server", "smtp.example.com", "--from", "nas@example.com", "--to", "ops@example.com")
    signed_in = ("--user", "ops", "--password-stdin", "--json")
    done = typed("route", "add", "mail", "ops", *mail, *signed_in, stdin="pass-word\n")
    assert [route["to"] for route in json.loads(done.stdout)["routes"]] == [
        "https://chat.example.com",
        "ops@example.com by smtp.example.com:587",
    ]
    typed("route", "add", "syslog", "log")
    said = typed("route", "list").stdout
    assert said.splitlines() == [
        "Route  Kind     Last delivery  Waiting  Receiver",
        "chat   webhook  none yet             0  https://chat.example.com, sign of life at 08:00",
        "ops    mail     none yet             0  ops@example.com by smtp.example.com:587",
        "log    syslog   none yet             0  the journal",
    ]
    assert "s3cret" not in said and "pass-word" not in said + done.stdout
    for name in ("chat", "ops", "log"):
        said = typed("route", "remove", name).stdout
    assert said == "There is no route: millrace alert route add --help\n"


def test_mail_without_encryption_is_said_to_be() -> None:
    mail = ("--server", "10.0.0.9", "--from", "nas@example.com", "--to", "ops@example.com", "--security", "none")
    assert "by 10.0.0.9:25, unencrypted" in typed("route", "add", "mail", "ops", *mail).stdout


def test_syslog_receiver_is_reached_by_tls_unless_it_is_said_otherwise() -> None:
    said = typed("route", "add", "syslog", "a", "--server", "log.example.com").stdout
    assert said.endswith("  log.example.com:6514\n")
    plain = typed("route", "add", "syslog", "b", "--server", "[2001:db8::1]:601", "--security", "none").stdout
    assert "  [2001:db8::1]:601, unencrypted\n" in plain


def test_what_cannot_be_a_route_is_bad_input() -> None:
    server = ("syslog", "log", "--server", "log.example.com:70000")
    for words in (("webhook", "Chat", "--url-stdin"), ("syslog", "log", "--daily", "8"), server):
        assert isinstance(typed("route", "add", *words, stdin=f"{URL}\n").exception, BadInput)
    assert routes.load() == []


def test_url_is_never_waited_for_without_a_terminal() -> None:
    assert str(typed("route", "add", "webhook", "chat").exception) == (
        "no terminal to prompt for the url: use --url-stdin"
    )


def test_alerts_are_listed_with_remedy_key_and_who_knows() -> None:
    report = Report(open=[alert(), alert("nfs", Level.WARN)], deliveries=[], queued={"chat": 1}, tests=[])
    write_model(paths.alert_report_file(), report)
    by = Acknowledgement(key="nfs", since=stamp(), level=Level.WARN, who="ann", at=stamp())
    write_model(paths.alert_dir() / "acknowledged.json", Acknowledgements(acknowledged=[by]))
    margin = " " * (22 + len(stamp()))
    assert typed("list").stdout.splitlines() == [
        f"Level  Key          Since{' ' * (len(stamp()) - 5)}  Problem",
        f"FAIL   arrays/data  {stamp()}  arrays data is FAIL.",
        f"{margin}Replace the drive.",
        f"WARN   nfs          {stamp()}  nfs  is WARN.",
        f"{margin}Replace the drive.",
        f"{margin}acknowledged by ann",
        "Not delivered yet: 1. millrace alert route list shows the reason.",
    ]
    assert json.loads(typed("ack", "arrays/data", "--json").stdout)["alerts"][0]["acknowledged"]


def test_nothing_open_is_said() -> None:
    write_model(paths.alert_report_file(), Report(open=[], deliveries=[], queued={}, tests=[]))
    assert typed("list").stdout == "No alert is open.\n"


def test_test_that_does_not_arrive_is_a_failure_and_a_document_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    results = [TestResult(id="1", route="chat", problem="replied with status 500")]
    results.append(TestResult(id="1", route="log", problem=None))
    monkeypatch.setattr("millrace.observe.alert.open_alerts.test", lambda names, run: TestReport(results=results))
    done = typed("test")
    assert done.stdout == "chat: replied with status 500\nlog: delivered\n"
    assert str(done.exception) == "the test message did not arrive by chat"
    assert json.loads(typed("test", "--json").stdout)["results"][0]["problem"] == "replied with status 500"
