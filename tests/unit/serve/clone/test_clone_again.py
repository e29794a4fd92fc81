# SPDX-License-Identifier: Apache-2.0
"""What clients change while their tree is cloned is found by its time of change, and taken again."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.serve.clone import clone_again
from millrace.serve.clone.clone_again import AgainClone, ChangeClock, changes
from millrace.serve.clone.clone_tree import TreeClone
from millrace.system import paths
from millrace.system.errors import Failed
from tests.unit.serve.clone.test_clone_tree import copied, state

HOUR = 3600 * 10**9


class Tree:
    """A tree that is cloned, and what has changed in it since."""

    def __init__(self, top: Path) -> None:
        self.top, self.source, self.clone = top, top / "source", top / "clone"
        self.origins: dict[int, int] = {}
        for name in ("source", "clone", "aside", "proc"):
            (top / name).mkdir()
        self.hold()
        self.opened = [os.open(top / name, os.O_RDONLY | os.O_DIRECTORY) for name in ("source", "clone", "aside")]

    def cloned(self) -> None:
        TreeClone(self.opened[0], self.opened[1], copied, self.origins).run(2, lambda _: None)

    def hold(self, *names: str, kind: str = "DELEG  ACTIVE    WRITE") -> None:
        """Let these files, and no others, be held as the kernel writes it."""
        lines = ["1: POSIX  ADVISORY  WRITE 812 00:1b:13093748 0 EOF\n"]
        for number, name in enumerate(names, 2):
            held = (self.source / name).stat()
            device = f"{os.major(held.st_dev):02x}:{os.minor(held.st_dev):02x}"
            lines.append(f"{number}: {kind} 1093 {device}:{held.st_ino} 0 EOF\n")
        (self.top / "proc/locks").write_text("".join(lines))

    def since_now(self) -> int:
        """The time of change of what changes from here on; the kernel's clock goes in steps."""
        path = self.top / "clock"
        before = None
        while True:
            path.touch()
            now = path.stat().st_ctime_ns
            if before is not None and now > before:
                return now
            before = before or now

    def changes(self, since: int) -> clone_again.Changes:
        return changes(self.opened[0], since, 2, lambda _: None)

    def take(self, changed: clone_again.Changes) -> None:
        again = AgainClone(self.opened[0], self.opened[1], self.opened[2], self.origins, 2, copied)
        again.take(changed, lambda: None)

    def listed(self, top: Path) -> dict[str, object]:
        return {str(path.relative_to(top)): state(path) for path in [top, *top.rglob("*")]}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    made = Tree(tmp_path)
    for name in ("a/one", "a/two", "b/one", "b/two", "c/deep/er/one"):
        (made.source / name).parent.mkdir(parents=True, exist_ok=True)
        (made.source / name).write_text(name)
    made.cloned()
    return made


def in_place(top: Path) -> None:
    """The content changes, and neither its size nor the time of its change."""
    held = (top / "a/one").stat()
    (top / "a/one").write_text("A/ONE")
    os.utime(top / "a/one", ns=(held.st_atime_ns, held.st_mtime_ns))


def swapped(top: Path) -> None:
    """Another directory with the same names has the place of one."""
    (top / "a").rename(top / "former")
    (top / "b").rename(top / "a")


def moved_in(top: Path) -> None:
    (top / "c/deep").rename(top / "b/deep")


def replaced(top: Path) -> None:
    (top / "a/one").unlink()
    (top / "a/one").mkdir()
    (top / "a/one/inner").write_text("inner")
    shutil.rmtree(top / "b")
    (top / "b").symlink_to("a")


def second_name(top: Path) -> None:
    os.link(top / "a/one", top / "b/linked")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (in_place, ["a/one"]),
        (swapped, ["/", "a/", "former/"]),
        (moved_in, ["b/", "b/deep/", "c/"]),
        (replaced, ["/", "a/", "a/one/", "a/one/inner", "b"]),
        (second_name, ["a/one", "b/", "b/linked"]),
        (lambda top: (top / "c/deep/er/one").unlink(), ["c/deep/er/"]),
        (lambda top: (top / "new").write_text("new"), ["/", "new"]),
        (lambda top: (top / "a/two").chmod(0o600), ["a/two"]),
        (lambda top: os.setxattr(top / "b", "user.note", b"1"), ["b/"]),
    ],
)
def test_each_kind_of_change_is_found_and_taken_again(
    tree: Tree, change: Callable[[Path], object], named: list[str]
) -> None:
    since = tree.since_now()
    assert tree.changes(since).count == 0
    change(tree.source)
    changed = tree.changes(since)
    assert changed.names(100) == named and changed.count == len(named)
    assert tree.listed(tree.clone) != tree.listed(tree.source)
    tree.take(changed)
    assert tree.listed(tree.clone) == tree.listed(tree.source)


