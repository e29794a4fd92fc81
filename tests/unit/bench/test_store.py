# SPDX-License-Identifier: Apache-2.0
"""Results on disk."""

from pathlib import Path

import pytest

from millrace.bench.result import store as results
from millrace.bench.result.environment import Environment
from millrace.bench.result.model import Provenance, Run, State
from millrace.errors import BadInput
from tests.unit.bench.rungs import done, waiting
from tests.unit.bench.sites import request


def run(name: str, state: State) -> Run:
    rungs = [done("L1/xfs/seq/read"), waiting("L1/xfs/seq/write").model_copy(update={"state": State.RUNNING})]
    return Run(
        id=name,
        started="2026-01-01T00:00:00+00:00",
        state=state,
        request=request(),
        provenance=Provenance(version="1", workload_hash="0", fio="fio-3.41", started_by="admin"),
        environment=Environment.model_construct(),
        rungs=rungs,
    )


def whole(made: Run) -> Run:
    """With an environment that is complete."""
    values = dict.fromkeys(("host", "product", "kernel", "cpu", "pool"), "x") | dict.fromkeys(
        ("sockets", "cores", "memory"), 1
    )
    empty = {"virtual": None, "plan_sha256": None, "drives": [], "ports": [], "packages": {}, "settings": {}}
    return made.model_copy(update={"environment": Environment.model_validate({**values, **empty})})


def test_names_of_runs_are_no_paths(pool: Path) -> None:
    for name in ("../../etc", "20260101-000000/..", ""):
        with pytest.raises(BadInput, match="not the name of a run"):
            results.load(name)
    with pytest.raises(BadInput, match="no benchmark runs yet"):
        results.load("latest")


def test_emulated_runs_have_no_headlines(pool: Path) -> None:
    made = whole(run("20260101-000000", State.DONE))
    assert results.headlines(made)
    assert results.headlines(made.model_copy(update={"labels": ["emulated"]})) == []
