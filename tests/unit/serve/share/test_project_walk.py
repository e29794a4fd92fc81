# SPDX-License-Identifier: Apache-2.0
"""Everything in a tree counts to its project, and nothing outside, whatever a client puts in the place of it."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millrace.serve.share import project_walk
from millrace.system.trees import opener
from millrace.system.trees.descend import entries
from tests.fakes.projects import ProjectsOf

PROJECT = 1005


@pytest.fixture
def pool(tmp_path: Path) -> ProjectsOf:
    (tmp_path / "pool/share").mkdir(parents=True)
    return ProjectsOf(tmp_path / "pool/share")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory of another share, beside this one."""
    made = tmp_path / "pool/other"
    made.mkdir(parents=True)
    (made / "file").touch()
    return made


def walk(pool: ProjectsOf, threads: int = 1, tick: Callable[[], None] = lambda: None) -> list[project_walk.Held]:
    top = os.open(pool.top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return project_walk.count(top, PROJECT, pool.projects(), threads, tick)
    finally:
        os.close(top)


def client_acts(monkeypatch: pytest.MonkeyPatch, act: Callable[[str], None]) -> None:
    """Let a client act between the look at an entry and what is done with it."""

    def acted(directory: int) -> Iterator[tuple[str, os.stat_result]]:
        for name, held in entries(directory):
            act(name)
            yield name, held

    monkeypatch.setattr(project_walk, "entries", acted)


@pytest.mark.parametrize("threads", [1, 8])
def test_directories_and_files_count_to_the_project(pool: ProjectsOf, threads: int) -> None:
    for number in range(30):
        (pool.top / f"{number}/deep").mkdir(parents=True)
        (pool.top / f"{number}/deep/file").touch()
    assert walk(pool, threads) == []
    every = [str(path.relative_to(pool.top)) for path in pool.top.rglob("*")]
    assert len(every) == 90 and {pool.of(name) for name in (".", *every)} == {PROJECT}
    # the fake fails where a project is set that is there already
    walk(pool, threads)
    assert len(pool.calls) == 91


def test_links_and_special_files_are_skipped(pool: ProjectsOf, outside: Path) -> None:
    (pool.top / "link").symlink_to(outside)
    (pool.top / "link-to-a-file").symlink_to(outside / "file")
    os.mkfifo(pool.top / "pipe")
    with socket.socket(socket.AF_UNIX) as there:
        there.bind(str(pool.top / "socket"))
        walk(pool)
    assert pool.calls == [(".", PROJECT)]


def test_link_in_the_place_of_a_directory_is_not_followed(
    pool: ProjectsOf, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pool.top / "a").mkdir()

    def act(name: str) -> None:
        (pool.top / name).rmdir()
        (pool.top / name).symlink_to(outside)

    client_acts(monkeypatch, act)
    walk(pool)
    # the fake fails where anything outside is asked for
    assert pool.calls == [(".", PROJECT)]


def test_link_above_a_directory_that_waits_is_not_followed(
    pool: ProjectsOf, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pool.top / "a/inner").mkdir(parents=True)
    (outside / "inner").mkdir()

    def act(name: str) -> None:
        if name == "inner":
            (pool.top / "a").rename(pool.top / "b")
            (pool.top / "a").symlink_to(outside)

    client_acts(monkeypatch, act)
    walk(pool)
    # it is in the tree under another name
    assert pool.calls == [(".", PROJECT), ("a", PROJECT), ("b/inner", PROJECT)]


def test_directory_that_is_moved_out_of_the_tree_is_left(
    pool: ProjectsOf, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pool.top / "a/inner").mkdir(parents=True)
    monkeypatch.setattr(opener, "TRUSTED", 0.0)
    client_acts(monkeypatch, lambda name: (pool.top / "a").rename(outside / "b") if name == "inner" else None)
    walk(pool)
    assert pool.calls == [(".", PROJECT), ("a", PROJECT)]
    assert (outside / "b/inner").is_dir()


@pytest.mark.parametrize("planted", ["link", "pipe", "nothing"])
def test_what_a_client_puts_in_the_place_of_a_file_is_skipped(
    pool: ProjectsOf, outside: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    (pool.top / "file").touch()

    def act(name: str) -> None:
        (pool.top / name).unlink()
        if planted == "link":
            (pool.top / name).symlink_to(outside / "file")
        elif planted == "pipe":
            os.mkfifo(pool.top / name)

    client_acts(monkeypatch, act)
    assert walk(pool) == []
    assert pool.calls == [(".", PROJECT)]


def test_another_file_system_is_not_crossed(pool: ProjectsOf, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("here", "there"):
        (pool.top / name).mkdir()
        (pool.top / name / "file").touch()
    mounted, fstat = (pool.top / "there").stat().st_ino, os.fstat

    def other(found: os.stat_result) -> os.stat_result:
        return os.stat_result([*found[:2], found.st_dev + 1, *found[3:]]) if found.st_ino == mounted else found

    monkeypatch.setattr(os, "fstat", lambda descriptor: other(fstat(descriptor)))
    walk(pool)
    assert sorted(name for name, _ in pool.calls) == [".", "here", "here/file"]


def test_walk_ends_at_its_deadline_within_a_directory_of_many_files(
    pool: ProjectsOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pool.top / "file").touch()

    def endless(directory: int) -> Iterator[tuple[str, os.stat_result]]:
        while True:
            yield from entries(directory)

    monkeypatch.setattr(project_walk, "entries", endless)

    def tick() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        walk(pool, 1, tick)
