# SPDX-License-Identifier: Apache-2.0
"""The generator counts utilisation as published, and finds as many accelerators as the bandwidth feeds."""

import math
import mmap
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.measure.bench.plan.job import FioJob, Target, job_file, own_program
from millrace.measure.bench.plan.sizes import Files
from millrace.measure.bench.plan.workloads import works
from millrace.measure.bench.report import text
from millrace.measure.bench.result import figures, fio_output
from millrace.measure.bench.result.choices import BenchProfile
from millrace.measure.bench.result.model import DISCLAIMER, BenchRun
from millrace_client import au
from millrace_client.au import TRAININGS, Probe, Training
from tests.unit.measure.bench.rungs import done, waiting

SCRIPT = Path(au.__file__)
H100, B200, RETINANET = TRAININGS
GIGA = 1e9


# The formula


def test_the_first_step_does_not_count() -> None:
    # 10 s of start-up, then three steps of 0.3 s with waits of 0, 0.1 and 0.2 s
    steps = [(10.0, 0.3), (0.0, 0.3), (0.1, 0.3), (0.2, 0.3)]
    assert au.utilisation(steps, 10.3 + 0.9 + 0.3) == pytest.approx(100 * 0.9 / 1.2)
    assert au.utilisation(steps, 11.5, excluded=2) == pytest.approx(100 * 0.6 / 0.9)


def test_computing_counts_as_long_as_it_really_took() -> None:
    nominal, late = [(0.0, 0.3)] * 5, [(0.0, 0.3), *[(0.0, 0.33)] * 4]
    assert au.utilisation(nominal, 1.5) == pytest.approx(100)
    assert au.utilisation(late, 0.3 + 4 * 0.33) == pytest.approx(100)


def test_who_waits_for_the_slowest_is_not_busy() -> None:
    # at the barrier: part of the step, not of computing
    assert au.utilisation([(0.0, 0.3), *[(0.1, 0.3)] * 9], 0.3 + 9 * 0.4) == pytest.approx(75)


@pytest.mark.parametrize(
    ("training", "gigabytes"), [(H100, 2.859393), (B200, 5.701136), (RETINANET, 0.138555)], ids=str
)
def test_what_one_accelerator_needs(training: Training, gigabytes: float) -> None:
    assert training.need / GIGA == pytest.approx(gigabytes, abs=1e-6)


# The search, on a device that does what the closed form says


def ideal(training: Training, bandwidth: float, lengths: list[float] | None = None) -> Callable[[int, float], Probe]:
    def probe(count: int, seconds: float) -> Probe:
        if lengths is not None:
            lengths.append(seconds)
        wanted = count * training.need / training.floor
        part = min(1.0, bandwidth / wanted)
        return Probe(count, 100 * part, round(wanted * part * seconds), 1, seconds)

    return probe


@pytest.mark.parametrize("training", TRAININGS, ids=lambda one: f"{one.profile}-{one.accelerator}")
@pytest.mark.parametrize("bandwidth", [0.1, 2.859, 2.860, 5.701, 5.702, 10, 20, 45, 90])
def test_the_search_finds_the_closed_form(training: Training, bandwidth: float) -> None:
    found = au.search(training, ideal(training, bandwidth * GIGA), 30, 1000)
    assert found.count == math.floor(bandwidth * GIGA / training.need)
    assert found.best.count == max(1, found.count)
    assert len(found.probes) <= 4 + 2 * math.log2(found.count + 1)


def test_only_the_number_found_is_measured_in_full() -> None:
    lengths: list[float] = []
    found = au.search(H100, ideal(H100, 45 * GIGA, lengths), 30, 1000)
    assert found.count == 15
    assert [length for length in lengths if length == 30] == [30]
    assert lengths[-1] == 30


def test_more_than_a_host_can_feed_is_not_tried() -> None:
    found = au.search(H100, ideal(H100, 1000 * GIGA), 30, 8)
    assert (found.count, max(one.count for one in found.probes)) == (8, 8)


def test_number_of_accelerators_that_does_not_hold_is_dropped() -> None:
    def flattering(count: int, seconds: float) -> Probe:
        return ideal(H100, (45 if seconds < 30 else 40) * GIGA)(count, seconds)

    found = au.search(H100, flattering, 30, 1000)
    assert found.count == math.floor(40 * GIGA / H100.need)
    assert found.best.au >= 90


# The generator itself


@pytest.mark.parametrize("fed", [0.1, 3.5])
def test_a_device_of_so_many_bytes_a_second_keeps_so_many_busy(tmp_path: Path, fed: float) -> None:
    training = Training("test", "X", 1 << 16, 4, 0.1, 0.9, 2)
    files = [str(tmp_path / str(number)) for number in range(8)]
    for file in files:
        Path(file).write_bytes(bytes(1 << 16))
    # one device for all processes: a read may begin when those before it are through
    free = multiprocessing.get_context("fork").Value("d", 0.0)
    rate = fed * training.need

    def capped(path: str, memory: mmap.mmap) -> int:
        size = au.read_whole(path, memory)
        with free.get_lock():
            free.value = through = max(free.value, time.monotonic()) + size / rate
        time.sleep(max(0.0, through - time.monotonic()))
        return size

    outcome = au.search(training, lambda count, seconds: au.probe(training, files, count, seconds, capped), 1.0, 16)
    assert abs(outcome.count - math.floor(fed)) <= 1
    overfed = max(outcome.probes, key=lambda probe: probe.count)
    # what the device gives, whoever asks for more
    assert overfed.bandwidth == pytest.approx(rate, rel=0.25)
    assert overfed.au == pytest.approx(100 * 0.9 * fed / overfed.count, rel=0.25)


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-I", "-S", str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )


