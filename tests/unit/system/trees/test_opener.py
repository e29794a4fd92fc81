# SPDX-License-Identifier: Apache-2.0
"""Directories of any depth are opened in as many steps as the walk takes, and none that a client moved is followed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from millrace.system.errors import Failed
from millrace.system.trees import opener as openers
from millrace.system.trees.descend import descend, entries, is_gone
from millrace.system.trees.opener import KEPT, Opener, Place
from tests.fakes.deep import deep, make_deep

# more than the 4096 bytes of a path, and than the 1000 calls of Python's stack
DEPTH = 4200


@pytest.fixture
def top(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "tree").mkdir()
    with deep(tmp_path / "tree", 0) as descriptor:
        yield descriptor


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names that are opened."""
    names: list[str] = []
    opened = os.open

    def open_(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        names.append(name)
        return opened(name, flags, mode, dir_fd=dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", open_)
        yield names


def walked(top: int, threads: int = 1) -> int:
    """How many directories there are."""
    seen: list[int] = []
    with Opener(top) as opener:

        def visit(place: Place) -> list[str]:
            with opener.below(place) as at:
                seen.append(len(place))
                return [name for name, _ in entries(at)]

        descend(visit, threads, lambda: None)
    return len(seen)


@pytest.mark.parametrize("beside", ["", "a", "z"])
def test_each_directory_takes_a_few_steps_however_deep(top: int, monkeypatch: pytest.MonkeyPatch, beside: str) -> None:
    make_deep(top, DEPTH, beside)
    # what verifies the way to the top has a share of the time of its own
    monkeypatch.setattr(openers, "TRUSTED", 3600.0)
    before = len(os.listdir("/proc/self/fd"))
    with counted(monkeypatch) as names:
        number = walked(top)
    assert number == DEPTH + 1 + (DEPTH if beside else 0)
    assert len(names) < 3 * number
    assert len(os.listdir("/proc/self/fd")) == before


def test_several_threads_see_each_directory_once(top: int) -> None:
    make_deep(top, 300, "x")
    for number in range(300):
        os.mkdir(f"wide{number}", dir_fd=top)
    assert walked(top, threads=8) == 901


def test_descriptors_are_bounded(top: int) -> None:
    make_deep(top, 200)
    before, most = len(os.listdir("/proc/self/fd")), 0
    with Opener(top) as opener:
        place = Place()
        for _ in range(200):
            place = Place(place, "d")
            with opener.below(place):
                most = max(most, len(os.listdir("/proc/self/fd")))
    assert most <= before + KEPT + 3
    assert len(os.listdir("/proc/self/fd")) == before


def far_from(top: int, opener: Opener) -> tuple[Place, Place]:
    """Open a directory in a/, then so many elsewhere that nothing of a/ is kept open; return both."""
    for name in ("a", "a/b", "a/b/c", "a/b/d"):
        os.mkdir(name, dir_fd=top)
    a = Place(Place(), "a")
    b = Place(a, "b")
    for place in (a, b):
        with opener.below(place):
            pass
    make_deep(top, KEPT + 2)
    low = Place()
    for _ in range(KEPT + 2):
        low = Place(low, "d")
        with opener.below(low):
            pass
    return b, low


def test_directory_that_is_not_kept_is_found_again(top: int, tmp_path: Path) -> None:
    with Opener(top) as opener:
        b, _ = far_from(top, opener)
        with opener.below(Place(b, "c")) as at:
            assert os.fstat(at).st_ino == (tmp_path / "tree/a/b/c").stat().st_ino


@pytest.mark.parametrize("planted", ["link", "directory", "nothing"])
def test_what_a_client_puts_in_the_place_of_a_directory_is_not_entered(top: int, tmp_path: Path, planted: str) -> None:
    (tmp_path / "outside/c").mkdir(parents=True)
    with Opener(top) as opener:
        b, _ = far_from(top, opener)
        (tmp_path / "tree/a/b").rename(tmp_path / "moved")
        if planted == "link":
            (tmp_path / "tree/a/b").symlink_to(tmp_path / "outside")
        elif planted == "directory":
            (tmp_path / "tree/a/b/c").mkdir(parents=True)
        with pytest.raises(Failed) as error, opener.below(Place(b, "c")):
            pass
        assert is_gone(error.value)


def test_climb_out_of_the_tree_ends_at_the_directory_that_was_moved(
    top: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client moves a directory out while the walk is below it: ".." leads to the outside."""
    (tmp_path / "outside/a").mkdir(parents=True)
    with Opener(top) as opener:
        b, low = far_from(top, opener)
        with opener.below(low):
            (tmp_path / "tree/d/d").rename(tmp_path / "outside/d")
        # up from what is kept is the outside; from the top it is right
        with opener.below(Place(b, "d")) as at:
            assert os.fstat(at).st_ino == (tmp_path / "tree/a/b/d").stat().st_ino
        monkeypatch.setattr(opener, "_interval", 0.0)
        with pytest.raises(Failed) as error, opener.below(Place(low, "d")):
            pass
        assert is_gone(error.value)


def test_walk_beside_a_client_that_renames_ends_and_stays_inside(top: int, tmp_path: Path) -> None:
    (tmp_path / "outside/secret").mkdir(parents=True)
    for number in range(40):
        (tmp_path / f"tree/x{number}/y/z").mkdir(parents=True)
    inside = {path.stat().st_ino for path in (tmp_path / "tree").rglob("*")} | {(tmp_path / "tree").stat().st_ino}
    stop, seen = Event(), set[int]()

    def rename() -> None:
        number = 0
        while not stop.is_set():
            here, there = tmp_path / f"tree/x{number}", tmp_path / f"outside/x{number}"
            here.rename(there)
            here.symlink_to(tmp_path / "outside")
            here.unlink()
            there.rename(here)
            number = (number + 1) % 40

    client = Thread(target=rename)
    client.start()
    try:
        for _ in range(20):
            with Opener(top) as opener:

                def visit(place: Place, opener: Opener = opener) -> list[str]:
                    try:
                        with opener.below(place) as at:
                            seen.add(os.fstat(at).st_ino)
                            return [name for name, _ in entries(at)]
                    except (Failed, OSError) as error:
                        assert is_gone(error)
                        return []

                descend(visit, 4, lambda: None)
    finally:
        stop.set()
        client.join()
    assert seen <= inside
