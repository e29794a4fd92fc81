# SPDX-License-Identifier: Apache-2.0
"""Memory modules with errors are named by the label of their slot."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.inventory import error_counters
from millrace.observe.health.checks import memory
from millrace.observe.health.model import Level
from millrace.storage.drive import counter_rises, hardware_errors
from millrace.storage.drive.counter_rises import Rises
from millrace.system import paths
from tests.fakes.error_counters import add_module
from tests.unit.observe.health.servers import host, sentences

TODAY = datetime.now(UTC).date()


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "proc/sys/kernel/random").mkdir(parents=True)
    boots(tmp_path, "a")
    add_module(tmp_path, 0, 0, "P0_DIMM_A1")
    return tmp_path


def boots(root: Path, boot: str) -> None:
    (root / "proc/sys/kernel/random/boot_id").write_text(f"{boot}\n")


def record(days_ago: int) -> None:
    """SMART was read so many days ago."""
    counted = hardware_errors.of_modules(error_counters.modules(paths.ROOT))
    counter_rises.save(
        counter_rises.count(counter_rises.load(), counted, counter_rises.boot_id(), TODAY - timedelta(days=days_ago))
    )


def found() -> str:
    return sentences(memory.check(host()))


def test_memory_without_errors_is_fine(root: Path) -> None:
    assert found() == "OK: ECC reports no memory that fails. []"
    add_module(root, 0, 0, "P0_DIMM_A1", corrected=9)
    assert found() == "OK: ECC reports no memory that fails. []"


def test_ten_corrected_errors_on_a_day_are_a_warning_at_once(root: Path) -> None:
    add_module(root, 0, 0, "P0_DIMM_A1", corrected=10)
    [finding] = memory.check(host())
    assert finding.sentence == f"Memory module P0_DIMM_A1: ECC corrected 10 errors since {TODAY}."
    assert (finding.level, finding.key) == (Level.WARN, "memory/corrected/mc0/dimm0")
    assert finding.todo == "Reseat the module while the server is off; replace it if more errors follow."


def test_one_error_a_day_is_no_warning_and_a_warning_lasts_for_a_week(root: Path) -> None:
    for count in range(1, 16):
        add_module(root, 0, 0, "P0_DIMM_A1", corrected=count)
        record(16 - count)
    assert "WARN" not in found()
    counter_rises.save(Rises())
    record(6)
    assert f"ECC corrected 15 errors since {TODAY - timedelta(days=6)}" in found()
    counter_rises.save(Rises())
    record(7)
    assert "WARN" not in found()


def test_error_that_was_not_corrected_is_a_failure_and_after_a_restart_a_warning(root: Path) -> None:
    add_module(root, 0, 0, "P0_DIMM_A1", uncorrected=1)
    record(0)
    todo = "[Replace the module.]"
    assert found() == f"FAIL: Memory module P0_DIMM_A1: 1 error that ECC could not correct since {TODAY}. {todo}"
    boots(root, "b")
    add_module(root, 0, 0, "P0_DIMM_A1")
    assert found() == (
        f"WARN: Memory module P0_DIMM_A1: 1 error that ECC could not correct since {TODAY}, the last before this start "
        f"of the server. {todo}"
    )


def test_error_of_a_controller_that_does_not_know_the_module_is_not_lost(root: Path) -> None:
    (root / error_counters.EDAC / "mc0/ue_count").write_text("2\n")
    assert "FAIL: Memory controller 0 (module not reported): 2 errors that ECC could not correct" in found()


def test_server_without_edac_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path / "other")
    assert memory.check(host()) == []
