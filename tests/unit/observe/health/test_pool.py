# SPDX-License-Identifier: Apache-2.0
"""A new boot drive leads with the pool on the drives, also with one that cannot be adopted, before any plan."""

from pathlib import Path

import pytest

from millrace.lifecycle.adopt import adopt_paths
from millrace.lifecycle.adopt.model import KeptState, SearchResult
from millrace.observe.health.checks import pool
from millrace.observe.health.model import Level
from millrace.system import paths
from millrace.system.documents import write_model
from tests.fakes.samples import found_pool
from tests.unit.observe.health.servers import host

KEPT = KeptState(
    generation=3,
    written="2026-11-23T10:00:00+00:00",
    host="filer",
    release="0.1.0",
    sealed=False,
    shares=["data", "models"],
    users=[],
    ports=[],
    domain=None,
)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)


def found(kept: KeptState | None, problem: str | None) -> None:
    carried = found_pool(kept=kept, problem=problem)
    write_model(
        adopt_paths.found_file(), SearchResult(pool=carried, problem=problem, todo="keep the drives as they are")
    )


def test_pool_on_the_drives_comes_before_any_plan() -> None:
    found(KEPT, None)
    [finding] = pool.check(host())
    assert finding.level is Level.WARN and finding.todo is not None and "millrace pool adopt" in finding.todo
    assert "The drives carry a pool of filer, with 2 shares, kept" in finding.sentence


def test_pool_that_cannot_be_adopted_is_a_failure_with_the_reason() -> None:
    found(None, "state-000005.tar.gz, a kept state on the pool, was written by Millrace 0.9.0")
    [finding] = pool.check(host())
    assert (finding.level, finding.todo) == (Level.FAIL, "millrace pool find")
    assert "cannot be adopted: state-000005.tar.gz, a kept state on the pool, was written by" in finding.sentence


def test_drives_without_a_pool_leave_it_to_the_plan() -> None:
    write_model(
        adopt_paths.found_file(), SearchResult(pool=None, problem="no drive of this server carries a pool of Millrace")
    )
    [finding] = pool.check(host())
    assert "no plan in this boot" in finding.sentence
