# SPDX-License-Identifier: Apache-2.0
"""Clients have the benchmark's directory mounted while root prepares it: what they put there changes nothing else."""

import os
import pwd
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from millrace.measure.bench.plan.job import FioJob, Target
from millrace.measure.bench.plan.sizes import Files, Sizes
from millrace.measure.bench.plan.steps import RungStep, pending, planned_steps
from millrace.measure.bench.plan.workloads import works
from millrace.measure.bench.result.choices import BenchLayer, BenchProfile
from millrace.measure.bench.result.fio_output import RepeatOutcome
from millrace.measure.bench.result.model import BenchState, Moment, Rung
from millrace.measure.bench.run import space
from millrace.measure.bench.run.local import Live
from millrace.measure.bench.run.step_runner import StepRunner
from millrace.system.errors import Failed
from millrace.system.trees import nofollow
from tests.unit.measure.bench.rungs import repeat
from tests.unit.measure.bench.sites import request, site

SIZES = Sizes(seconds=1, warm=1, repeats=1, budget=1 << 20, jobs=2, checkpoint="8b")


class Quiet:
    """Lays nothing out."""

    def run(self, job: FioJob, live: Live | None = None) -> RepeatOutcome:
        return RepeatOutcome()


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A share, beside the benchmark's directory."""
    share = tmp_path / "data"
    share.mkdir(mode=0o755)
    (share / "f.0.0").write_text("somebody's")
    (tmp_path / "bench").mkdir()
    return share


@pytest.fixture
def owners(monkeypatch: pytest.MonkeyPatch) -> dict[int, tuple[int, int]]:
    """Who was given what, by inode; a change by name is none."""
    given: dict[int, tuple[int, int]] = {}
    monkeypatch.setattr(os, "fchown", lambda fd, *owner: given.update({os.fstat(fd).st_ino: owner}))

    def chown(*_: object, **__: object) -> None:
        raise AssertionError("by name")

    monkeypatch.setattr(os, "chown", chown)
    who = pwd.struct_passwd(("x", "x", 4242, 4243, "", "/", "/bin/false"))
    monkeypatch.setattr(pwd, "getpwnam", lambda name: who)
    return given


def runner(victim: Path) -> StepRunner:
    return StepRunner(SIZES, victim.parent / "bench", victim.parent, None, user="x")  # type: ignore[arg-type]


def job(profile: BenchProfile, operation: str) -> FioJob:
    (work,) = [one for one in works([profile]) if one.operation == operation]
    return FioJob(work, Target(directory=Path("/mnt")), 2, Files(2, 4096, 4096), 1)


ALL = [
    (BenchProfile.META, "create"),
    (BenchProfile.META, "stat"),
    (BenchProfile.META, "delete"),
    (BenchProfile.CHECKPOINT, "save"),
    (BenchProfile.SEQ, "read"),
]


def contents(share: Path) -> dict[str, str]:
    return {one.name: one.read_text() for one in share.iterdir()}


@pytest.mark.parametrize(("profile", "operation"), ALL)
def test_a_link_in_the_place_of_its_directory_is_one_sentence(
    victim: Path, owners: dict[int, tuple[int, int]], profile: BenchProfile, operation: str
) -> None:
    doing = job(profile, operation)
    (victim.parent / "bench" / doing.work.layout).symlink_to(victim)
    for act in (lambda: runner(victim)._lay_out(doing, 0, Quiet()), lambda: runner(victim)._prepare_repeat(doing)):
        with pytest.raises((Failed, OSError), match=r"is not a directory|cannot be opened|symbolic link"):
            act()
    assert contents(victim) == {"f.0.0": "somebody's"} and owners == {}


