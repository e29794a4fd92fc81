# SPDX-License-Identifier: Apache-2.0
"""Ratios first, then every row with its counters, and what the figures do not say."""

from pathlib import Path

import pytest

from host.perf import benchmarks, table
from host.perf.__main__ import write
from host.perf.control import Run
from millrace.system.errors import Failed
from tests.unit.perf import samples


def test_a_ratio_is_how_much_faster() -> None:
    text = table.summary([samples.control(), samples.log()])
    assert "| 1 log | 4 KiB into allocated space, fsync | tuned | stock | 4.00 |" in text
    assert "| 1 log | 4 KiB into allocated space, fsync | tuned | tuned, log inside | 2.00 |" in text
    assert "wdelay" not in text


def test_a_row_has_its_counters() -> None:
    lines = table.table(samples.log()).splitlines()
    (row,) = [line for line in lines if line.startswith("| 4 KiB into allocated space, fsync | tuned |")]
    assert (
        row
        == "| 4 KiB into allocated space, fsync | tuned | 4.00 | 500 | 120 | 0.00 | 3.00 | 2.00 | 5.00 |  | 100 000 |"
    )
    assert "- a drive is back, tuned: MiB written 1.5" in lines


def test_bytes_to_all_drives_count() -> None:
    assert samples.log().row("4 KiB into allocated space, fsync", "tuned").amplification == 5


def test_a_row_that_was_not_measured_is_not_invented() -> None:
    with pytest.raises(Failed, match="no measurement of '1 GiB' with 'tuned'"):
        samples.log().row("1 GiB", "tuned")


def test_the_report_says_how_far_it_can_be_trusted(tmp_path: Path) -> None:
    run = Run([samples.control(), samples.log()], 1.0, 0.0005)
    text = write(run, "1c6550344c7ed2c515425b1f", tmp_path / "out").read_text()
    assert "kernel 7.2.12, system 1c6550344c7ed2c5." in text
    assert "Control 1.000 (must be 1.00), two boots of one job differ by 0.05%." in text
    assert "Times are simulated: one instruction takes 1 ns" in text
    assert "GB/s" not in text and "MLPerf" not in text


@pytest.mark.parametrize("name", benchmarks.NAMES)
def test_benchmarks_are_numbered_as_in_the_list(name: str) -> None:
    assert benchmarks.BENCHMARKS[name].number == benchmarks.NAMES.index(name) + 1
