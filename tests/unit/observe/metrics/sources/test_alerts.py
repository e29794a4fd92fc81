# SPDX-License-Identifier: Apache-2.0
"""Open alerts and what waits to be delivered."""

import os
from pathlib import Path

import pytest

from millrace.observe.metrics.family import exposition
from millrace.observe.metrics.sources import alerts
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import BadInput, Failed
from tests.fakes.files.running import server
from tests.unit.observe.metrics.records import alert_report
from tests.unit.observe.metrics.scrape import parsed, value, values

SECONDS = 1_795_176_000


def test_queue_of_a_route_that_does_not_deliver(tmp_path: Path) -> None:
    with server(tmp_path):
        write_model(paths.alert_report_file(), alert_report())
        series = parsed(exposition(alerts.families()))
    assert (value(series, "millrace_alert_open", level="FAIL"), value(series, "millrace_alert_open", level="WARN")) == (
        1,
        0,
    )
    assert [value(series, "millrace_alert_route_up", route=route) for route in ("ops", "hook")] == [1, 0]
    assert [value(series, "millrace_alert_queue_messages", route=route) for route in ("ops", "hook")] == [0, 7]
    assert value(series, "millrace_alert_queue_oldest_timestamp_seconds", route="hook") == SECONDS
    # nothing waits: it has no age, and not that of 1970
    assert values(series, "millrace_alert_queue_oldest_timestamp_seconds", route="ops") == []
    assert value(series, "millrace_alert_dropped_messages_total", route="hook") == 3
    assert value(series, "millrace_alert_delivery_timestamp_seconds", route="ops") == SECONDS


def test_server_on_which_alerts_never_ran_has_none(tmp_path: Path) -> None:
    with server(tmp_path):
        assert alerts.families() == []
        paths.alert_report_file().parent.mkdir(parents=True, exist_ok=True)
        paths.alert_report_file().write_text("{")
        with pytest.raises(BadInput):
            alerts.families()


def test_report_that_is_a_pipe_stops_no_collection(tmp_path: Path) -> None:
    with server(tmp_path):
        paths.alert_report_file().parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(paths.alert_report_file())
        with pytest.raises(Failed, match="is no plain file"):
            alerts.families()


def test_service_without_its_routes_counts_nothing(tmp_path: Path) -> None:
    with server(tmp_path):
        report = alert_report().model_copy(update={"problem": "routes.json: the document: Invalid JSON"})
        write_model(paths.alert_report_file(), report)
        assert alerts.families() == []


def test_report_of_the_release_before_has_no_ages(tmp_path: Path) -> None:
    with server(tmp_path):
        write_model(paths.alert_report_file(), alert_report())
        text = paths.alert_report_file().read_text()
        assert '"oldest"' in text
        paths.alert_report_file().write_text(text.replace('"oldest"', '"later"'))
        assert value(parsed(exposition(alerts.families())), "millrace_alert_queue_messages", route="hook") == 7
