# SPDX-License-Identifier: Apache-2.0
"""Clients have the benchmark's directory mounted while root prepares it: what they put there changes nothing else."""

import os
import pwd
import socket
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from millrace.bench.plan.job import Job, Target
from millrace.bench.plan.sizes import Files, Sizes
from millrace.bench.plan.workloads import works
from millrace.bench.result.choices import Profile
from millrace.bench.result.fio_output import Outcome
from millrace.bench.run import space
from millrace.bench.run.local import Live
from millrace.bench.run.step_runner import StepRunner
from millrace.errors import Failed
from millrace.system import inside

SIZES = Sizes(seconds=1, warm=1, repeats=1, budget=1 << 20, jobs=2, checkpoint="8b")


class Quiet:
    """Lays nothing out."""

    def run(self, job: Job, live: Live | None = None) -> Outcome:
        return Outcome()


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


def job(profile: Profile, operation: str) -> Job:
    (work,) = [one for one in works([profile]) if one.operation == operation]
    return Job(work, Target(directory=Path("/mnt")), 2, Files(2, 4096, 4096), 1)


ALL = [
    (Profile.META, "create"),
    (Profile.META, "stat"),
    (Profile.META, "delete"),
    (Profile.CHECKPOINT, "save"),
    (Profile.SEQ, "read"),
]


def contents(share: Path) -> dict[str, str]:
    return {one.name: one.read_text() for one in share.iterdir()}


@pytest.mark.parametrize(("profile", "operation"), ALL)
def test_a_link_in_the_place_of_its_directory_is_one_sentence(
    victim: Path, owners: dict[int, tuple[int, int]], profile: Profile, operation: str
) -> None:
    doing = job(profile, operation)
    (victim.parent / "bench" / doing.work.layout).symlink_to(victim)
    for act in (lambda: runner(victim)._lay_out(doing, 0, Quiet()), lambda: runner(victim)._ready(doing)):
        with pytest.raises((Failed, OSError), match=r"is not a directory|cannot be opened|symbolic link"):
            act()
    assert contents(victim) == {"f.0.0": "somebody's"} and owners == {}


@pytest.mark.parametrize("operation", ["stat", "delete"])
@pytest.mark.parametrize("target", ["../../data/f.0.0", "../../data/new"])
def test_a_link_in_the_place_of_a_file_is_not_followed(
    victim: Path, owners: dict[int, tuple[int, int]], operation: str, target: str
) -> None:
    doing, where = job(Profile.META, operation), victim.parent / "bench/meta"
    runner(victim)._lay_out(doing, 0, Quiet())
    (where / "f.0.0").symlink_to(target)
    runner(victim)._ready(doing)
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
    doing, where = job(Profile.CHECKPOINT, "save"), victim.parent / "bench/checkpoint"
    runner(victim)._lay_out(doing, 0, Quiet())
    (where / "f.0.0").symlink_to(victim / "f.0.0")
    (where / "f.1.0").write_text("x")
    runner(victim)._ready(doing)
    assert list(where.iterdir()) == []
    assert contents(victim) == {"f.0.0": "somebody's"}


def test_a_directory_that_is_made_new_holds_nothing(victim: Path, owners: dict[int, tuple[int, int]]) -> None:
    doing, where = job(Profile.META, "create"), victim.parent / "bench/meta"
    runner(victim)._lay_out(doing, 0, Quiet())
    (where / "below").symlink_to(victim)
    runner(victim)._ready(doing)
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
        with inside.directory(where) as at, socket.socket(socket.AF_UNIX) as door:
            door.bind(str(where / "s"))
            space.forget_cached(at)

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
        inside.directory(victim.parent) as at,
        pytest.raises(Failed, match="planted is not a directory"),
        inside.directory("planted", at),
    ):
        raise AssertionError
    with inside.directory(victim.parent) as at, pytest.raises(Failed, match="planted is not a directory"):
        inside.make_directory("planted", 0o700, at, (1, 1))
