# SPDX-License-Identifier: Apache-2.0
"""A clone has everything of its tree and nothing else, also while clients change it."""

import os
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from millrace.serve.clone import clone_tree
from millrace.serve.clone.clone_tree import Tally, TreeClone, count
from millrace.system import posix_acl
from tests.fakes.deep import deep


def copied(source: int, target: int) -> None:
    """In the place of FICLONE, which only XFS knows; holes stay holes."""
    size = os.fstat(source).st_size
    os.ftruncate(target, size)
    at = 0
    while at < size:
        try:
            at = os.lseek(source, at, os.SEEK_DATA)
        except OSError:
            return
        end = os.lseek(source, at, os.SEEK_HOLE)
        os.pwrite(target, os.pread(source, end - at, at), at)
        at = end


@contextmanager
def both(tmp_path: Path) -> Iterator[tuple[int, int]]:
    one, other = (os.open(tmp_path / name, os.O_RDONLY | os.O_DIRECTORY) for name in ("source", "clone"))
    try:
        yield one, other
    finally:
        os.close(one)
        os.close(other)


def clone(
    tmp_path: Path, share: Callable[[int, int], None] = copied, tick: Callable[[Tally], None] | None = None
) -> Tally:
    with both(tmp_path) as (source, target):
        return TreeClone(source, target, share).run(4, tick or (lambda _: None))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    top = tmp_path / "source"
    top.mkdir()
    (tmp_path / "clone").mkdir()
    return top


def state(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    names = sorted(os.listxattr(path, follow_symlinks=False))
    return (
        *(stat.S_IFMT(found.st_mode), stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid, found.st_mtime_ns),
        *((name, os.getxattr(path, name, follow_symlinks=False)) for name in names),
        os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None,
    )


def test_everything_of_a_tree_is_kept(tmp_path: Path, source: Path) -> None:
    inner = source / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "file").write_text("data")
    os.chmod(inner / "file", 0o4751)
    os.setxattr(inner / "file", "user.note", b"\x00kept")
    (inner / "link").symlink_to("/etc/shadow")
    (source / "second").hardlink_to(inner / "file")
    os.mkfifo(source / "pipe", 0o640)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(source / "socket"))
    with (source / "sparse").open("wb") as file:
        file.truncate(64 << 20)
    if os.getuid() == 0:
        os.chown(inner / "file", 2001, 2002)
        os.chown(source / "a", 2003, 2004)
        os.chown(inner / "link", 2005, 2006, follow_symlinks=False)
    os.chmod(source / "a", 0o2775)
    for number, path in enumerate(sorted(source.rglob("*"), reverse=True)):
        os.utime(path, ns=(10**18, 10**18 + number * 10**9 + 7), follow_symlinks=False)
    os.utime(source, ns=(5, 6))
    tally = clone(tmp_path)
    made = tmp_path / "clone"
    names = [path.relative_to(source) for path in sorted(source.rglob("*"))]
    assert [path.relative_to(made) for path in sorted(made.rglob("*"))] == names and len(names) == 8
    for name in (Path(), *names):
        assert state(made / name) == state(source / name), name
    assert (made / "second").stat().st_ino == (made / "a/b/file").stat().st_ino
    assert (made / "sparse").stat().st_blocks == 0
    assert (tally.entries, tally.changed, tally.skipped) == (9, 0, 0)
    with both(tmp_path) as (directory, _):
        assert count(directory, 2, lambda _: None).entries == 9


def test_access_lists_of_directories_are_not_applied_to_what_is_cloned_into_them(tmp_path: Path, source: Path) -> None:
    """A default list that is there first would be inherited by files that never had one."""
    # version 2; user::rwx, user:2001:rwx, group::r-x, mask::rwx, other::---
    entries = [(1, 7, 0xFFFFFFFF), (2, 7, 2001), (4, 5, 0xFFFFFFFF), (16, 7, 0xFFFFFFFF), (32, 0, 0xFFFFFFFF)]
    listed = b"\x02\0\0\0" + b"".join(
        tag.to_bytes(2, "little") + right.to_bytes(2, "little") + who.to_bytes(4, "little")
        for tag, right, who in entries
    )
    (source / "inner").mkdir()
    (source / "file").write_text("x")
    try:
        os.setxattr(source, "system.posix_acl_default", listed)
    except OSError:
        pytest.skip("this file system has no access lists")
    clone(tmp_path)
    assert os.getxattr(tmp_path / "clone", "system.posix_acl_default") == listed
    for name in ("file", "inner"):
        assert state(tmp_path / "clone" / name) == state(source / name)


