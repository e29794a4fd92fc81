# SPDX-License-Identifier: Apache-2.0
"""Health, versions and the last benchmark."""

from pathlib import Path

import pytest

from millrace import __version__
from millrace.observe.health.model import Health, HealthFinding, Level
from millrace.observe.metrics.family import exposition
from millrace.observe.metrics.sources import server as source
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import BadInput
from tests.fakes.files.box import NOW
from tests.fakes.files.running import server
from tests.unit.observe.metrics.scrape import parsed, value, values


def test_findings_by_level_and_when_they_were_made(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.provision()
        box.look()
        series = parsed(exposition(source.health_families()))
        text = paths.health_file().read_text()
    # a link of the server is slow
    assert value(series, "millrace_health_level", millrace_health_level="WARN") == 1
    assert value(series, "millrace_health_findings", level="WARN") == text.count('"level": "WARN"') - 1 > 0
    assert value(series, "millrace_health_findings", level="FAIL") == 0
    assert value(series, "millrace_health_timestamp_seconds") == NOW.timestamp()


def test_each_finding_has_a_series_and_their_number_is_bounded(tmp_path: Path) -> None:
    def one(number: int, level: Level) -> HealthFinding:
        return HealthFinding(check="drives", subject=f"S{number}", level=level, sentence="x", since=NOW.isoformat())

    findings = [one(0, Level.OK), *(one(number, Level.WARN) for number in range(1, 200)), one(200, Level.FAIL)]
    with server(tmp_path):
        write_model(paths.health_file(), Health(at=NOW.isoformat(), level=Level.FAIL, findings=findings))
        series = parsed(exposition(source.health_families()))
    name = "millrace_health_finding_start_timestamp_seconds"
    assert value(series, name, key="drives/S200", check="drives", subject="S200", level="FAIL") == NOW.timestamp()
    assert len(values(series, name)) == 100 and values(series, name, subject="S0") == []
    assert value(series, "millrace_health_findings", level="WARN") == 199


def test_server_whose_health_was_never_checked_is_a_failure_of_the_source(tmp_path: Path) -> None:
    with server(tmp_path), pytest.raises(BadInput, match=r"health.json is missing"):
        source.health_families()


def test_versions(tmp_path: Path) -> None:
    with server(tmp_path):
        assert value(
            parsed(exposition(source.build_families())), "millrace_build_info", version=__version__, image="0.1.0"
        )
