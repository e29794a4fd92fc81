# SPDX-License-Identifier: Apache-2.0
"""The ioctls of XFS have the layout of kernel 7.2, and answers are read no further than they reach."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.system import xfs
from millrace.system.xfs import Handle, InodeLink
from tests.fakes.xfs import BULKSTAT, FSGEOMETRY, GETPARENTS_BY_HANDLE, ROOT, V5, Xfs


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Xfs:
    made = Xfs()
    monkeypatch.setattr(fcntl, "ioctl", made.ioctl)
    return made


@pytest.fixture
def top(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def test_requests_and_structures_are_those_of_the_header() -> None:
    """Printed by a program that was compiled with fs/xfs/libxfs/xfs_fs.h of kernel 7.2."""
    assert (xfs._GEOMETRY, xfs._BULKSTAT, xfs._PARENTS) == (0x8100587E, 0x8040587F, 0xC040583F)
    assert (xfs._GEOMETRY, xfs._BULKSTAT, xfs._PARENTS) == (FSGEOMETRY, BULKSTAT, GETPARENTS_BY_HANDLE)
    # the size is in the number of each request: struct xfs_fsop_geom, xfs_bulkstat_req, xfs_getparents_by_handle
    assert [one >> 16 & 0x3FFF for one in (xfs._GEOMETRY, xfs._BULKSTAT, xfs._PARENTS)] == [256, 64, 64]
    sizes = [one.size for one in (xfs._FLAGS, xfs._REQUEST, xfs._INODE, xfs._BY_HANDLE, xfs._OFLAGS, xfs._RECORD)]
    assert sizes == [256, 64, 192, 64, 64, 32]


def test_features_are_the_flags_of_the_geometry(fake: Xfs, top: int) -> None:
    assert xfs.features(top) == V5
    assert V5 & xfs.PARENT


def test_file_system_of_another_kind_has_no_features(top: int) -> None:
    with pytest.raises(OSError) as raised:
        xfs.features(top)
    assert raised.value.errno in (errno.ENOTTY, errno.EOPNOTSUPP)


def test_inode_is_found_with_its_generation(fake: Xfs, top: int) -> None:
    fake.add(2**40 + 5, (ROOT, b"x"), (ROOT, b"y"))
    found = xfs.inode(top, 2**40 + 5)
    assert found == (Handle(2**40 + 5, fake.nodes[2**40 + 5].generation), 2, stat.S_IFREG | 0o644)


def test_number_that_is_not_used_is_not_taken_for_the_next_inode(fake: Xfs, top: int) -> None:
    fake.add(200, (ROOT, b"x"))
    assert xfs.inode(top, 199) is None
    assert xfs.inode(top, 201) is None


@pytest.mark.parametrize("at_once", [1, 3, 14])
def test_every_link_is_read_in_as_many_calls_as_it_takes(fake: Xfs, top: int, at_once: int) -> None:
    fake.at_once = at_once
    names = [b"\xff" * 255, b"a\nb", *(b"%d" % number for number in range(20))]
    fake.add(200, *((ROOT, name) for name in names))
    handle = Handle(200, fake.nodes[200].generation)
    found = xfs.parents(top, handle, 100)
    assert found == ([InodeLink(Handle(ROOT, 0), name) for name in names], False, False)
    assert len(fake.asked) == -(-22 // at_once)
    some = xfs.parents(top, handle, 5)
    assert ([one.name for one in some.links], some.more) == (names[:5], True)


def test_root_has_no_links(fake: Xfs, top: int) -> None:
    assert xfs.parents(top, Handle(ROOT, 0), 1) == ([], True, False)


def test_handle_of_an_earlier_life_is_stale(fake: Xfs, top: int) -> None:
    fake.add(200, (ROOT, b"x"))
    with pytest.raises(OSError, match="Stale file handle"):
        xfs.parents(top, Handle(200, 1), 1)
