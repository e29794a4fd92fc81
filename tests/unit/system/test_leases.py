# SPDX-License-Identifier: Apache-2.0
"""Which inodes are held for writing, as the kernel writes its table of locks."""

import os
from pathlib import Path

import pytest

from millrace.system import leases, paths
from millrace.system.errors import Failed

# As kernel 7.2 prints it; device 09:7f is /dev/md127.
LOCKS = """\
1: DELEG  ACTIVE    WRITE 1093 09:7f:131 0 EOF
2: DELEG  ACTIVE    READ 1093 09:7f:132 0 EOF
3: LEASE  ACTIVE    WRITE 2201 09:7f:133 0 EOF
3: -> LEASE  BREAKER   WRITE 2202 <none>:0 0 EOF
4: DELEG  BREAKING  READ 1093 09:7f:134 0 EOF
5: DELEG  BREAKING  UNLCK 1093 09:7f:18446744073709551615 0 EOF
5:  -> DELEG  BREAKER   READ 7 <none>:0 0 EOF
6: DELEG  ACTIVE    WRITE 1093 103:10000:136 0 EOF
7: POSIX  ADVISORY  WRITE 812 09:7f:137 0 1073741825
7: -> POSIX  ADVISORY  WRITE 813 09:7f:137 0 0
8: FLOCK  ADVISORY  WRITE 1 09:7f:138 0 EOF
9: OFDLCK ADVISORY  WRITE -1 09:7f:139 0 EOF
10: POSIX  *NOINODE* WRITE 5 <none>:0 0 EOF
11: UNKNOWN UNKNOWN  WRITE 5 09:7f:140 0 EOF
"""


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / "proc").mkdir()
    return tmp_path / "proc/locks"


def test_inodes_held_for_writing_are_those_of_the_device(table: Path) -> None:
    table.write_text(LOCKS)
    assert leases.held_for_writing(os.makedev(9, 127)) == {131, 133, 134, 18446744073709551615}
    assert leases.held_for_writing(os.makedev(0x103, 0x10000)) == {136}
    assert leases.held_for_writing(os.makedev(9, 126)) == set()


def test_table_without_locks_holds_nothing(table: Path) -> None:
    table.touch()
    assert leases.held_for_writing(os.makedev(9, 127)) == set()


@pytest.mark.parametrize(
    "line",
    [
        "1: DELEG",
        "1: DELEG  ACTIVE    WRITE 1093 09:7f:131",
        "1: DELEG  ACTIVE    WRITE 1093 09:7f:131 0 EOF more",
        "1: LEASE  RETURNED  WRITE 1093 09:7f:131 0 EOF",
        "1: DELEG  ACTIVE    RW 1093 09:7f:131 0 EOF",
        "1: -> DELEG  ACTIVE    WRITE 1093 127:131 0 EOF",
    ],
)
def test_entry_of_an_unknown_form_is_an_error(table: Path, line: str) -> None:
    table.write_text(f"{LOCKS}{line}\n")
    with pytest.raises(Failed, match=r"/proc/locks has an entry of an unknown form: .*1: "):
        leases.held_for_writing(os.makedev(9, 127))


def test_table_that_cannot_be_read_is_an_error(table: Path) -> None:
    with pytest.raises(FileNotFoundError):
        leases.held_for_writing(os.makedev(9, 127))
