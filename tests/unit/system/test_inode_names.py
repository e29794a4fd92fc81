# SPDX-License-Identifier: Apache-2.0
"""An inode has all its paths, whatever names clients choose and whatever they rename meanwhile."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.system.inode_names import LONGEST, RENAMED, InodeNames, Named
from tests.fakes.xfs import BULKSTAT, GETPARENTS_BY_HANDLE, ROOT, Xfs

FILE = 5000


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Xfs:
    made = Xfs()
    monkeypatch.setattr(fcntl, "ioctl", made.ioctl)
    for number, (above, name) in enumerate([(ROOT, b"data"), (1000, b"deep"), (ROOT, b"home")]):
        made.directory(1000 + number, above, name)
    return made


@pytest.fixture
def names(fake: Xfs, tmp_path: Path) -> Iterator[InodeNames]:
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield InodeNames(descriptor)
    os.close(descriptor)


def found(names: InodeNames, number: int = FILE, most: int = 10) -> Named:
    named = names.named(number, most)
    assert named is not None
    return named


def test_file_has_the_path_from_the_root(fake: Xfs, names: InodeNames) -> None:
    fake.add(FILE, (1001, b"victim"))
    assert found(names).paths == [b"data/deep/victim"]
    assert stat.S_ISREG(found(names).inode.mode)


def test_every_hard_link_is_a_path(fake: Xfs, names: InodeNames) -> None:
    fake.add(FILE, (1001, b"one"), (1002, b"two"))
    assert found(names).paths == [b"data/deep/one", b"home/two"]
    assert (found(names, most=1).paths, found(names, most=1).more) == ([b"data/deep/one"], True)


def test_directory_and_root_have_names_too(fake: Xfs, names: InodeNames) -> None:
    assert (found(names, 1001).paths, found(names, ROOT).paths) == ([b"data/deep"], [b"."])


def test_directory_is_read_once_for_all_its_files(fake: Xfs, names: InodeNames) -> None:
    for number in range(100):
        fake.add(FILE + number, (1001, b"%d" % number))
    for number in range(100):
        assert found(names, FILE + number).paths == [b"data/deep/%d" % number]
    # the way up: two directories and the root
    assert fake.asked.count(GETPARENTS_BY_HANDLE) == 100 + 3


def test_number_of_a_removed_file_has_no_name(fake: Xfs, names: InodeNames) -> None:
    assert names.named(FILE, 10) is None
    # removed, and a client has it open
    fake.add(FILE)
    assert names.named(FILE, 10) is None


def test_file_removed_between_two_requests_is_dropped(fake: Xfs, names: InodeNames) -> None:
    fake.add(FILE, (1001, b"victim"))

    def removed(request: int) -> None:
        if request == GETPARENTS_BY_HANDLE:
            fake.nodes.pop(FILE, None)

    fake.before = removed
    assert names.named(FILE, 10) is None


def test_number_given_to_another_file_meanwhile_has_the_name_of_that_file(fake: Xfs, names: InodeNames) -> None:
    fake.add(FILE, (1001, b"victim"))

    def reused(request: int) -> None:
        if request == GETPARENTS_BY_HANDLE and fake.nodes[FILE].generation < 10**6:
            fake.add(FILE, (1002, b"other"))
            fake.nodes[FILE].generation = 10**6

    fake.before = reused
    assert found(names).paths == [b"home/other"]


def test_directory_that_is_removed_after_its_file_was_moved_is_read_again(fake: Xfs, names: InodeNames) -> None:
    fake.add(FILE, (1001, b"victim"))

    def moved(request: int) -> None:
        if fake.asked.count(GETPARENTS_BY_HANDLE) == 1 and 1001 in fake.nodes:
            fake.add(FILE, (1002, b"victim"))
            del fake.nodes[1001]

    fake.before = moved
    assert found(names).paths == [b"home/victim"]


def test_circle_that_renames_show_is_read_again(fake: Xfs, names: InodeNames) -> None:
    """a/b/victim: b is moved out of a, and a into b, between two requests."""
    fake.directory(2000, ROOT, b"a")
    fake.directory(2001, 2000, b"b")
    fake.add(FILE, (2001, b"victim"))

    def swapped(request: int) -> None:
        # the file and b were read
        if fake.asked.count(GETPARENTS_BY_HANDLE) == 2:
            fake.directory(2001, ROOT, b"b")
            fake.directory(2000, 2001, b"a")

    fake.before = swapped
    assert found(names).paths == [b"b/victim"]
    assert fake.asked.count(BULKSTAT) == 2


def test_directory_that_never_rests_ends_the_search_of_its_file_alone(fake: Xfs, names: InodeNames) -> None:
    fake.directory(2000, 2001, b"a")
    fake.directory(2001, 2000, b"b")
    fake.add(FILE, (2001, b"victim"), (1001, b"victim"))
    named = found(names)
    assert (named.paths, named.problem) == ([b"data/deep/victim"], RENAMED)


def test_path_of_any_depth_ends(fake: Xfs, names: InodeNames) -> None:
    above = ROOT
    for number in range(3000):
        above = fake.directory(10_000 + number, above, b"d%d" % number)
    fake.add(FILE, (above, b"vic\x1btim"))
    named = found(names)
    assert named.paths == [] and named.problem is not None
    assert named.problem.startswith(f"has a path of more than {LONGEST} bytes that ends in ")
    assert named.problem.endswith("d2998/d2999/vic\\x1btim")
    assert len(fake.asked) < 1200


def test_inode_that_cannot_be_read_is_an_error(fake: Xfs, names: InodeNames) -> None:
    fake.add(FILE, (1001, b"victim"))
    fake.nodes[1001].problem = errno.EUCLEAN
    with pytest.raises(OSError, match="Structure needs cleaning"):
        names.named(FILE, 10)


def test_no_more_directories_are_kept_than_there_is_memory_for(
    fake: Xfs, names: InodeNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millrace.system.inode_names.KEPT", 10)
    for number in range(100):
        fake.directory(9000 + number, 1001, b"%d" % number)
        fake.add(FILE + number, (9000 + number, b"file"))
        assert found(names, FILE + number).paths == [b"data/deep/%d/file" % number]
        assert len(names._above) <= 10
