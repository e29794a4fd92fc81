# SPDX-License-Identifier: Apache-2.0
"""What is open is listed for everybody; an acknowledgement is for one alert as it is now."""

from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import pytest

from millrace.observe.alert import open_alerts
from millrace.observe.alert.model import Alert, Report, Routes, TestRequest, TestResult
from millrace.observe.health.model import Level
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.fakes.commands import Commands
from tests.unit.observe.alert.samples import BEGAN, HOOK, LOG, alert, finding, health, stamp

ACTIVE = "systemctl is-active --quiet millrace-alert.service"


class Systemd(Commands):
    TAKEN: ClassVar = (ACTIVE,)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr("millrace.observe.alert.open_alerts.invoking_user", lambda: "ann")


def says(*alerts: Alert, tests: list[TestResult] | None = None) -> None:
    """What the service lets everybody read."""
    report = Report(open=list(alerts), deliveries=[], queued={"chat": 2, "log": 1}, tests=tests or [])
    write_model(paths.alert_report_file(), report)


def acknowledged() -> dict[str, str | None]:
    return {one.key: one.acknowledged for one in open_alerts.alerts().alerts}


def test_worst_is_first_and_what_waits_is_counted() -> None:
    says(alert("nfs", Level.WARN), alert())
    found = open_alerts.alerts()
    assert [one.key for one in found.alerts] == ["arrays/data", "nfs"]
    assert found.waiting == 3


def test_without_a_route_the_last_check_is_listed() -> None:
    write_model(paths.health_file(), health(finding(), finding("nfs", "", Level.OK)))
    found = open_alerts.alerts()
    assert [(one.key, one.since) for one in found.alerts] == [("arrays/data", stamp())]
    assert found.waiting == 0


def test_with_damaged_routes_the_last_check_is_listed() -> None:
    write_model(paths.health_file(), health(finding()))
    write_model(paths.alert_report_file(), Report(open=[], deliveries=[], queued={}, tests=[], problem="damaged"))
    assert acknowledged() == {"arrays/data": None}
    open_alerts.acknowledge(["arrays/data"])
    assert acknowledged() == {"arrays/data": "ann"}


def test_before_the_first_check_nothing_is_guessed() -> None:
    with pytest.raises(Failed, match="no health check has ended since this server was started; see systemctl status"):
        open_alerts.alerts()


def test_acknowledgement_names_who_and_stays_until_the_alert_changes() -> None:
    says(alert("arrays/data", Level.WARN), alert("nfs"))
    assert [one.acknowledged for one in open_alerts.acknowledge(["arrays/data"]).alerts] == [None, "ann"]
    says(alert("arrays/data", Level.FAIL))
    assert acknowledged() == {"arrays/data": None}
    says(alert("arrays/data", Level.WARN))
    assert acknowledged() == {"arrays/data": "ann"}
    says(alert("arrays/data", Level.WARN).model_copy(update={"since": stamp(60)}))
    assert acknowledged() == {"arrays/data": None}


def restarted(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """The server was started at this time."""
    monkeypatch.setattr(open_alerts, "booted_at", lambda: BEGAN + timedelta(seconds=seconds))


def check(seconds: float, level: Level = Level.WARN) -> None:
    """The health document says that the problem of the array began at this time of this boot."""
    problem = finding(level=level).model_copy(update={"since": stamp(seconds)})
    write_model(paths.health_file(), health(problem, seconds=seconds + 900))


def test_without_a_route_an_acknowledgement_survives_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    restarted(monkeypatch, -60)
    check(0)
    open_alerts.acknowledge(["arrays/data"])
    for start in (86400, 2 * 86400):
        restarted(monkeypatch, start)
        check(start + 40)
        assert acknowledged() == {"arrays/data": "ann"}
    check(2 * 86400 + 40, Level.FAIL)
    assert acknowledged() == {"arrays/data": None}


def test_without_a_route_what_begins_later_in_a_boot_is_not_what_was_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    restarted(monkeypatch, -60)
    check(0)
    open_alerts.acknowledge(["arrays/data"])
    # in the same boot, and hours after a restart
    check(300)
    assert acknowledged() == {"arrays/data": None}
    restarted(monkeypatch, 86400)
    check(86400 + 7200)
    assert acknowledged() == {"arrays/data": None}


def test_acknowledgements_of_what_has_ended_are_forgotten() -> None:
    says(alert("nfs"))
    open_alerts.acknowledge(["nfs"])
    says(alert())
    open_alerts.acknowledge(["arrays/data"])
    assert "nfs" not in open_alerts.acknowledged_file().read_text()


def test_key_that_is_not_open_is_refused_and_nothing_is_kept() -> None:
    says(alert())
    with pytest.raises(Refused, match=r"^no open alert has the key 'x': millrace alert list$"):
        open_alerts.acknowledge(["arrays/data", "x"])
    assert not open_alerts.acknowledged_file().exists()


def test_test_is_done_by_the_service_and_leaves_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(paths.alert_routes_file(), Routes(routes=[HOOK, LOG]))
    asked: list[TestRequest] = []

    def serve(_: float) -> None:
        request = read_model(paths.alert_dir() / "test.json", TestRequest)
        asked.append(request)
        done = request.routes[: len(asked)]
        says(tests=[TestResult(id=request.id, route=name, problem=None) for name in done])

    monkeypatch.setattr("millrace.system.wait.wait_until.__defaults__", (serve,))
    report = open_alerts.test([], Systemd(), [1.0] * 5)
    assert [test_result.route for test_result in report.results] == ["chat", "log"]
    assert len(asked) == 2 and not (paths.alert_dir() / "test.json").exists()


def test_service_that_says_nothing_or_does_not_run_is_a_failure() -> None:
    write_model(paths.alert_routes_file(), Routes(routes=[HOOK]))
    systemd = Systemd()
    with pytest.raises(Failed, match=r"did not report in 75 s: journalctl -u millrace-alert\.service"):
        open_alerts.test(["chat"], systemd, [])
    assert not (paths.alert_dir() / "test.json").exists()
    systemd.broken[ACTIVE] = Result(3, "", "")
    with pytest.raises(Failed, match=r"^millrace-alert\.service does not run"):
        open_alerts.test(["chat"], systemd, [])


def test_route_that_is_not_there_is_refused() -> None:
    with pytest.raises(Refused, match=r"^there is no route yet"):
        open_alerts.test([], Systemd(), [])
    with pytest.raises(Refused, match=r"^there is no route 'x'"):
        open_alerts.test(["x"], Systemd(), [])
