# SPDX-License-Identifier: Apache-2.0
"""An offer that expired is a warning, unless a newer version runs or the clock of the check was ahead."""

from datetime import UTC, datetime, timedelta

import pytest

from millrace.lifecycle.update import freshness, update_paths
from millrace.lifecycle.update.model import CheckedSource
from millrace.system.documents import write_model
from tests.unit.lifecycle.update.conftest import Server

EXPIRED = "2026-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("running", "ago", "warnings"), [("0.1.0", 1, 1), ("0.2.0", 1, 1), ("0.3.0", 1, 0), ("0.1.0", -400, 0)]
)
def test_expired_offer_is_a_warning_while_it_is_known_to_be_the_newest(
    server: Server, running: str, ago: int, warnings: int
) -> None:
    server.runs(running)
    at = (datetime.now(UTC) - timedelta(days=ago)).isoformat(timespec="seconds")
    write_model(update_paths.checked_file(), CheckedSource(version="0.2.0", expires=EXPIRED, at=at))
    assert len(freshness.of_source("https://files.example/m/")) == warnings
