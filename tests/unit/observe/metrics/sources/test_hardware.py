# SPDX-License-Identifier: Apache-2.0
"""Errors that hardware counts are counters of the metrics; what nothing counts is left out."""

from pathlib import Path

import pytest

from millrace.observe.metrics.family import exposition
from millrace.observe.metrics.sources import hardware
from millrace.system import paths
from tests.fakes.error_counters import add_aer, add_card, add_module, add_throttling
from tests.unit.observe.metrics.scrape import parsed, value, values
from tests.unit.tune.fake_sysfs import add_node


def test_errors_of_memory_links_and_heat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    assert values(parsed(exposition(hardware.families())), "millrace_memory_corrected_errors_total") == []
    add_node(tmp_path, 0, "0-1")
    add_throttling(tmp_path, 0, 0, 7)
    add_module(tmp_path, 0, 0, "A1", corrected=12)
    add_aer(add_card(tmp_path, "0000:80:01.0", "0000:81:00.0", "ens1"), {"RxErr": 5}, {"CmpltTO": 1})
    found = parsed(exposition(hardware.families()))
    assert value(found, "millrace_memory_corrected_errors_total", module="Memory module A1") == 12
    assert value(found, "millrace_memory_uncorrected_errors_total", module="Memory module A1") == 0
    assert value(found, "millrace_pcie_corrected_errors_total", link="ens1", end="0000:81:00.0") == 5
    assert value(found, "millrace_pcie_uncorrected_errors_total", link="ens1", end="0000:81:00.0") == 1
    assert value(found, "millrace_cpu_throttled_total", socket="0") == 7
