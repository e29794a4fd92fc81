# SPDX-License-Identifier: Apache-2.0
"""A route that does not deliver is a finding, until it delivers or is removed."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.observe.alert.model import Report, Routes
from millrace.observe.health.checks import alerts
from millrace.observe.health.collect import NOT_RUN, run_check
from millrace.observe.health.deliveries import MOST, Delivery
from millrace.observe.health.model import Level
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.run import Result
from millrace.system.text import LONGEST, moment
from tests.unit.observe.alert.samples import HOOK, LOG
from tests.unit.observe.health.servers import host, sentences


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    write_model(paths.alert_routes_file(), Routes(routes=[HOOK, LOG]))
    return tmp_path


def ago(minutes: float) -> str:
    return (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat(timespec="seconds")


def reports(minutes: float, waiting: int = 2, problem: str | None = "chat.example.com replied with status 500") -> str:
    """The first message to the chat waits for so many minutes; return when it was made."""
    oldest = ago(minutes)
    deliveries = [Delivery(route="chat", problem=problem), Delivery(route="log", delivered=ago(1))]
    report = Report(open=[], deliveries=deliveries, queued={"chat": waiting}, oldest={"chat": oldest}, tests=[])
    write_model(paths.alert_report_file(), report)
    return oldest


def test_server_without_a_route_has_no_finding() -> None:
    paths.alert_routes_file().unlink()
    reports(600)
    assert alerts.check(host()) == []


@pytest.mark.parametrize("minutes", [0, 59])
def test_route_whose_receiver_was_down_for_less_than_an_hour_is_no_warning(minutes: float) -> None:
    reports(minutes)
    assert sentences(alerts.check(host())) == (
        "OK: Alerts go out through chat, log; nothing was delivered through chat yet. []"
    )


def test_route_that_has_not_delivered_for_an_hour_is_a_warning_with_the_last_error() -> None:
    oldest = reports(61)
    [finding] = alerts.check(host())
    assert (finding.key, finding.level, finding.subject) == ("alerts/undelivered/chat", Level.WARN, "chat")
    assert finding.sentence == (
        f"Alerts through chat are not delivered: 2 messages waiting, the oldest since {moment(oldest)}; "
        "chat.example.com replied with status 500."
    )
    assert finding.todo == (
        "Check its receiver, then: millrace alert test chat; without it: millrace alert route remove chat"
    )


def test_full_queue_is_a_warning_at_once() -> None:
    reports(1, MOST)
    [found] = alerts.check(host())
    assert found.key == "alerts/undelivered/chat"
    assert f"{MOST} messages waiting, the most that are kept, the oldest since " in found.sentence


def test_warning_keeps_key_and_level_while_the_queue_grows() -> None:
    found = []
    for minutes, waiting in ((61, 1), (600, 50), (60000, MOST)):
        reports(minutes, waiting)
        found += alerts.check(host())
    assert {(one.key, one.level) for one in found} == {("alerts/undelivered/chat", Level.WARN)} and len(found) == 3


def test_clock_that_was_put_back_hides_no_route() -> None:
    reports(-600)
    assert [one.kind for one in alerts.check(host())] == ["undelivered"]


def test_route_that_has_not_tried_yet_says_no_reason() -> None:
    oldest = reports(61, 1, None)
    [found] = alerts.check(host())
    assert found.sentence.endswith(f"1 message waiting, the oldest since {moment(oldest)}.")


def test_words_of_the_receiver_are_one_line() -> None:
    reports(61, 1, "550 \x1b[2J" + "x" * 5000)
    [found] = alerts.check(host())
    assert found.sentence.isprintable() and len(found.sentence) < LONGEST + 200


def test_service_that_does_not_run_is_a_warning() -> None:
    [found] = alerts.check(host(show=Result(0, "activating\n", "")))
    assert (found.key, found.level) == ("alerts/stopped", Level.WARN)
    assert found.sentence == "No alert is delivered: millrace-alert.service does not run."
    assert found.todo == ("systemctl restart millrace-alert.service; if it fails: journalctl -u millrace-alert.service")


def test_service_that_has_just_started_or_is_yet_to_start_is_no_warning() -> None:
    assert alerts.check(host()) == []
    starting = host(running=Result(1, "starting\n", ""), show=Result(0, "inactive\n", ""))
    assert alerts.check(starting) == []


def test_report_that_leads_elsewhere_is_not_followed(root: Path) -> None:
    paths.alert_report_file().parent.mkdir(parents=True)
    (root / "shadow").write_text("secret")
    paths.alert_report_file().symlink_to(root / "shadow")
    [found] = run_check("alerts", alerts.check, host())
    assert found.kind == NOT_RUN and "cannot be read" in found.sentence and "secret" not in found.sentence


@pytest.mark.parametrize(
    ("oldest", "kind"),
    [("never", NOT_RUN), ("2020-11-25T01:00:00", "undelivered"), ("0001-01-01T00:00:00+14:00", NOT_RUN)],
)
def test_report_that_is_nonsense_stops_no_other_check(oldest: str, kind: str) -> None:
    """The service speaks with the network: what it writes may be anything."""
    report = Report(open=[], deliveries=[Delivery(route="chat")], queued={}, oldest={"chat": oldest}, tests=[])
    write_model(paths.alert_report_file(), report)
    [found] = run_check("alerts", alerts.check, host())
    assert found.kind == kind


def test_routes_that_cannot_be_read_are_a_warning_with_the_remedy() -> None:
    problem = (
        f"{paths.alert_routes_file()}: the document: is not valid JSON: EOF while parsing an object at line 1 column 1"
    )
    write_model(paths.alert_report_file(), Report(open=[], deliveries=[], queued={}, tests=[], problem=problem))
    [found] = alerts.check(host())
    assert (found.key, found.level) == ("alerts/routes", Level.WARN)
    assert found.sentence == f"No alert is delivered: {problem}."
    assert found.todo == "Restore the file, or remove it and add the routes again: millrace alert route add --help"