def test_attribute_that_a_client_removed_is_not_kept(tree: Tree) -> None:
    os.setxattr(tree.source / "a", "user.note", b"1")
    tree.take(tree.changes(0))
    since = tree.since_now()
    os.removexattr(tree.source / "a", "user.note")
    tree.take(tree.changes(since))
    assert os.listxattr(tree.clone / "a") == []


def test_two_names_of_a_file_that_changed_are_one_file_again(tree: Tree) -> None:
    since = tree.since_now()
    second_name(tree.source)
    tree.take(tree.changes(since))
    assert (tree.clone / "a/one").samefile(tree.clone / "b/linked")


def test_what_is_gone_when_it_is_taken_again_is_left_for_the_next_look(tree: Tree) -> None:
    since = tree.since_now()
    (tree.source / "a/one").write_text("changed")
    (tree.source / "c/deep/new").write_text("new")
    changed, later = tree.changes(since), tree.since_now()
    (tree.source / "a/one").unlink()
    shutil.rmtree(tree.source / "c")
    tree.take(changed)
    assert (tree.clone / "c/deep").exists()
    tree.take(tree.changes(later))
    assert tree.listed(tree.clone) == tree.listed(tree.source)


def test_changes_without_room_for_their_names_are_counted(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clone_again, "MOST", 2)
    changed = tree.changes(0)
    # five files, and the directories /, a, b, c, c/deep and c/deep/er
    assert changed.count == 11 and len(changed.directories) + len(changed.entries) <= 2


def delegated(top: Path) -> None:
    """A client writes with a delegation: the kernel sets no time."""
    with (top / "a/one").open("r+b", buffering=0) as file:
        file.write(b"A/ONE")


@pytest.mark.parametrize("kind", ["DELEG  ACTIVE    WRITE", "LEASE  ACTIVE    WRITE", "DELEG  BREAKING  READ"])
def test_file_that_is_held_for_writing_is_taken_again(tree: Tree, kind: str) -> None:
    delegated(tree.source)
    since = tree.since_now()
    assert tree.changes(since).count == 0
    tree.hold("a/one", kind=kind)
    changed = tree.changes(since)
    assert changed.names(100) == ["a/one"] and (changed.count, changed.nameless) == (1, 0)
    tree.take(changed)
    assert (tree.clone / "a/one").read_text() == "A/ONE"


def test_file_that_is_held_for_reading_has_not_changed(tree: Tree) -> None:
    since = tree.since_now()
    tree.hold("a/one", kind="DELEG  ACTIVE    READ")
    assert tree.changes(since).count == 0


def test_file_that_is_held_after_the_walk_only_is_a_change_without_a_name(tree: Tree) -> None:
    since = tree.since_now()
    other = tree.top / "elsewhere"
    other.write_text("of another share")

    def tick(_: int) -> None:
        tree.hold("b/one", "../elsewhere")

    changed = changes(tree.opened[0], since, 2, tick)
    assert changed.names(100) == [] and (changed.count, changed.nameless, changed.named) == (1, 1, 0)
    # the next look knows its name
    assert tree.changes(since).names(100) == ["b/one"]


def test_file_that_changed_and_is_held_after_the_walk_counts_as_one(tree: Tree) -> None:
    since = tree.since_now()
    in_place(tree.source)
    changed = changes(tree.opened[0], since, 2, lambda _: tree.hold("a/one"))
    assert changed.names(100) == ["a/one"] and changed.count == 1


@pytest.mark.parametrize("text", [None, "1: DELEG  ACTIVE    WRITE 1093 fd:00 0 EOF\n"])
def test_look_that_cannot_see_who_holds_files_fails(tree: Tree, text: str | None) -> None:
    (tree.top / "proc/locks").unlink()
    if text is not None:
        (tree.top / "proc/locks").write_text(text)
    with pytest.raises((OSError, Failed), match="locks"):
        tree.changes(0)


def test_clock_that_is_set_back_hides_no_change() -> None:
    now, running = [100 * HOUR], [HOUR]
    clock = ChangeClock(lambda: now[0], lambda: running[0])
    mark = clock.mark()
    assert clock.since(mark) == 100 * HOUR - clone_again.COARSE
    now[0], running[0] = now[0] - 2 * HOUR, running[0] + HOUR
    # three hours behind; what changes now has a time of change before the mark
    assert clock.since(mark) == 97 * HOUR - clone_again.COARSE
    now[0], running[0] = now[0] + 10 * HOUR, running[0] + HOUR
    assert clock.since(mark) == 97 * HOUR - clone_again.COARSE
