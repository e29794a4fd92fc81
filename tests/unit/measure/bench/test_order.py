# SPDX-License-Identifier: Apache-2.0
"""A run is started by an order."""

import os
from pathlib import Path
from typing import Any

import pytest

from millrace.measure.bench.plan.prepare import PreparedRun
from millrace.measure.bench.plan.sizes import sizes
from millrace.measure.bench.plan.steps import planned_steps
from millrace.measure.bench.result import live
from millrace.measure.bench.result import store as results
from millrace.measure.bench.result.model import BenchState
from millrace.measure.bench.result.outputs import BenchProgress
from millrace.measure.bench.run import guard, order
from millrace.measure.bench.run.bench_job import BenchOrder
from millrace.system import paths
from millrace.system.documents import read_model
from millrace.system.errors import Failed, Refused
from millrace.system.jobs import job_paths
from millrace.system.run import Result
from tests.fakes.jobs import JOBS, JobManager
from tests.fakes.tools import stand_in
from tests.unit.measure.bench.sites import GIB, request, site


class Systemd(JobManager):
    """Starts the unit of the benchmark, and knows no client."""

    TAKEN = (
        *JOBS,
        "systemctl set-property --runtime millrace-bench.service DeviceAllow=*",
        "smbstatus --json",
        "systemd-detect-virt --vm",
    )


@pytest.fixture
def systemd(pool: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    tools = Systemd("millrace-bench.service")
    stand_in(monkeypatch, tools)
    monkeypatch.setattr(order, "invoking_user", lambda: "anna")
    boot = paths.ROOT / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text("5f0e\n")
    return tools


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("bench", "already running: `millrace bench follow` watches it"),
        ("tuner", "the tuner is running; wait for it, or stop it: millrace tuner stop"),
        ("erase", "a drive is being erased"),
        ("reflink@clone", "a share is being cloned"),
        ("update", "an update is being installed"),
    ],
)
def test_a_refused_start_leaves_nothing(
    systemd: Systemd, monkeypatch: pytest.MonkeyPatch, unit: str, words: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("millrace.measure.bench.plan.site.site", site)
    systemd.others = {f"millrace-{unit}.service": "active"}
    with pytest.raises(Refused, match="free"):
        order.ready(request(size=1 << 50))
    with pytest.raises(Refused, match=words):
        order.ready(request())
    # one that began between the decision and the start
    with pytest.raises(Refused, match=words):
        order.start(prepared(), [])
    assert not job_paths.bench_order_file().exists() and live.latest() is None
    assert not results.home().exists()


def prepared(**wanted: Any) -> PreparedRun:
    asked, here = request(**wanted), site()
    return PreparedRun(asked, here, sizes(asked, 1 << 40, GIB, 8), planned_steps(asked, here))


def test_a_start_writes_the_order_and_the_first_line_of_progress(systemd: Systemd) -> None:
    live.begin()
    live.write(BenchProgress(run="before", time=0, state=BenchState.DONE, what="all is measured"))
    ready = prepared(profiles=["seq"], layers=["L0"], write_drives=["BLANK1"])
    started = order.start(ready, ["degraded"])
    wanted = BenchOrder(run=started.run, by="anna", request=ready.request, labels=["degraded"])
    assert read_model(paths.ROOT / "run/millrace/bench/order.json", BenchOrder) == wanted
    assert (started.unit, started.estimate) == ("millrace-bench.service", ready.estimate)
    # three steps: all drives, the blank one read, and written
    (line,) = job_paths.bench_progress_file().read_text().splitlines()
    first = BenchProgress(run=started.run, time=0, state=BenchState.RUNNING, what="starting", steps=3)
    assert BenchProgress.model_validate_json(line) == first
    # only what is written may be opened for writing
    assert systemd.called("systemctl set-property") + systemd.called("systemctl start") == [
        "systemctl set-property --runtime millrace-bench.service DeviceAllow=/dev/nvme20n1 rwm",
        "systemctl start --no-block millrace-bench.service",
    ]


def test_a_unit_that_does_not_start_leaves_no_order(systemd: Systemd) -> None:
    systemd.broken["systemctl start"] = Result(1, "", "Failed to start: Unit is masked.\n")
    with pytest.raises(Failed, match=r"^millrace-bench\.service does not start: .*Unit is masked"):
        order.start(prepared(profiles=["seq"]), [])
    assert not job_paths.bench_order_file().exists()


def test_an_estimate_has_what_is_in_the_way(systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.measure.bench.plan.site.site", site)
    monkeypatch.setattr(guard, "check", lambda *_: guard.GuardVerdict(obstacles=["a client is connected"]))
    found = order.estimate(request(profiles=["seq"], layers=["L1"]))
    assert found.obstacles == ["a client is connected"]
    assert [rung.id for rung in found.rungs] == ["L1/array/seq/read", "L1/xfs/seq/read", "L1/xfs/seq/write"]


def test_a_run_that_may_start_has_its_labels(systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("millrace.measure.bench.plan.site.site", site)
    monkeypatch.setattr(guard, "check", lambda *_: guard.GuardVerdict(labels=["emulated"]))
    found, labels = order.ready(request(profiles=["seq"]))
    assert labels == ["emulated"] and found.request == request(profiles=["seq"])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Refused):
        order.ready(request(profiles=["seq"]))
