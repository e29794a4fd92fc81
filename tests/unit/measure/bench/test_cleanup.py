# SPDX-License-Identifier: Apache-2.0
"""After a crash, or a power cut, everything of the benchmark goes and nothing else."""

import os
from pathlib import Path

import pytest

from millrace.measure.bench.result import live
from millrace.measure.bench.result import store as results
from millrace.measure.bench.result.model import BenchState
from millrace.measure.bench.result.outputs import BenchProgress
from millrace.measure.bench.run import cleanup
from millrace.measure.bench.run.bench_job import JOB, ORDER, BenchOrder
from millrace.serve.share import nfs
from millrace.system import paths
from millrace.system.errors import Refused
from millrace.system.jobs import record
from millrace.system.jobs.job import KILLED
from millrace.system.run import Result
from tests.unit.measure.bench.runs import unfinished, whole
from tests.unit.measure.bench.sites import request
from tests.unit.measure.bench.tools import Tools

EXPORTS = (
    "/srv/pool/data  10.0.0.0/24(sync,wdelay,fsid=1)\n/srv/pool/.millrace-bench  127.0.0.1(sync,no_wdelay,fsid=2)\n"
)


def test_after_a_crash_everything_of_the_benchmark_goes_and_nothing_else(pool: Path) -> None:
    (pool / ".millrace-bench/common").mkdir(parents=True)
    (pool / ".millrace-bench/common/f.0.0").write_text("x")
    os.symlink(pool / "data", pool / ".millrace-bench/common/link")
    results.save(whole(unfinished("20260101-000000", BenchState.RUNNING)))
    file = paths.ROOT / nfs.BENCH_EXPORTS
    file.parent.mkdir(parents=True)
    file.write_text("/srv/pool/.millrace-bench 127.0.0.1(rw)\n")
    tools = Tools({"exportfs -s": Result(0, EXPORTS, "")})
    leftovers = cleanup.clean_up(tools)
    assert leftovers == [
        "the export 127.0.0.1:/srv/pool/.millrace-bench",
        "files in /srv/pool",
        "run 20260101-000000 is marked as interrupted",
    ]
    assert [call for call in tools.calls if call[:2] == ["exportfs", "-u"]] == [
        ["exportfs", "-u", "127.0.0.1:/srv/pool/.millrace-bench"]
    ]
    assert os.listdir(pool) == ["data"] and not file.exists()
    assert (pool / "data/file").read_text() == "somebody's"


def test_localio_is_switched_back_after_a_run_that_was_killed(pool: Path) -> None:
    switch = paths.ROOT / "sys/module/nfs/parameters/localio_enabled"
    switch.parent.mkdir(parents=True)
    switch.write_text("N\n")
    (paths.run_dir() / "bench").mkdir(parents=True, exist_ok=True)
    (paths.run_dir() / "bench/localio").write_text("Y\n")
    assert cleanup.clean_up(Tools()) == ["the setting of LOCALIO"]
    assert (switch.read_text(), cleanup.clean_up(Tools())) == ("Y\n", [])


def test_an_interrupted_run_keeps_what_it_had_measured(pool: Path) -> None:
    results.save(whole(unfinished("20260101-000000", BenchState.RUNNING)))
    live.begin()
    live.write(BenchProgress(run="20260101-000000", time=1, state=BenchState.RUNNING, what="L1/xfs/seq/write"))
    cleanup.clean_up(Tools())
    last = live.latest()
    assert last is not None and last.state is BenchState.INTERRUPTED
    (kept,) = results.listing().runs
    assert (kept.state, kept.done, kept.reason) == (BenchState.INTERRUPTED, 1, KILLED)
    states = [rung.state for rung in results.load("latest").rungs]
    assert states == [BenchState.DONE, BenchState.INTERRUPTED]


def test_a_run_that_has_ended_stays_as_it_is(pool: Path) -> None:
    results.save(whole(unfinished("20260101-000000", BenchState.DONE)))
    assert cleanup.clean_up(Tools()) == []
    assert results.load("latest").state is BenchState.DONE


def test_an_empty_mount_point_is_left_alone(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pool / ".millrace-bench").mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda path: False)
    assert cleanup.clean_up(Tools()) == []
    assert (pool / ".millrace-bench").exists()


def test_nothing_is_swept_from_under_a_run(pool: Path) -> None:
    with JOB.alone(), pytest.raises(Refused, match="already running"):
        cleanup.clean_up(Tools())


def test_end_of_the_unit_ends_its_job_and_a_clean_up_by_hand_leaves_the_next_order(
    pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = paths.ROOT / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text("5f0e\n")
    record.begin("benchmark", "run 20260101-000000", "anna")
    ORDER.write(BenchOrder(run="20260101-000000", by="anna", request=request()))
    cleanup.clean_up(Tools())
    assert ORDER.get() is not None and record.load("benchmark").state == "running"  # type: ignore[union-attr]
    cleanup.sweep(Tools())
    assert ORDER.get() is not None
    monkeypatch.setenv("SERVICE_RESULT", "signal")
    cleanup.sweep(Tools())
    assert ORDER.get() is None and record.load("benchmark").state == "interrupted"  # type: ignore[union-attr]
