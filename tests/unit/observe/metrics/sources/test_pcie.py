# SPDX-License-Identifier: Apache-2.0
"""Errors of PCIe links are counters of the metrics; what nothing counts is left out."""

from pathlib import Path

import pytest

from millrace.observe.metrics.family import exposition
from millrace.observe.metrics.sources import pcie
from millrace.system import paths
from tests.fakes.error_counters import add_aer, add_card
from tests.unit.observe.metrics.scrape import parsed, value


def test_errors_of_both_ends_of_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    assert parsed(exposition(pcie.families())) == {}
    add_aer(add_card(tmp_path, "0000:80:01.0", "0000:81:00.0", "ens1"), {"RxErr": 5}, {"CmpltTO": 1})
    found = parsed(exposition(pcie.families()))
    assert value(found, "millrace_pcie_corrected_errors_total", link="ens1", end="0000:81:00.0") == 5
    assert value(found, "millrace_pcie_uncorrected_errors_total", link="ens1", end="0000:81:00.0") == 1
