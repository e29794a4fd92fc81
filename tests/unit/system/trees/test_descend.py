# SPDX-License-Identifier: Apache-2.0
"""Every directory is visited once and opened from the top, never through a link."""

import os
from pathlib import Path
from threading import Event, Lock

import pytest

from millrace.system.errors import Failed
from millrace.system.trees import descend as trees
from millrace.system.trees.descend import TooDeep, below, descend, entries, is_gone


def test_every_directory_is_visited_once_by_several_threads(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}/x/y").mkdir(parents=True)
    seen: list[str] = []
    lock, top = Lock(), os.open(tmp_path, os.O_RDONLY)

    def visit(path: tuple[str, ...]) -> list[str]:
        with below(top, path) as at:
            inner = [name for name, _ in entries(at)]
        with lock:
            seen.append("/".join(path))
        return inner

    descend(visit, 4, lambda: None)
    os.close(top)
    assert len(seen) == len(set(seen)) == 61 and "3/x/y" in seen


def test_visits_under_way_are_stopped_before_they_are_waited_for(tmp_path: Path) -> None:
    stop = Event()

    def visit(path: tuple[str, ...]) -> list[str]:
        # a directory with millions of files
        assert stop.wait(30)
        return []

    def cancelled() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        descend(visit, 4, cancelled, stop.set, seconds=0.01)
    assert stop.is_set()


def test_deep_tree_takes_few_descriptors(tmp_path: Path) -> None:
    path = tmp_path
    for _ in range(60):
        path = path / "d"
        path.mkdir()
    top = os.open(tmp_path, os.O_RDONLY)
    before = len(os.listdir("/proc/self/fd"))
    with below(top, ["d"] * 60) as at:
        assert len(os.listdir("/proc/self/fd")) < before + 20
        assert os.fstat(at).st_ino == path.stat().st_ino
    os.close(top)


def test_directory_that_is_too_deep_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert trees.DEEPEST == 4096
    monkeypatch.setattr(trees, "DEEPEST", 3)
    (tmp_path / "a/b/c/d").mkdir(parents=True)
    top = os.open(tmp_path, os.O_RDONLY)
    with below(top, "abc"):
        pass
    with (
        pytest.raises(TooDeep, match="a/b/c/… has more than 3 directories below each other") as error,
        below(top, "abcd"),
    ):
        pass
    os.close(top)
    assert not is_gone(error.value)


def test_link_on_the_way_is_not_followed_and_known_as_a_change(tmp_path: Path) -> None:
    (tmp_path / "real/inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    top = os.open(tmp_path, os.O_RDONLY)
    for path in (("link", "inner"), ("nothing",)):
        with pytest.raises(Failed) as error, below(top, path):
            pass
        assert is_gone(error.value)
    os.close(top)
    assert not is_gone(Failed("other")) and not is_gone(OSError(5, "Input/output error"))
