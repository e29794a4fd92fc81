# SPDX-License-Identifier: Apache-2.0
"""fio gets the right job, is listened to while it runs, and ended when it must."""

import os
import stat
import time
from pathlib import Path
from threading import Event, Thread

import pytest

from millrace.measure.bench.plan.job import FioJob, Target, job_file
from millrace.measure.bench.plan.sizes import Files, sizes
from millrace.measure.bench.plan.steps import planned_steps
from millrace.measure.bench.plan.workloads import WORKS, Work, works
from millrace.measure.bench.result.choices import BenchProfile
from millrace.measure.bench.result.fio_output import RepeatOutcome
from millrace.measure.bench.run.local import Local, RepeatStopped
from millrace.system.errors import Failed
from millrace.system.text import MIB
from millrace_client import kvcache
from tests.unit.measure.bench.sites import request, site

SAMPLES = Path(__file__).parent / "samples"


def job(work: Work, directory: Path, **more: object) -> FioJob:
    files = Files(1, MIB, MIB)
    return FioJob(
        **{"work": work, "target": Target(directory=directory), "jobs": 2, "files": files, "seconds": 1, **more}
    )  # type: ignore[arg-type]


def options(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


@pytest.fixture
def local(tmp_path: Path) -> Local:
    (tmp_path / "cwd").mkdir()
    return Local(tmp_path, Event(), user=None, program=str(tmp_path / "fio"))


def fio(local: Local, script: str) -> None:
    """A fio that behaves like this shell script."""
    path = Path(local.program)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_the_nfs_engine_is_never_used_for_what_must_be_durable() -> None:
    # facts: it has no sync, and its writes are not committed
    assert not [work.name for work in WORKS if work.engine == "nfs"]
    synced = [work for work in WORKS if {"fsync", "end_fsync"} & set(work.options)]
    assert {work.engine for work in synced} <= {"psync", "libaio"}


def test_a_device_job_has_a_section_a_drive_called_by_its_serial() -> None:
    (step, *_) = planned_steps(request(profiles=["seq"], layers=["L0"]), site())
    named = tuple(zip(step.names, step.devices, strict=True))
    text = job_file(FioJob(step.work, Target(devices=named), len(named), Files(1, MIB, MIB), 5))
    assert "[SN003]\nfilename=/dev/nvme3n1\n" in text
    assert options(text)["rw"] == "read"
    assert "directory" not in text
    assert "size=" not in text


def test_a_written_drive_keeps_its_ends() -> None:
    steps = planned_steps(request(profiles=["seq"], layers=["L0"], write_drives=["BLANK1"]), site())
    (write,) = [step for step in steps if step.work.writes]
    blank = Target(devices=(("BLANK1", "/dev/nvme20n1"),), write_devices=True, offset=64 * MIB)
    found = options(job_file(FioJob(write.work, blank, 1, Files(1, 512 * MIB, 512 * MIB), 5)))
    assert (int(found["offset"]), int(found["size"])) == (64 * MIB, 512 * MIB)


def test_a_checkpoint_is_eight_ranks_synced_at_the_end(tmp_path: Path) -> None:
    measure = sizes(request(mode="full"), 10 << 40, 64 << 30, 16)
    (save, load) = works([BenchProfile.CHECKPOINT])
    found = options(job_file(job(save, tmp_path, jobs=8, files=measure.files(save), seconds=None)))
    assert (found["numjobs"], found["ioengine"], found["end_fsync"]) == ("8", "psync", "1")
    assert "runtime" not in found
    assert options(job_file(job(load, tmp_path)))["invalidate"] == "1"


def test_a_layout_writes_the_files_and_nothing_else(tmp_path: Path) -> None:
    found = options(job_file(job(works([BenchProfile.SEQ])[0], tmp_path, create_only=True)))
    assert found["create_only"] == "1"
    assert "runtime" not in found


def test_progress_is_reported_while_fio_runs(local: Local, tmp_path: Path) -> None:
    fio(local, f"cat {SAMPLES}/status-interval.json")
    seen: list[RepeatOutcome] = []
    found = local.run(job(works([BenchProfile.MIXED])[0], tmp_path), seen.append)
    assert len(seen) >= 2
    assert seen[-1].flows["read"].bytes == found.flows["read"].bytes
    assert found.raw["jobs"]


def test_a_drive_that_is_only_read_is_protected_twice(local: Local, tmp_path: Path) -> None:
    fio(local, f'echo "$@" > {tmp_path}/said; cat {SAMPLES}/status-interval.json')
    (step, *_) = planned_steps(request(profiles=["seq"], layers=["L0"]), site())
    local.run(FioJob(step.work, Target(devices=(("A", "/dev/null"),)), 1, Files(1, MIB, MIB), 1))
    assert "--readonly" in (tmp_path / "said").read_text()


def test_fio_that_fails_is_one_sentence(local: Local, tmp_path: Path) -> None:
    fio(local, "echo 'fio: engine libaio not loadable' >&2; exit 1")
    with pytest.raises(Failed, match=r"fio ended without a report \(status 1\): engine libaio not loadable"):
        local.run(job(works([BenchProfile.SEQ])[0], tmp_path))


def test_a_stop_ends_fio_within_seconds(local: Local, tmp_path: Path) -> None:
    fio(local, f"echo $$ > {tmp_path}/pid; exec sleep 600")
    caught: list[BaseException] = []

    def measure() -> None:
        try:
            local.run(job(works([BenchProfile.SEQ])[0], tmp_path))
        except RepeatStopped as error:
            caught.append(error)

    thread = Thread(target=measure)
    thread.start()
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.01)
    local.stop.set()
    thread.join(10)
    assert caught
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_the_own_load_speaks_as_fio_does(local: Local, tmp_path: Path) -> None:
    work, *_ = works([BenchProfile.KVCACHE])
    seen: list[RepeatOutcome] = []
    # isolated mode would not find a package that is not installed
    local.environment["PYTHONPATH"] = str(Path(__file__).parents[4] / "tools")
    local.isolated = False
    outcome = local.run(job(work, tmp_path, jobs=1, files=Files(3, 65536, 65536), seconds=1.2), seen.append)
    assert seen
    assert outcome.flows["read"].count > outcome.flows["write"].count > 0
    assert outcome.flows["read"].bytes == outcome.flows["read"].count * 65536
    latency = outcome.flows["write"].histogram.latency("write")
    assert latency is not None and latency.low <= latency.p50 <= latency.p99


def test_the_own_load_writes_through_no_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("somebody's")
    (tmp_path / "files").mkdir()
    (tmp_path / "files/f.0.0").symlink_to("../precious")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        kvcache.main([str(tmp_path / "files"), "1", "1", "4096", "1"])
    assert (tmp_path / "precious").read_text() == "somebody's"


def test_blocks_in_memory_are_not_read_and_not_counted(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    job = kvcache.Job(tmp_path / "files", 0, files=8, size=4096, tier=100)
    # a quarter of the files at most, or nothing would be read
    paths = job.paths
    assert [job._use(path) for path in (paths[0], paths[1], paths[0], paths[2], paths[1])] == [
        False,
        False,
        True,
        False,
        False,
    ]
    without = kvcache.Job(tmp_path / "files", 0, files=8, size=4096)
    assert [without._use(path) for path in (paths[0], paths[0])] == [False, False]