@pytest.mark.parametrize("operation", ["stat", "delete"])
@pytest.mark.parametrize("target", ["../../data/f.0.0", "../../data/new"])
def test_a_link_in_the_place_of_a_file_is_not_followed(
    victim: Path, owners: dict[int, tuple[int, int]], operation: str, target: str
) -> None:
    doing, where = job(BenchProfile.META, operation), victim.parent / "bench/meta"
    runner(victim)._lay_out(doing, 0, Quiet())
    (where / "f.0.0").symlink_to(target)
    runner(victim)._prepare_repeat(doing)
    assert contents(victim) == {"f.0.0": "somebody's"}
    assert (where / "f.0.0").is_symlink()
    # the others are there, each its own and of the benchmark's user
    rest = {where / name for name in ("f.0.1", "f.1.0", "f.1.1")}
    assert {path for path in where.iterdir() if not path.is_symlink()} == rest
    assert all(path.stat().st_size == 4096 for path in rest)
    given = {path.stat().st_ino for path in (*rest, where)}
    assert set(owners) == given and set(owners.values()) == {(4242, 4243)}


def test_files_that_are_to_be_gone_are_gone_and_their_targets_stay(
    victim: Path, owners: dict[int, tuple[int, int]]
) -> None:
    doing, where = job(BenchProfile.CHECKPOINT, "save"), victim.parent / "bench/checkpoint"
    runner(victim)._lay_out(doing, 0, Quiet())
    (where / "f.0.0").symlink_to(victim / "f.0.0")
    (where / "f.1.0").write_text("x")
    runner(victim)._prepare_repeat(doing)
    assert list(where.iterdir()) == []
    assert contents(victim) == {"f.0.0": "somebody's"}


def test_a_directory_that_is_made_new_holds_nothing(victim: Path, owners: dict[int, tuple[int, int]]) -> None:
    doing, where = job(BenchProfile.META, "create"), victim.parent / "bench/meta"
    runner(victim)._lay_out(doing, 0, Quiet())
    (where / "below").symlink_to(victim)
    runner(victim)._prepare_repeat(doing)
    assert list(where.iterdir()) == []
    assert where.stat().st_mode & 0o7777 == 0o700
    assert contents(victim) == {"f.0.0": "somebody's"}


