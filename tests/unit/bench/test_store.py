# SPDX-License-Identifier: Apache-2.0
"""Results on disk."""

from pathlib import Path

import pytest

from millrace.bench.result import store as results
from millrace.bench.result.model import State
from millrace.errors import BadInput
from tests.unit.bench.runs import unfinished, whole


def test_names_of_runs_are_no_paths(pool: Path) -> None:
    for name in ("../../etc", "20260101-000000/..", ""):
        with pytest.raises(BadInput, match="not the name of a run"):
            results.load(name)
    with pytest.raises(BadInput, match="no benchmark runs yet"):
        results.load("latest")


def test_emulated_runs_have_no_headlines(pool: Path) -> None:
    made = whole(unfinished("20260101-000000", State.DONE))
    assert results.headlines(made)
    assert results.headlines(made.model_copy(update={"labels": ["emulated"]})) == []
