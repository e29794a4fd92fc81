# SPDX-License-Identifier: Apache-2.0
"""Files are opened by their inode through parent pointers; what a client puts in place of a name is not followed."""

import fcntl
import os
import stat
from pathlib import Path

import pytest

from millrace.storage.scrub import file_names
from millrace.system import paths
from millrace.system.trees.walk import regular_files
from tests.fakes.xfs import GETPARENTS_BY_HANDLE, ROOT, V5_OF_6_1, Xfs

DIRS = 2**40
"""Numbers that no file of the test has."""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "pool/data/deep").mkdir(parents=True)
    return tmp_path / "pool"


@pytest.fixture
def xfs(monkeypatch: pytest.MonkeyPatch) -> Xfs:
    made = Xfs()
    monkeypatch.setattr(fcntl, "ioctl", made.ioctl)
    monkeypatch.setattr(file_names, "regular_files", None)
    made.directory(DIRS + 0, ROOT, b"data")
    made.directory(DIRS + 1, DIRS + 0, b"deep")
    made.directory(DIRS + 2, ROOT, os.fsencode(paths.POOL_OWN))
    return made


def file(top: Path, name: bytes) -> int:
    path = os.fsencode(top) + b"/" + name
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    return os.stat(path).st_ino


def opened(top: Path, *inodes: int) -> list[str]:
    found = []
    for name, descriptor in file_names.opened(top, set(inodes)):
        os.pwrite(descriptor, b"written", 0)
        assert os.fstat(descriptor).st_ino in inodes
        found.append(name)
    return found


def test_file_is_opened_once_by_any_of_its_names(top: Path, xfs: Xfs) -> None:
    inode = file(top, b"data/deep/a\n\xff")
    os.link(os.fsencode(top) + b"/data/deep/a\n\xff", top / "data/two")
    xfs.add(inode, (DIRS + 1, b"a\n\xff"), (DIRS + 0, b"two"))
    assert opened(top, inode) == ["data/deep/a\\n\\xff"]
    assert (top / "data/two").read_bytes() == b"written"


def test_name_that_leads_elsewhere_by_now_is_not_written(top: Path, xfs: Xfs, tmp_path: Path) -> None:
    inode = file(top, b"data/deep/victim")
    outside = tmp_path / "secret"
    outside.write_text("secret")
    (top / "data/link").symlink_to(outside)
    (top / "data/away").symlink_to(tmp_path)
    xfs.directory(DIRS + 3, DIRS + 0, b"away")
    other = file(top, b"data/other")
    xfs.add(
        inode,
        (DIRS + 0, b"link"),
        (DIRS + 3, b"secret"),
        (DIRS + 0, b"other"),
        (DIRS + 0, b"gone"),
        (DIRS + 0, b"deep"),
    )
    assert opened(top, inode) == []
    assert (outside.read_text(), (top / "data/other").read_bytes(), other > 0) == ("secret", b"", True)


def test_file_that_is_renamed_between_its_name_and_the_opening_is_found(top: Path, xfs: Xfs) -> None:
    inode = file(top, b"data/deep/victim")
    xfs.add(inode, (DIRS + 0, b"before"))

    def renamed(request: int) -> None:
        # the file, and two directories above it, were read once
        if xfs.asked.count(GETPARENTS_BY_HANDLE) == 3:
            xfs.add(inode, (DIRS + 1, b"victim"))

    xfs.before = renamed
    assert opened(top, inode) == ["data/deep/victim"]


def test_file_of_the_server_is_not_opened(top: Path, xfs: Xfs) -> None:
    (top / paths.POOL_OWN).mkdir()
    inode = file(top, f"{paths.POOL_OWN}/heartbeat".encode())
    xfs.add(inode, (DIRS + 2, b"heartbeat"))
    assert opened(top, inode) == []


def test_pipe_and_removed_file_are_none(top: Path, xfs: Xfs) -> None:
    os.mkfifo(top / "data/pipe")
    inode = (top / "data/pipe").stat().st_ino
    xfs.add(inode, (DIRS + 0, b"pipe"), mode=stat.S_IFIFO | 0o644)
    assert opened(top, inode, 10**9) == []


def test_without_parent_pointers_files_are_opened_by_a_walk(top: Path, xfs: Xfs) -> None:
    xfs.flags = V5_OF_6_1
    assert opened(top, file(top, b"data/deep/victim")) == ["data/deep/victim"]


def test_no_more_names_are_kept_than_are_wanted_and_the_rest_is_counted(top: Path, xfs: Xfs) -> None:
    for number in range(5):
        xfs.add(5000 + number, (DIRS, b"%d" % number), (DIRS + 1, b"%d" % number))
        xfs.add(6000 + number, *((DIRS, b"p%d-%d" % (number, link)) for link in range(4)), mode=stat.S_IFIFO | 0o644)
    found = file_names.names(top, [*range(5000, 5005), *range(6000, 6005)], 3)
    assert found.files == {5000: ["data/0", "data/deep/0"], 5001: ["data/1"]}
    assert found.others == ["special file data/p0-0", "special file data/p0-1", "special file data/p0-2"]
    assert (found.count, found.more_others, found.complete, found.notes) == (10, 17, True, [])
    everything = file_names.names(top, [*range(5000, 5005), *range(6000, 6005)])
    assert (len(everything.files), len(everything.others), everything.more_others) == (5, 20, 0)


def test_files_with_more_names_than_are_listed_fill_no_memory(
    top: Path, xfs: Xfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_names, "MOST", 2)
    for number in range(30):
        xfs.add(5000 + number, *((DIRS, b"%d-%d" % (number, link)) for link in range(3)))
    found = file_names.names(top, range(5000, 5030))
    assert found.notes[0] == "data/0-0 has 3 names, of which 2 are listed"
    assert found.notes[10:] == ["20 more have more than 2 names each"]


def test_walk_keeps_no_more_names_than_are_wanted(top: Path, xfs: Xfs, monkeypatch: pytest.MonkeyPatch) -> None:
    xfs.flags = V5_OF_6_1
    monkeypatch.setattr(file_names, "regular_files", regular_files)
    inodes = [file(top, b"data/%d" % number) for number in range(5)]
    found = file_names.names(top, [*inodes, *range(10**9, 10**9 + 9)], 3)
    assert (len(found.files), found.count, len(found.others), found.more_others) == (3, 5, 3, 6)