def test_dropping_the_cache_waits_for_nothing_and_leaves_the_directory_at_no_link(
    victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = victim.parent / "bench"
    os.mkfifo(where / "f.0.0")
    (where / "f.0.1").symlink_to(victim / "f.0.0")
    (where / "out").symlink_to(victim)
    (where / "sub").mkdir()
    (where / "sub/f.1.0").write_text("x")
    seen: list[int] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda fd, *_: seen.append(os.fstat(fd).st_ino))

    def drop() -> None:
        with nofollow.directory(where) as at, socket.socket(socket.AF_UNIX) as door:
            door.bind(str(where / "s"))
            space.drop_cached(at)

    thread = Thread(target=drop, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert seen == [(where / "sub/f.1.0").stat().st_ino]


Plant = Callable[[Path], None]


@pytest.mark.parametrize("plant", [lambda path: path.symlink_to("data"), lambda path: path.write_text("x"), os.mkfifo])
def test_what_is_no_directory_is_not_opened_as_one(victim: Path, plant: Plant) -> None:
    plant(victim.parent / "planted")
    with (
        nofollow.directory(victim.parent) as at,
        pytest.raises(Failed, match="planted is not a directory"),
        nofollow.directory("planted", at),
    ):
        raise AssertionError
    with nofollow.directory(victim.parent) as at, pytest.raises(Failed, match="planted is not a directory"):
        nofollow.make_directory("planted", 0o700, at, (1, 1))


class Watched:
    """A monitor that notes what it is told and has one moment."""

    def __init__(self) -> None:
        self.notes: list[Any] = []

    def rung(self, mount: str | None) -> None:
        self.notes.append(("rung", mount))

    def record(self, on: bool) -> None:
        self.notes.append(("record", on))

    def moments(self) -> list[Moment]:
        return [Moment(at=1, read=7.0)]


class Measures:
    """Notes its jobs among what the monitor notes, and reports `found` of each that is not a layout."""

    def __init__(self, notes: list[Any], found: RepeatOutcome | Failed) -> None:
        self.notes, self.found, self.jobs = notes, found, []  # type: ignore[var-annotated]

    def run(self, job: FioJob, live: Live | None = None) -> RepeatOutcome:
        self.jobs.append(job)
        self.notes.append("laid out" if job.create_only else f"ran for {job.seconds} s")
        if live:
            live(RepeatOutcome())
        if isinstance(self.found, Failed):
            raise self.found
        return self.found


def step(name: str, **wanted: Any) -> RungStep:
    (found,) = [one for one in planned_steps(request(**wanted), site()) if one.id == name]
    return found


def measured(tmp_path: Path, doing: RungStep, target: Target, outcome: RepeatOutcome | Failed, repeats: int = 2) -> Any:
    """A rung whose step ran, with everything that happened in order, and its jobs."""
    (tmp_path / "bench").mkdir()
    measure = replace(SIZES, seconds=9, warm=3, repeats=repeats, budget=1 << 30)
    watched = Watched()
    measurer = Measures(watched.notes, outcome)
    of = StepRunner(measure, tmp_path / "bench", tmp_path / "run", watched, user=None)  # type: ignore[arg-type]

    def report(number: int, now: RepeatOutcome | None) -> None:
        watched.notes.append(("told", number, now is not None))

    made: Rung | None = None
    try:
        made = of.run(pending(doing, measure), doing, target, measurer, report)
    except Failed as error:
        assert error is outcome
    return made, watched.notes, measurer.jobs


def test_a_rung_is_laid_out_warmed_up_and_measured_in_repeats(tmp_path: Path) -> None:
    target = Target(directory=tmp_path / "mounted", mount="/run/mounted")
    doing = step("L1/xfs/seq/read", layers=["L1"], profiles=["seq"])
    made, notes, jobs = measured(tmp_path, doing, target, repeat(bandwidth=5e9))
    begun = ["laid out", ("rung", "/run/mounted"), ("told", 0, False), "ran for 3 s"]
    each = [[("told", n, False), ("record", True), "ran for 9 s", ("told", n, True), ("record", False)] for n in (1, 2)]
    assert notes == [*begun, *each[0], *each[1]]
    layout, warm, *repeats = jobs
    files = Files(1, 512 << 20, 512 << 20)
    # laid out through the pool itself, measured through the mount
    assert layout == FioJob(doing.work, Target(directory=tmp_path / "bench"), 2, files, None, create_only=True)
    assert warm == FioJob(doing.work, target, 2, files, 3)
    assert repeats == [FioJob(doing.work, target, 2, files, 9)] * 2
    assert (made.state, made.find("bandwidth").values) == (BenchState.DONE, [5e9, 5e9])
    assert made.timeline == [Moment(at=1, read=7.0)]
    assert made.raw == ["raw/L1-xfs-seq-read-1.json.gz", "raw/L1-xfs-seq-read-2.json.gz"]
    assert all((tmp_path / "run" / name).is_file() for name in made.raw)
    assert 0 <= made.seconds < 60


def test_a_repeat_that_fails_is_not_recorded_any_longer(tmp_path: Path) -> None:
    doing = step("L1/xfs/kvcache/stress", layers=["L1"], profiles=["kvcache"])
    doing = replace(doing, work=replace(doing.work, warmed=False))
    made, notes, _ = measured(tmp_path, doing, Target(directory=tmp_path), Failed("no"))
    assert made is None
    assert notes == [
        ("rung", None),
        ("told", 1, False),
        ("record", True),
        "ran for 9 s",
        ("told", 1, True),
        ("record", False),
    ]


def test_a_layout_that_fails_is_not_measured(tmp_path: Path) -> None:
    doing = step("L1/xfs/retinanet/train", layers=["L1"], profiles=["retinanet"])
    made, notes, _ = measured(tmp_path, doing, Target(directory=tmp_path), Failed("no"))
    assert made is None and notes == ["laid out"]


def test_work_of_a_given_amount_is_warmed_up_in_full(tmp_path: Path) -> None:
    doing = step("L1/xfs/checkpoint/save", layers=["L1"], profiles=["checkpoint"])
    made, _, jobs = measured(tmp_path, doing, Target(directory=tmp_path), repeat("write", bandwidth=1e9), repeats=1)
    assert [(job.seconds, job.create_only, job.jobs) for job in jobs] == [(None, False, 8)] * 2
    # in the words of those who train models
    assert made.checkpoint.model == "8b" and made.checkpoint.save_seconds > 0


def test_a_training_is_not_warmed_up(tmp_path: Path) -> None:
    doing = step("L1/xfs/retinanet/train", layers=["L1"], profiles=["retinanet"])
    _, notes, jobs = measured(tmp_path, doing, Target(directory=tmp_path), repeat(), repeats=1)
    assert [(job.create_only, job.seconds) for job in jobs] == [(True, None), (False, 9)]
    assert ("told", 0, False) not in notes


def test_a_drive_that_is_written_keeps_both_ends(tmp_path: Path) -> None:
    node = tmp_path / "node"
    with node.open("wb") as file:
        file.truncate(200 << 20)
    doing = step("L0/BLANK1/seq/write", layers=["L0"], profiles=["seq"], write_drives=["BLANK1"])
    target = Target(devices=(("BLANK1", str(node)),), write_devices=True, offset=64 << 20)
    _, _, jobs = measured(tmp_path, doing, target, repeat("write"), repeats=1)
    room = (200 - 2 * 64) << 20
    # a warm-up and a repeat, and no files
    assert [(job.files, job.jobs, job.target) for job in jobs] == [(Files(1, room, room), 1, target)] * 2
    assert list((tmp_path / "bench").iterdir()) == []


def test_of_a_large_drive_only_the_budget_is_written(tmp_path: Path) -> None:
    node = tmp_path / "node"
    with node.open("wb") as file:
        file.truncate(1 << 40)
    doing = step("L0/BLANK1/rand/write", layers=["L0"], profiles=["rand"], write_drives=["BLANK1"])
    target = Target(devices=(("BLANK1", str(node)),), write_devices=True)
    _, _, (_, job) = measured(tmp_path, doing, target, repeat("write"), repeats=1)
    assert job.files == Files(1, 1 << 30, 1 << 30)


def test_files_are_laid_out_once_for_each_client(tmp_path: Path, owners: dict[int, tuple[int, int]]) -> None:
    (tmp_path / "bench").mkdir()
    of = StepRunner(SIZES, tmp_path / "bench", tmp_path, Watched(), user="x")  # type: ignore[arg-type]
    measurer = Measures([], repeat())
    shared = Target(directory=Path("/mnt"), copies=2)
    for profile, operation in [
        (BenchProfile.SEQ, "read"),
        (BenchProfile.FSYNC, "fsync"),
        (BenchProfile.RETINANET, "read"),
    ]:
        (work,) = [work for work in works([profile]) if work.operation == operation]
        rung = pending(RungStep(BenchLayer.L3, "nfs-tcp", work, copies=2), SIZES)
        of.run(rung, RungStep(BenchLayer.L3, "nfs-tcp", work, copies=2), shared, measurer, lambda *_: None)
    here = tmp_path / "bench"
    laid_out = [(job.work.layout, job.target, job.jobs) for job in measurer.jobs if job.create_only]
    assert laid_out == [
        ("common", Target(directory=here, copy=0), 2),
        ("common", Target(directory=here, copy=1), 2),
        ("retinanet", Target(directory=here, copy=0), 2),
        ("retinanet", Target(directory=here, copy=1), 2),
    ]
    names = {path.name: path.stat().st_mode & 0o7777 for path in here.iterdir()}
    assert names == dict.fromkeys(("common", "common.1", "retinanet", "retinanet.1"), 0o700)
    assert set(owners.values()) == {(4242, 4243)}


def test_one_job_uses_some_of_the_files_of_the_others(tmp_path: Path) -> None:
    doing = step("L1/xfs/fsync/fsync", layers=["L1"], profiles=["fsync"])
    _, _, (layout, _, job) = measured(tmp_path, doing, Target(directory=tmp_path), repeat("commit"), repeats=1)
    assert (layout.jobs, job.jobs) == (2, 1)
