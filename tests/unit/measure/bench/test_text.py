# SPDX-License-Identifier: Apache-2.0
"""Runs on a terminal."""

from millrace.measure.bench.report import text
from millrace.measure.bench.result.ceilings import with_ceilings
from millrace.measure.bench.result.environment import Environment
from millrace.measure.bench.result.model import BenchRun, BenchState, Provenance
from tests.unit.measure.bench.rungs import done
from tests.unit.measure.bench.sites import request, site


def measured(**more: object) -> BenchRun:
    here = site()
    names = ("L0/drives/seq/read", "L1/xfs/seq/read", "L2/nfs-tcp/fsync/fsync")
    return BenchRun.model_construct(
        id="20260101-000000",
        started="",
        state=BenchState.DONE,
        reason=None,
        request=request(),
        labels=more.get("labels", []),
        provenance=Provenance(version="1", workload_hash="0", fio="fio-3.41", started_by="admin"),
        environment=Environment.model_construct(),
        rungs=with_ceilings([done(name, 5e9) for name in names], here.inventory, here.arrays, False),
    )


def test_every_rung_has_its_line_and_its_sentence() -> None:
    said = "\n".join(text.run(measured()))
    assert "L2/nfs-tcp/fsync/fsync" in said
    assert "5 GB/s" in said
    assert "L1/xfs/seq/read: Reached 100% of L0/drives/seq/read" in said


def test_an_emulated_run_shows_no_bandwidth() -> None:
    said = "\n".join(text.run(measured(labels=["emulated"])))
    assert "GB/s" not in said
    assert "100%" in said
    assert text.EMULATED in said


def test_mlperf_is_named_only_to_say_that_this_is_none_of_it() -> None:
    said = "\n".join(text.run(measured()))
    assert said.count("MLPerf") == said.count("not an MLPerf result") == 1
