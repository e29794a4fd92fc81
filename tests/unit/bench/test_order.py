# SPDX-License-Identifier: Apache-2.0
"""A run is started by an order."""

import os
from pathlib import Path

import pytest

from millrace import paths
from millrace.bench.result import store as results
from millrace.bench.run import order, unit
from millrace.errors import Refused
from tests.unit.bench.sites import request, site


def test_a_refused_start_leaves_nothing(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(unit, "active", lambda: True)
    monkeypatch.setattr("millrace.bench.plan.site.site", site)
    with pytest.raises(Refused):
        order.ready(request(size=1 << 50))
    with pytest.raises(Refused, match="already running"):
        order.ready(request())
    assert not (paths.run_dir() / "bench").exists()
    assert not results.home().exists()