@pytest.mark.parametrize("name", posix_acl.XFS_NAMES)
def test_second_name_of_an_access_list_is_left_to_the_first_one(tmp_path: Path, name: str) -> None:
    """XFS takes both away together, and has no second name to remove then."""
    for place, names in (("source", []), ("target", [name])):
        (tmp_path / place).mkdir()
        for each in names:
            os.setxattr(tmp_path / place, each, b"a list")
    source, target = (os.open(tmp_path / place, os.O_RDONLY) for place in ("source", "target"))
    try:
        clone_tree.dress(source, target)
        clone_tree.dress(target, source)
        assert (os.listxattr(source), os.listxattr(target)) == ([], [name])
    finally:
        os.close(source)
        os.close(target)


@pytest.mark.parametrize("plant", [lambda path: path.symlink_to("/etc"), os.mkfifo, lambda path: None])
def test_directory_that_becomes_something_else_is_not_entered(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[Path], None]
) -> None:
    (source / "inner").mkdir()
    (source / "inner/secret").write_text("x")
    mkdir = os.mkdir

    def swapped(name: str, mode: int, dir_fd: int) -> None:
        mkdir(name, mode, dir_fd=dir_fd)
        (source / "inner").rename(tmp_path / "away")
        plant(source / "inner")

    monkeypatch.setattr(os, "mkdir", swapped)
    tally = clone(tmp_path)
    assert os.listdir(tmp_path / "clone") == ["inner"] and os.listdir(tmp_path / "clone/inner") == []
    assert tally.changed == 1


@pytest.mark.parametrize("plant", [lambda path: path.symlink_to("/etc/passwd"), os.mkfifo, lambda path: None])
def test_file_that_becomes_something_else_is_not_read(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[Path], None]
) -> None:
    (source / "file").write_text("x")
    entries = clone_tree.entries

    def swapped(directory: int) -> Iterator[tuple[str, os.stat_result]]:
        for name, held in entries(directory):
            (source / name).unlink()
            plant(source / name)
            yield name, held

    monkeypatch.setattr(clone_tree, "entries", swapped)
    tally = clone(tmp_path)
    assert os.listdir(tmp_path / "clone") == [] and tally.changed == 1


def test_number_of_a_removed_file_does_not_link_another_one(tmp_path: Path, source: Path) -> None:
    """Inodes are used again: what has the number of a file with two names need not be that file."""
    for name in ("a", "b"):
        (source / name).mkdir()
        (source / name / "one").write_text(name)
        (source / name / "two").hardlink_to(source / name / "one")
    clone(tmp_path)
    assert {(tmp_path / "clone" / name / "two").read_text() for name in ("a", "b")} == {"a", "b"}
    assert (tmp_path / "clone/a/one").stat().st_nlink == 2


def test_file_that_cannot_be_cloned_ends_the_clone(tmp_path: Path, source: Path) -> None:
    (source / "file").write_text("x")

    def full(one: int, other: int) -> None:
        raise OSError(122, "Disk quota exceeded")

    with pytest.raises(OSError, match="quota"):
        clone(tmp_path, full)


def test_what_the_tick_raises_ends_the_clone(tmp_path: Path, source: Path) -> None:
    for number in range(50):
        (source / f"{number}").mkdir()

    def stop(tally: Tally) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clone(tmp_path, tick=stop)
    assert len(list((tmp_path / "clone").iterdir())) <= 50


def test_tree_that_is_deeper_than_any_path_is_cloned(tmp_path: Path, source: Path) -> None:
    with deep(source, 4200) as top, deep(tmp_path / "clone", 0) as target:
        assert TreeClone(top, target, copied).run(4, lambda _: None).entries == 4201
        assert count(target, 2, lambda _: None).entries == 4201
