# SPDX-License-Identifier: Apache-2.0
"""A run lives in a unit that may write the drives that were named and no other, and is followed to its end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.measure.bench.result import live
from millrace.measure.bench.result.model import BenchState
from millrace.measure.bench.result.outputs import BenchProgress
from millrace.measure.bench.run import bench_job
from millrace.measure.bench.run.bench_job import JOB
from millrace.system.jobs import job_paths
from tests.fakes.jobs import JOBS, JobManager
from tests.unit.measure.bench.sites import request

NAME = "millrace-bench.service"


class Systemd(JobManager):
    TAKEN = (*JOBS, f"systemctl revert {NAME}", f"systemctl set-property --runtime {NAME} ...")


@pytest.fixture
def systemd(root: Path) -> Systemd:
    tools = Systemd(NAME)
    tools.started = True
    return tools


def line(run: str, what: str, state: BenchState = BenchState.RUNNING) -> BenchProgress:
    return BenchProgress(run=run, time=1, state=state, what=what, progress=0.25, seconds_left=30, bandwidth=2e9)


def test_run_that_writes_no_drive_is_allowed_none(systemd: Systemd) -> None:
    bench_job.allow_writing([], systemd)
    assert systemd.calls == []


def test_each_drive_that_is_written_is_allowed_once(systemd: Systemd) -> None:
    bench_job.allow_writing(["/dev/sda", "/dev/sdb", "/dev/sda"], systemd)
    rules = ["DeviceAllow=/dev/sda rwm", "DeviceAllow=/dev/sdb rwm"]
    assert systemd.calls == [["systemctl", "set-property", "--runtime", NAME, *rules]]


def test_permission_of_an_earlier_run_is_removed(systemd: Systemd, root: Path) -> None:
    (root / f"run/systemd/system.control/{NAME}.d").mkdir(parents=True)
    bench_job.allow_writing([], systemd)
    assert systemd.calls == [["systemctl", "revert", NAME]]


@pytest.mark.parametrize("other", ["scrub", "drive"])
def test_run_on_a_degraded_server_starts_beside_the_jobs_that_only_affect_its_results(
    systemd: Systemd, other: str
) -> None:
    systemd.others = {f"millrace-{other}.service": "active"}
    (round_of := bench_job.paths.scrub_file()).parent.mkdir(parents=True)
    round_of.write_text('{"round": {}, "stopped": null}')
    assert JOB.obstacle(systemd, bench_job.allowed(request())) is not None
    assert JOB.obstacle(systemd, bench_job.allowed(request(degraded=True))) is None


def test_run_is_followed_until_it_has_cleaned_up(systemd: Systemd) -> None:
    live.begin()
    live.write(line("a", "L1/xfs/seq/read"))
    systemd.states = ["active", "active", "deactivating", "inactive"]
    more: Iterator[list[BenchProgress]] = iter(
        [[line("a", "L1/xfs/seq/write"), line("a", "fsync")], [line("a", "all is measured", BenchState.DONE)], []]
    )

    def pause(_: float) -> None:
        for one in next(more):
            live.write(one)

    names = [progress.what for progress in bench_job.follow(systemd, pause)]
    assert names == ["L1/xfs/seq/read", "L1/xfs/seq/write", "fsync", "all is measured"]
    assert list(more) == []


def test_run_that_was_killed_gets_a_last_line(systemd: Systemd) -> None:
    live.begin()
    live.write(line("a", "L1/xfs/seq/read"))
    first, last = bench_job.follow(systemd)
    assert (first.state, last.state) == (BenchState.RUNNING, BenchState.INTERRUPTED)
    assert last.what == "the run ended without a message"


def test_run_that_begins_meanwhile_is_not_followed_as_the_same(systemd: Systemd) -> None:
    live.begin()
    live.write(line("a", "all is measured", BenchState.DONE))
    systemd.states = ["active"]

    def pause(_: float) -> None:
        live.begin()
        live.write(line("b", "starting, with more words than the line that was there"))

    assert [one.run for one in bench_job.follow(systemd, pause)] == ["a"]


def test_line_that_is_being_written_is_read_when_it_is_complete(root: Path) -> None:
    lines = live.Lines()
    assert lines.new() is None and live.latest() is None
    live.begin()
    whole = line("a", "seq").model_dump_json()
    with job_paths.bench_progress_file().open("a") as out:
        out.write(whole[:20])
        out.flush()
        assert lines.new() is None
        out.write(whole[20:] + "\n")
    assert lines.new() == [line("a", "seq")] and lines.new() is None


def test_list_of_jobs_shows_how_far_a_run_is(root: Path) -> None:
    assert JOB.glance() is None
    live.begin()
    live.write(line("a", "L1/xfs/seq/read"))
    assert JOB.glance() == ("L1/xfs/seq/read", 0.25, 30, 2_000_000_000)
    live.write(line("a", "all is measured", BenchState.DONE))
    assert JOB.glance() is None
