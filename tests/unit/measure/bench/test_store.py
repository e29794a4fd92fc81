# SPDX-License-Identifier: Apache-2.0
"""Results on disk."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from millrace.measure.bench.result import store as results
from millrace.measure.bench.result.model import BenchState
from millrace.system.errors import BadInput
from tests.unit.measure.bench.rungs import done, waiting
from tests.unit.measure.bench.runs import run, unfinished, whole


def test_names_of_runs_are_no_paths(pool: Path) -> None:
    for name in ("../../etc", "20260101-000000/..", ""):
        with pytest.raises(BadInput, match="not the name of a run"):
            results.load(name)
    with pytest.raises(BadInput, match="no benchmark runs yet"):
        results.load("latest")


def test_emulated_runs_have_no_headlines(pool: Path) -> None:
    made = whole(unfinished("20260101-000000", BenchState.DONE))
    assert results.headlines(made)
    assert results.headlines(made.model_copy(update={"labels": ["emulated"]})) == []


def test_a_name_that_is_taken_gets_a_number(pool: Path) -> None:
    now = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert results.new_id(now) == "20260203-040506"
    (results.home() / "20260203-040506").mkdir(parents=True)
    assert results.new_id(now) == "20260203-040506-2"
    (results.home() / "20260203-040506-2").mkdir()
    assert results.new_id(now) == "20260203-040506-3"


def test_the_words_of_fio_are_kept_whole(tmp_path: Path) -> None:
    name = results.keep(tmp_path / "run", "L1/xfs/seq/read", 2, {"jobs": [1]})
    assert name == "raw/L1-xfs-seq-read-2.json.gz"
    with gzip.open(tmp_path / "run" / name, "rt") as file:
        assert json.load(file) == {"jobs": [1]}
    # another repeat is beside it
    assert results.keep(tmp_path / "run", "L1/xfs/seq/read", 3, {}) == "raw/L1-xfs-seq-read-3.json.gz"


def test_runs_are_listed_newest_first_and_a_broken_one_is_named(pool: Path) -> None:
    for name in ("20260101-000000", "20260301-000000", "20260201-000000"):
        results.save(whole(unfinished(name, BenchState.DONE)))
    (results.directory("20260201-000000") / "run.json").write_text("{")
    (results.home() / "20260401-000000").mkdir()
    (results.home() / "other").mkdir()
    assert results.ids() == ["20260301-000000", "20260201-000000", "20260101-000000"]
    assert results.load("latest").id == "20260301-000000"
    listing = results.listing()
    assert ([summary.id for summary in listing.runs], listing.broken) == (
        ["20260301-000000", "20260101-000000"],
        ["20260201-000000"],
    )
    with pytest.raises(BadInput, match="there is no run 20260401-000000: `millrace bench list`"):
        results.load("20260401-000000")


def test_a_line_of_the_list_counts_what_was_measured(pool: Path) -> None:
    made = whole(unfinished("20260101-000000", BenchState.STOPPED)).model_copy(
        update={"ended": "x", "reason": "enough"}
    )
    skipped = waiting("L2/smb/rand/read").model_copy(update={"state": BenchState.SKIPPED})
    summary = results.summary(made.model_copy(update={"rungs": [*made.rungs, skipped], "labels": ["degraded"]}))
    assert summary.model_dump(exclude={"headlines"}, exclude_defaults=True) == {
        "id": "20260101-000000",
        "started": "2026-01-01T00:00:00+00:00",
        "ended": "x",
        "state": "stopped",
        "reason": "enough",
        "mode": "quick",
        "layers": ["L1", "L2"],
        "profiles": ["seq", "rand"],
        "labels": ["degraded"],
        "workload_hash": "0",
        "done": 1,
        "rungs": 2,
    }
    assert [headline.rung for headline in summary.headlines] == ["L1/xfs/seq/read"]


def test_a_headline_is_the_best_of_the_highest_layer() -> None:
    made = run(
        waiting("L1/xfs/seq/write"),
        done("L0/drives/seq/read", 9e9),
        done("L1/xfs/seq/read", 5e9),
        done("L2/nfs-tcp/seq/read", 2e9),
        done("L2/smb/seq/read", 3e9),
        done("L2/nfs-rdma/seq/read", 1e9),
        done("L1/xfs/rand/read", operations=700),
        done("L1/xfs/fsync/fsync", operations=50),
    )
    assert [(headline.rung, headline.name, headline.value, headline.unit) for headline in results.headlines(made)] == [
        ("L2/smb/seq/read", "seq read", 3e9, "bytes/s"),
        ("L1/xfs/rand/read", "rand read", 700, "operations/s"),
        ("L1/xfs/fsync/fsync", "fsync fsync", 50, "operations/s"),
    ]
    nothing = done("L1/xfs/seq/read").model_copy(update={"series": []})
    assert [headline.rung for headline in results.headlines(run(nothing, done("L1/xfs/rand/read")))] == [
        "L1/xfs/rand/read"
    ]
