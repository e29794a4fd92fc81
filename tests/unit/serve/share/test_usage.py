# SPDX-License-Identifier: Apache-2.0
"""Only root sees the usage of shares; it is published for those who show it."""

import os
from datetime import UTC, datetime, timedelta

import pytest

from millrace.serve.share import usage
from millrace.system import paths
from millrace.system.documents import read_model, write_model
from millrace.system.run import Result
from tests.fakes.appliance import Appliance
from tests.fakes.mounts import mount
from tests.fakes.samples import pool

REPORT = "#1001  2048 0 0 00 [--------]\n#1002  7 900 1000 00 [6 days]\n"


@pytest.fixture
def known(appliance: Appliance) -> Appliance:
    """A server that knows its pool and whose XFS reports usage."""
    write_model(paths.pool_file(), pool())
    appliance.usage = REPORT
    return appliance


def test_usage_is_published_with_its_time(known: Appliance) -> None:
    usage.write(known)
    published = read_model(known.root / "run/millrace/usage.json", usage.Usage)
    assert published.used == {1001: 2 << 20, 1002: 7168}
    at = datetime.fromisoformat(published.at)
    assert at.utcoffset() == timedelta(0) and at.microsecond == 0
    assert abs(datetime.now(UTC) - at) < timedelta(minutes=1)


def test_root_reads_usage_now_and_others_what_was_published(known: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    usage.write(known)
    known.usage = REPORT.replace("2048", "1")
    assert usage.usage(pool(), known) == ({1001: 1024, 1002: 7168}, [])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    known.calls.clear()
    assert usage.usage(pool(), known) == ({1001: 2 << 20, 1002: 7168}, [])
    assert known.calls == []


def test_usage_that_nobody_published_is_said_to_be_unknown(known: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    used, [warning] = usage.usage(pool(), known)
    assert used == {} and warning.startswith("share usage is unknown: ")


def test_a_pool_without_quotas_has_no_usage(known: Appliance) -> None:
    mount(known.root, "/dev/md127", "/srv/pool", "xfs", "rw,noquota")
    usage.write(known)
    assert usage.usage(pool(), known) == ({}, [])
    assert not paths.usage_file().exists() and known.calls == []


def test_nothing_is_published_without_a_pool_or_where_xfs_fails(known: Appliance) -> None:
    known.broken["xfs_quota"] = Result(1, "", "xfs_quota: cannot open\n")
    usage.write(known)
    paths.pool_file().unlink()
    known.broken.clear()
    usage.write(known)
    assert not paths.usage_file().exists()
