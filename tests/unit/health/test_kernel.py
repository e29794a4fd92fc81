# SPDX-License-Identifier: Apache-2.0
"""A server whose RAID module can lose a write is told apart from one with the fixes."""

from pathlib import Path

import pytest

from millrace import paths
from millrace.health.checks import kernel
from millrace.health.model import Level
from tests.unit.health.servers import host, well


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    well(tmp_path)
    (tmp_path / "sys/module/raid456").mkdir(parents=True, exist_ok=True)
    return tmp_path / "sys/module/raid456"


def test_stock_module_is_a_warning_with_what_it_can_cost(module: Path) -> None:
    (found,) = kernel.check(host())
    assert (found.level, found.kind) == (Level.WARN, "stock")
    assert "acknowledge the write and keep old data" in found.sentence
    assert found.todo is not None and "without --stock-modules" in found.todo


def test_rebuilt_module_is_all_right(module: Path) -> None:
    (module / "parameters").mkdir()
    (module / "parameters/direct_degraded_reads").write_text("Y\n")
    (found,) = kernel.check(host())
    assert found.level is Level.OK


def test_module_that_is_not_loaded_is_no_finding(module: Path) -> None:
    module.rmdir()
    assert kernel.check(host()) == []
