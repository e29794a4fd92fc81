# SPDX-License-Identifier: Apache-2.0
"""The benchmark has a directory of its own in the pool, limited and closed to others."""

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from millrace.measure.bench.run import cleanup, space
from millrace.plan.policy.model import Policy
from millrace.serve.config import model as config_model
from millrace.serve.share import desired
from millrace.system import reflink
from millrace.system.errors import Failed, Refused
from millrace.system.run import Result
from tests.unit.measure.bench.sites import site
from tests.unit.measure.bench.tools import Tools


def test_space_is_limited_and_of_root_alone(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = Tools()
    counted: list[tuple[int, int]] = []
    monkeypatch.setattr(
        reflink, "set_project", lambda descriptor, number: counted.append((os.fstat(descriptor).st_ino, number))
    )
    where = space.make("/srv/pool", 1 << 30, tools)
    assert where == pool / ".millrace-bench"
    assert where.stat().st_mode & 0o777 == 0o700
    limits = [call[3] for call in tools.calls if call[0] == "xfs_quota"]
    assert limits == ["limit -p bsoft=0 bhard=1245184k ihard=0 1000"]
    assert counted == [(where.stat().st_ino, 1000)]


def test_no_client_reaches_the_directory_of_a_benchmark(pool: Path) -> None:
    """fio opens its files by name: what keeps others from planting a link is that no share is there or above it."""
    where = space.make("/srv/pool", 1 << 30, Tools())
    for name in (where.name, f"{where.name}/x", ".", "..", ""):
        with pytest.raises(ValidationError):
            config_model.DesiredShare.model_validate({"name": name, "profile": "mixed", "project": 1001})
    shares = desired.resolve_all(config_model.first_config(), desired.server_context(site().pool, Policy(), []))
    shared = [pool.parent.parent / share.path.lstrip("/") for share in shares]
    assert shared and not any(where.is_relative_to(path) for path in shared)


def test_a_limit_that_cannot_be_set_leaves_nothing(pool: Path) -> None:
    broken = Tools({"xfs_quota -x -c limit": Result(0, "", "xfs_quota: cannot set limits")})
    with pytest.raises(Failed, match="cannot be limited"):
        space.make("/srv/pool", 1 << 30, broken)
    assert os.listdir(pool) == ["data"]


def test_a_pool_that_cannot_be_written_is_one_sentence(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mkdir(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(Refused, match=r"/srv/pool cannot be written \(Read-only file system\)"):
        space.make("/srv/pool", 1 << 30, Tools())


def test_what_is_not_a_directory_of_a_benchmark_is_not_removed(pool: Path) -> None:
    os.symlink(pool / "data", pool / ".millrace-bench")
    with pytest.raises(Failed, match="not a directory of a benchmark"):
        cleanup.clean_up(Tools())
    assert (pool / "data/file").exists()