def test_it_speaks_as_fio_does(tmp_path: Path) -> None:
    (tmp_path / "f.0.0").write_bytes(os.urandom(1 << 20))
    done = run(str(tmp_path), "retinanet", "--count", "1", "--seconds", "0.1")
    assert (done.returncode, done.stderr) == (0, "")
    document = fio_output.final(done.stdout, 0, "")
    (job,) = document["jobs"]
    assert job["read"]["io_bytes"] == document["probe"]["bytes"] > 0
    assert 0 < document["probe"]["au"] <= 100


def test_nothing_to_read_is_one_sentence(tmp_path: Path) -> None:
    done = run(str(tmp_path), "unet3d")
    assert (done.returncode, done.stderr) == (1, "fio: there is no file to read\n")


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), RuntimeError("can't start new thread")], ids=str)
def test_one_that_fails_ends_everything(tmp_path: Path, error: Exception) -> None:
    def broken(path: str, memory: mmap.mmap) -> int:
        raise error

    with pytest.raises(OSError, match=str(error.args[-1])):
        au.probe(RETINANET, [str(tmp_path)], 3, 1, broken)


def test_more_than_a_host_can_start_ends_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def full(thread: threading.Thread) -> None:
        if threading.active_count() > 6:
            raise RuntimeError("can't start new thread")
        start(thread)

    def read(path: str, memory: mmap.mmap) -> int:
        return RETINANET.batch * RETINANET.sample

    monkeypatch.setattr(threading.Thread, "start", full)
    with pytest.raises(OSError, match="can't start new thread"):
        au.probe(RETINANET, [str(tmp_path)], 16, 1, read)


def test_an_accelerator_without_a_computation_time_is_wrong_usage(tmp_path: Path) -> None:
    done = run(str(tmp_path), "retinanet", "--accelerator", "H100")
    assert done.returncode == 2
    assert "H100 has no computation time for retinanet" in done.stderr


# In a run


def document(*counts: int) -> fio_output.RepeatOutcome:
    """A repeat that found so many H100 and B200."""
    found = [
        {"accelerator": one.accelerator, "count": count, "floor": one.floor, "au": 95.0 - count, "bandwidth": 1e9}
        for one, count in zip((H100, B200), counts, strict=True)
    ]
    text = au.document(7 * 146_600_628, 7, 0.323, accelerators=found)
    return fio_output.outcome(fio_output.final(text, 0, ""))


def test_a_rung_has_the_repeat_in_the_middle() -> None:
    rung = figures.completed(waiting("L1/xfs/unet3d/train"), [document(3, 1), document(5, 2), document(4, 1)], [], 9)
    assert [(one.accelerator, one.count, one.au, one.floor) for one in rung.accelerators] == [
        ("H100", 4, 91.0, 90.0),
        ("B200", 1, 94.0, 90.0),
    ]
    assert figures.with_training_figures(rung, "8b").accelerators == rung.accelerators
    assert rung.find("bandwidth", "read") is not None


def test_a_training_says_what_it_emulates_and_what_it_is_not() -> None:
    rung = waiting("L2/smb/unet3d/train")
    assert rung.workload.pattern.endswith("7 computed on for 0.323 s (H100), 7 computed on for 0.162 s (B200)")
    assert DISCLAIMER == "3D-U-Net-like load, DLIO-equivalent AU; not an MLPerf result"
    assert DISCLAIMER in (au.__doc__ or "")


def test_a_client_of_the_ladder_reads_the_files_that_fio_laid_out(tmp_path: Path) -> None:
    (work,) = [one for one in works([BenchProfile.RETINANET]) if one.operation == "train"]
    job = FioJob(work, Target(directory=tmp_path), 2, Files(3, 4096, 4096), 5)
    assert own_program(job, tmp_path / work.layout) == [
        *("au", str(tmp_path / "retinanet"), "retinanet", "--seconds", "5")
    ]
    assert "rw=read\n" in job_file(FioJob(work, job.target, 2, job.files, None, create_only=True))


def test_text_has_the_number_of_accelerators_and_its_source() -> None:
    rung = figures.completed(waiting("L1/xfs/unet3d/train"), [document(3, 1)] * 3, [], 9)
    formula = figures.with_training_figures(done("L1/xfs/unet3d/read", 45e9), "8b")
    assert text.accelerators(BenchRun.model_construct(rungs=[formula, rung])) == [
        "L1/xfs/unet3d/read keeps busy (at least 90 %): 15 H100 (retired type, to compare) by the formula, "
        "7 B200 by the formula",
        "L1/xfs/unet3d/train keeps busy (at least 90 %): 3 H100 (retired type, to compare) at 92.0 % utilisation, "
        "1 B200 at 94.0 % utilisation",
    ]
