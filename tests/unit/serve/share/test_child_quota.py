# SPDX-License-Identifier: Apache-2.0
"""Each directory at the top of a share gets a project of its own, with all that was written before it had one."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.serve.share import child_quota, project_walk
from millrace.serve.share.child_quota import MOST, assign, number, orphans, parent
from millrace.serve.share.project_walk import Projects

SHARE = 1005


class Disk:
    """Projects by inode, as XFS inherits them: what is in a directory has its project unless it was made before."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.set_on: dict[int, int] = {}
        self.limits: list[int] = []
        self.handing_down = True
        self.now = 1000.0
        self.projects = Projects(self.project, self.assign, self.hand_down_nothing)

    def project(self, descriptor: int) -> int:
        return self.set_on.get(os.fstat(descriptor).st_ino, SHARE)

    def hand_down_nothing(self, descriptor: int) -> None:
        assert os.fstat(descriptor).st_ino == self.top.stat().st_ino, "directories with a quota hand it down"
        self.handing_down = False

    def rename(self, old: str, new: str) -> None:
        """As xfs_rename: to a directory that hands down another project than that of `old`, it is EXDEV."""
        into = self.top / new
        if (self.handing_down or into.parent != self.top) and self.of(old) != self.of(
            os.path.relpath(into.parent, self.top)
        ):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        (self.top / old).rename(into)

    def assign(self, descriptor: int, project: int) -> None:
        assert project in self.limits, "what counts to a project is limited from the beginning"
        self.set_on[os.fstat(descriptor).st_ino] = project

    def of(self, name: str) -> int:
        return self.set_on.get((self.top / name).stat().st_ino, SHARE)

    def look(self, used: set[int], before: dict[str, int] | None = None) -> child_quota.Assigned:
        descriptor = os.open(self.top, os.O_RDONLY)
        try:
            return assign(descriptor, SHARE, used, self.limits.append, self.projects, before, lambda: self.now)
        finally:
            os.close(descriptor)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    # where tests run, only user.* may be there
    monkeypatch.setattr(child_quota, "UNFINISHED", "user.child-quota")
    yield Disk(tmp_path)


def test_new_directory_gets_a_project_with_what_is_in_it(disk: Disk) -> None:
    (disk.top / "a/deep").mkdir(parents=True)
    (disk.top / "a/deep/file").write_text("x")
    (disk.top / "a/link").symlink_to("/etc/passwd")
    (disk.top / "file").write_text("x")
    used: set[int] = set()
    assigned = disk.look(used)
    own = (SHARE << 16) + 1
    assert assigned.new == {"a": own} and used == {own} and parent(own) == SHARE
    assert {disk.of(name) for name in ("a", "a/deep", "a/deep/file")} == {own}
    assert disk.of("file") == SHARE
    (disk.top / "b").mkdir()
    again = disk.look(used)
    assert (again.known, again.new) == ({"a": own}, {"b": own + 1})
    assert disk.limits == [own, own + 1]


def test_file_that_was_on_its_way_during_the_walk_is_moved_by_a_second_one(disk: Disk) -> None:
    (disk.top / "a/deep").mkdir(parents=True)
    used: set[int] = set()
    assert disk.look(used).unfinished
    # xfs_create took its project before that of the directory was set, and waited for the lock of the directory
    (disk.top / "a/deep/late").write_text("x")
    disk.now += 1
    assert disk.look(used).unfinished and disk.of("a/deep/late") == SHARE
    disk.now += child_quota.SETTLED
    assert not disk.look(used).unfinished and disk.of("a/deep/late") == disk.of("a") != SHARE
    assert os.listxattr(disk.top / "a") == []
    # no third walk
    disk.set_on.pop((disk.top / "a/deep/late").stat().st_ino)
    assert not disk.look(used).unfinished and disk.of("a/deep/late") == SHARE


def test_second_walk_survives_a_restart_and_a_clock_that_is_set_back(disk: Disk) -> None:
    (disk.top / "a").mkdir()
    disk.look(set())
    (disk.top / "a/late").write_text("x")
    disk.now -= 1_000_000
    assert not disk.look(set()).unfinished and disk.of("a/late") == disk.of("a") != SHARE


def test_directory_is_renamed_and_keeps_its_project(disk: Disk) -> None:
    (disk.top / "New folder").mkdir()
    own = disk.look(set()).new["New folder"]
    disk.rename("New folder", "archived")
    found = disk.look({own})
    assert (found.known, found.new) == ({"archived": own}, {})


@pytest.mark.parametrize("name", ["0", "z"])
def test_directory_that_was_moved_out_of_another_gets_its_own_project(disk: Disk, name: str) -> None:
    (disk.top / "a/inner").mkdir(parents=True)
    (disk.top / "a/inner/file").write_text("x")
    used: set[int] = set()
    before = disk.look(used).new
    disk.rename("a/inner", name)
    found = disk.look(used, before)
    assert found.known == before and found.new == {name: before["a"] + 1}
    assert disk.of(f"{name}/file") == before["a"] + 1


def test_assignment_that_was_killed_is_finished(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    (disk.top / "a/deep").mkdir(parents=True)
    (disk.top / "a/deep/file").write_text("x")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):

        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        patched.setattr(project_walk, "descend", killed)
        disk.look(set())
    assert disk.of("a") != SHARE and disk.of("a/deep/file") == SHARE
    assigned = disk.look(set())
    assert assigned.new == {} and disk.of("a/deep/file") == disk.of("a") != SHARE


def test_file_with_a_delegation_is_moved_later(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    (disk.top / "a").mkdir()
    (disk.top / "a/file").write_text("x")
    opened = os.open
    with monkeypatch.context() as patched:

        def busy(path: str, flags: int, *arguments: int, dir_fd: int | None = None) -> int:
            if path == "file":
                raise BlockingIOError
            return opened(path, flags, *arguments, dir_fd=dir_fd)

        patched.setattr(os, "open", busy)
        assert disk.look(set()).problems == ["a has 1 files that clients hold and that count to the share until later"]
    assert disk.of("a/file") == SHARE
    assert disk.look(set()).problems == [] and disk.of("a/file") == disk.of("a")


@pytest.mark.parametrize("planted", ["link", "gone"])
def test_directory_that_a_client_replaces_is_not_followed(
    disk: Disk, tmp_path_factory: pytest.TempPathFactory, planted: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (disk.top / "a").mkdir()

    def limit(project: int) -> None:
        disk.limits.append(project)

    entries = child_quota.entries

    def swapped(directory: int) -> Iterator[tuple[str, os.stat_result]]:
        for name, held in entries(directory):
            (disk.top / name).rmdir()
            if planted == "link":
                (disk.top / name).symlink_to(elsewhere)
            yield name, held

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(child_quota, "entries", swapped)
        assigned = disk.look(set())
    assert (assigned.known, assigned.new, disk.set_on) == ({}, {}, {})


def test_numbers_are_given_out_again_only_when_all_were() -> None:
    first = SHARE << 16
    assert number(SHARE, set()) == first + 1
    assert number(SHARE, {first + 1, first + 7, (SHARE + 1) << 16}) == first + 8
    assert number(SHARE, {first + MOST, first + 1}) == first + 2
    assert number(SHARE, set(range(first + 1, first + MOST + 1))) is None
    assert first + MOST < 1 << 31 or SHARE > 32767
    assert parent(SHARE) is None
    assert list(orphans(SHARE, {first + 1}, [SHARE, first + 1, first + 2, (SHARE + 1 << 16) + 2])) == [first + 2]
