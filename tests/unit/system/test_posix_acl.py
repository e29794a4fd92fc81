# SPDX-License-Identifier: Apache-2.0
"""Access lists: their bytes are those of setfacl, and the kernel obeys them whatever the umask."""

import errno
import os
from pathlib import Path

import pytest

from millrace.system import posix_acl

# What `setfacl --modify default:u::rwx,default:g::rwx,default:o::r-x` leaves (getfattr --encoding=hex).
OF_775 = "02000000 0100 0700 ffffffff 0400 0700 ffffffff 2000 0500 ffffffff"


def test_bytes_are_those_of_setfacl() -> None:
    assert posix_acl.encode(0o775) == bytes.fromhex(OF_775)


@pytest.mark.parametrize(("default", "file", "directory"), [(0o777, 0o666, 0o777), (0o770, 0o660, 0o770)])
def test_new_entries_get_the_default_list_whatever_the_umask(
    tmp_path: Path, default: int, file: int, directory: int
) -> None:
    posix_acl.write(str(tmp_path), posix_acl.DEFAULT, posix_acl.encode(default))
    before = os.umask(0o077)
    try:
        (tmp_path / "file").touch()
        (tmp_path / "inner").mkdir()
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == file
    assert (tmp_path / "inner").stat().st_mode & 0o777 == directory
    assert posix_acl.read(str(tmp_path / "inner"), posix_acl.DEFAULT) == posix_acl.encode(default)


def test_list_that_is_not_there_is_none_and_can_be_removed(tmp_path: Path) -> None:
    assert posix_acl.read(str(tmp_path), posix_acl.DEFAULT) is None
    posix_acl.write(str(tmp_path), posix_acl.DEFAULT, posix_acl.encode(0o770))
    for _ in range(2):
        posix_acl.write(str(tmp_path), posix_acl.DEFAULT, None)
        assert posix_acl.read(str(tmp_path), posix_acl.DEFAULT) is None


def test_other_errors_are_raised(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file") as raised:
        posix_acl.read(str(tmp_path / "gone"), posix_acl.ACCESS)
    assert raised.value.errno == errno.ENOENT
