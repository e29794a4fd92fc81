# SPDX-License-Identifier: Apache-2.0
"""Jobs as series of their kinds."""

from pathlib import Path

import pytest

from millrace.observe.metrics.family import exposition
from millrace.observe.metrics.sources import jobs
from millrace.system.documents import write_model
from millrace.system.jobs import record
from millrace.system.jobs.kinds import ALL
from tests.fakes.jobs import JobManager
from tests.unit.observe.jobs.servers import AT, booted, erases
from tests.unit.observe.metrics.scrape import Series, parsed, value, values

SECONDS = 1_795_176_000


@pytest.fixture
def systemd(root_user: Path) -> JobManager:
    return booted(root_user)


def scraped(systemd: JobManager) -> Series:
    return parsed(exposition(jobs.families(systemd)))


def ended(state: str) -> None:
    found = record.begin("update", "version 0.2", "admin").model_copy(update={"state": state, "ended": AT})
    write_model(record.file("update"), found)


def test_every_kind_has_a_series_and_only_what_is_known_a_value(systemd: JobManager) -> None:
    found = scraped(systemd)
    assert len(values(found, "millrace_job_running")) == len(ALL)
    assert {value(found, "millrace_job_running", kind=kind.name) for kind in ALL} == {0}
    assert {name for name, _ in found} == {"millrace_job_running"}


def test_running_job_has_progress_and_the_time_that_is_left(systemd: JobManager) -> None:
    erases(systemd)
    found = scraped(systemd)
    assert value(found, "millrace_job_running", kind="erase") == 1
    assert value(found, "millrace_job_progress_ratio", kind="erase") == 0.25
    assert value(found, "millrace_job_remaining_seconds", kind="erase") == 600
    # it has not ended, well or not
    assert value(found, "millrace_job_start_timestamp_seconds", kind="erase") > SECONDS
    assert values(found, "millrace_job_success") == values(found, "millrace_job_end_timestamp_seconds") == []


@pytest.mark.parametrize(
    ("state", "success"), [("done", [1]), ("failed", [0]), ("interrupted", [0]), ("cancelled", [])]
)
def test_job_that_ended(state: str, success: list[float], systemd: JobManager) -> None:
    ended(state)
    found = scraped(systemd)
    assert value(found, "millrace_job_end_timestamp_seconds", kind="update") == SECONDS
    assert values(found, "millrace_job_success", kind="update") == success
    assert value(found, "millrace_job_running", kind="update") == 0


def test_killed_job_did_not_end_well(systemd: JobManager) -> None:
    erases(systemd)
    systemd.others.clear()
    found = scraped(systemd)
    assert value(found, "millrace_job_success", kind="erase") == 0
    assert value(found, "millrace_job_running", kind="erase") == 0
