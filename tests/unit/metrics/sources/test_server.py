# SPDX-License-Identifier: Apache-2.0
"""Health, versions and the last benchmark."""

from pathlib import Path

import pytest

from millrace import __version__, paths
from millrace.errors import BadInput
from millrace.metrics.family import exposition
from millrace.metrics.sources import server as source
from tests.fakes.files.box import NOW
from tests.fakes.files.running import server
from tests.unit.metrics.scrape import parsed, value


def test_findings_by_level_and_when_they_were_made(tmp_path: Path) -> None:
    with server(tmp_path) as box:
        box.provision()
        box.look()
        found = parsed(exposition(source.health_families()))
        text = paths.health_file().read_text()
    # a link of the server is slow
    assert value(found, "millrace_health_level", millrace_health_level="WARN") == 1
    assert value(found, "millrace_health_findings", level="WARN") == text.count('"level": "WARN"') - 1 > 0
    assert value(found, "millrace_health_findings", level="FAIL") == 0
    assert value(found, "millrace_health_timestamp_seconds") == NOW.timestamp()


def test_server_whose_health_was_never_checked_is_a_failure_of_the_source(tmp_path: Path) -> None:
    with server(tmp_path), pytest.raises(BadInput, match=r"health.json is missing"):
        source.health_families()


def test_versions(tmp_path: Path) -> None:
    with server(tmp_path):
        assert value(
            parsed(exposition(source.build_families())), "millrace_build_info", version=__version__, image="0.1.0"
        )
