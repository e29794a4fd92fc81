# SPDX-License-Identifier: Apache-2.0
"""Arrays, file system and shares, without a touch of the pool."""

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from millrace.observe.metrics.family import exposition
from millrace.observe.metrics.sources import pool
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.heartbeat import Heartbeat
from tests.fakes.files.box import SPACE, Box, serial
from tests.fakes.files.running import server
from tests.unit.observe.metrics.scrape import parsed, value, values


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        made.shares()
        made.look()
        with patch("os.statvfs", None), patch("millrace.system.run.subprocess.run", None):
            yield made


def test_healthy_array(box: Box) -> None:
    found = parsed(exposition(pool.array_families()))
    assert value(found, "millrace_array_info", array="data", level="raid6", state="clean") == 1
    # by it the figures of node_exporter get the name of the array
    device = Path(os.readlink(box.root / "dev/md/millrace-data")).name
    assert value(found, "millrace_array_info", array="data", device=device) == 1
    assert value(found, "millrace_array_survivable_failures", array="data") == 2
    assert value(found, "millrace_array_corrected_errors_total", array="data", serial=serial(0)) == 0
    assert values(found, "millrace_array_sync_progress_ratio") == []


def test_array_that_is_rebuilt(box: Box) -> None:
    box.replace("data", 3, 12)
    box.md("data", mismatch_cnt="8")
    found = parsed(exposition(pool.array_families()))
    assert value(found, "millrace_array_sync_progress_ratio", array="data", action="rebuild") == 0.25
    assert value(found, "millrace_array_sync_bytes_per_second", array="data") == 1_500_000 << 10
    assert value(found, "millrace_array_sync_remaining_seconds", array="data") > 3600
    assert value(found, "millrace_array_mismatch_bytes", array="data") == 4096


def test_space_and_inodes_are_those_of_the_heartbeat(box: Box) -> None:
    beat = Heartbeat(uptime=0, problem=None, error=None, **SPACE, inodes=1000, inodes_free=900)
    write_model(paths.heartbeat_file(), beat)
    found = parsed(exposition(pool.filesystem_families()))
    assert value(found, "millrace_pool_size_bytes") == 15_000_000_000 << 12
    assert value(found, "millrace_pool_used_bytes") == 1_620_000_000 << 12
    assert (value(found, "millrace_pool_inodes"), value(found, "millrace_pool_inodes_free")) == (1000, 900)
    assert (value(found, "millrace_pool_mounted"), value(found, "millrace_pool_writable")) == (1, 1)


def test_pool_that_fails_is_not_writable_and_its_space_is_not_known(box: Box) -> None:
    write_model(paths.heartbeat_file(), Heartbeat(uptime=0, problem="Input/output error", error="EIO"))
    found = parsed(exposition(pool.filesystem_families()))
    assert value(found, "millrace_pool_writable") == 0 and values(found, "millrace_pool_size_bytes") == []


def test_usage_and_limits_of_shares(box: Box) -> None:
    found = parsed(exposition(pool.share_families()))
    assert value(found, "millrace_share_used_bytes", share="models") == 6_600_000_000_000
    assert value(found, "millrace_share_limit_bytes", share="models") == 10 << 40
    assert value(found, "millrace_share_soft_limit_bytes", share="models") == 9 << 40
    # a share without a limit has none, not 0
    assert values(found, "millrace_share_limit_bytes", share="imagenet") == []


def test_shares_where_xfs_does_not_count(box: Box) -> None:
    paths.usage_file().unlink()
    found = parsed(exposition(pool.share_families()))
    assert values(found, "millrace_share_used_bytes") == []
    assert values(found, "millrace_share_limit_bytes") == [10 << 40]
