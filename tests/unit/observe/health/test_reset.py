# SPDX-License-Identifier: Apache-2.0
"""A reset is reported once its pool is adopted, so that nobody resets a server unnoticed."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.lifecycle.reset.model import ResetFailed
from millrace.observe.health.checks import reset
from millrace.observe.health.host import Host
from millrace.serve.config.reset_journal import Reset
from millrace.system import paths
from millrace.system.documents import write_model


@pytest.fixture
def root(root_user: Path) -> Path:
    return root_user


def test_server_without_a_reset_has_no_finding(root: Path) -> None:
    assert reset.check(Host()) == []


@pytest.mark.parametrize(("hours", "findings"), [(1, 1), (30, 0), (-1, 1), (-24 * 15_000, 0)])
def test_reset_of_the_last_day_says_who_began_it(root: Path, hours: int, findings: int) -> None:
    at = (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="seconds")
    write_model(paths.last_reset_file(), Reset(what="keep", by="mallory", at=at))
    found = reset.check(Host())
    assert len(found) == findings
    assert all("by mallory" in one.sentence for one in found)


def test_reset_that_failed_is_a_finding_with_the_reason(root: Path) -> None:
    write_model(paths.reset_failed_file(), ResetFailed(problem="the pool is full", at="2026-11-24T10:00:00+00:00"))
    [found] = reset.check(Host())
    assert "the pool is full" in found.sentence
