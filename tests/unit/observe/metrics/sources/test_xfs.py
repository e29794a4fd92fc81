# SPDX-License-Identifier: Apache-2.0
"""Traffic and log of the file system of the pool."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.observe.metrics.family import exposition
from millrace.observe.metrics.sources import xfs
from tests.fakes.files.box import Box
from tests.fakes.files.running import server
from tests.unit.observe.metrics.records import XFS, xfs_stats
from tests.unit.observe.metrics.scrape import parsed, value


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        yield made


def test_traffic_log_and_waits_of_the_pool(box: Box) -> None:
    xfs_stats(box, XFS)
    series = parsed(exposition(xfs.families()))
    expected = {
        "read_bytes": 9_000_000_000,
        "written_bytes": 3_221_225_472,
        "log_writes": 60,
        "log_written_bytes": 4000 * 512,
        "log_buffer_waits": 2,
        "log_forces": 33,
        "log_force_waits": 31,
        "log_space_waits": 4,
    }
    assert {name: value(series, f"millrace_xfs_{name}_total") for name in expected} == expected
    assert value(series, "millrace_xfs_transactions_total", wait="yes") == 5
    assert value(series, "millrace_xfs_transactions_total", wait="no") == 900


@pytest.mark.parametrize("broken", [XFS.replace("xpc", "xpx"), XFS.replace("33 31", ""), XFS.replace("4000", "-")])
def test_statistics_of_another_kernel_are_a_failure_and_not_nothing(box: Box, broken: str) -> None:
    xfs_stats(box, broken)
    with pytest.raises(ValueError, match=r"have no (xpc|log)|invalid literal"):
        xfs.families()


def test_pool_that_is_not_mounted_has_none(box: Box) -> None:
    xfs_stats(box, XFS)
    box.tree.write("proc/1/mountinfo", "")
    assert xfs.families() == []
