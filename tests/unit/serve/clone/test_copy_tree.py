# SPDX-License-Identifier: Apache-2.0
"""A tree of another server is copied as it is, and a copy that was interrupted goes on where it was."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.serve.clone import copy_tree
from millrace.serve.clone.copy_tree import BLOCK, PARTIAL, Copied, TreeCopy

LARGE = os.urandom(3 * BLOCK + 77)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Directories, files, a hard link and a symbolic link."""
    tree = tmp_path / "source"
    (tree / "a/b").mkdir(parents=True)
    (tree / "a/large").write_bytes(LARGE)
    (tree / "a/b/small").write_text("small")
    os.chmod(tree / "a/b/small", 0o640)
    os.link(tree / "a/b/small", tree / "twin")
    os.symlink("/etc/passwd", tree / "link")
    os.utime(tree / "a/large", (1000, 1000))
    os.utime(tree / "a", (2000, 2000))
    (tmp_path / "target").mkdir()
    return tree


def copied(source: Path, tick: Callable[[], None] = lambda: None) -> Copied:
    descriptors = [os.open(path, os.O_RDONLY) for path in (source, source.parent / "target")]
    try:
        return TreeCopy(*descriptors, tick).run()
    finally:
        for one in descriptors:
            os.close(one)


def test_copy_equals_its_source(source: Path) -> None:
    target = source.parent / "target"
    done = copied(source)
    assert (target / "a/large").read_bytes() == LARGE
    assert (target / "a/b/small").stat().st_mode & 0o777 == 0o640
    assert (target / "twin").stat().st_ino == (target / "a/b/small").stat().st_ino
    assert os.readlink(target / "link") == "/etc/passwd"
    assert (target / "a/large").stat().st_mtime == 1000 and (target / "a").stat().st_mtime == 2000
    assert (done.unreadable, done.changed, done.skipped, done.kept) == (0, 0, 0, 0)
    assert done.entries == 7 and done.bytes == len(LARGE) + 5


def test_second_copy_writes_nothing_again(source: Path) -> None:
    copied(source)
    before = (source.parent / "target/a/large").stat().st_ino
    assert copied(source).kept == 2
    assert (source.parent / "target/a/large").stat().st_ino == before


def test_interrupted_copy_goes_on_where_it_was(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = source.parent / "target"
    os.unlink(source / "twin")
    os.unlink(source / "a/b/small")

    def stop() -> None:
        if [one for one in (target / "a").glob(f"{PARTIAL}*") if one.stat().st_size >= 2 * BLOCK]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copied(source, stop)
    assert not (target / "a/large").exists()
    read: list[int] = []
    pread = os.pread
    monkeypatch.setattr(copy_tree.os, "pread", lambda fd, size, at: read.append(at) or pread(fd, size, at))
    done = copied(source)
    assert min(read) == 2 * BLOCK
    assert (target / "a/large").read_bytes() == LARGE and done.bytes == len(LARGE)
    assert not list((target / "a").glob(f"{PARTIAL}*"))


def test_copy_ends_where_the_quota_of_the_share_ends(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = os.statvfs_result((1, 4096, 10, 10, 10, 10, 10, 10, 0, 255))
    monkeypatch.setattr(os, "fstatvfs", lambda descriptor: free)
    with pytest.raises(OSError, match="quota"):
        copied(source)
    assert not (source.parent / "target/a/large").exists()


def test_changed_source_is_not_continued_with_what_it_was(source: Path) -> None:
    copied(source)
    (source / "a/large").write_bytes(LARGE[::-1])
    copied(source)
    assert (source.parent / "target/a/large").read_bytes() == LARGE[::-1]


def test_link_in_the_place_of_a_file_is_replaced_and_not_followed(source: Path) -> None:
    outside = source.parent / "outside"
    outside.write_text("untouched")
    (source.parent / "target/a").mkdir()
    os.symlink(outside, source.parent / "target/a/large")
    copied(source)
    assert outside.read_text() == "untouched"
    assert (source.parent / "target/a/large").read_bytes() == LARGE


def test_unreadable_file_is_counted_and_the_rest_is_copied(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = os.open

    def squashed(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name == "large":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        return plain(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", squashed)
    assert copied(source).unreadable == 1
    assert (source.parent / "target/a/b/small").exists()
