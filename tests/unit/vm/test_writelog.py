# SPDX-License-Identifier: Apache-2.0
"""A log of writes is read as dm-log-writes describes it, up to what is not complete."""

import struct
from pathlib import Path

import pytest

from millrace.system.errors import BadInput
from vm.writelog import DISCARD, FLUSH, MAGIC, MARK, Entry, Part, read, replay

SUPERBLOCK = struct.pack("<QQQI", MAGIC, 1, 1, 512).ljust(512, b"\0")


def header(sector: int, count: int, flags: int = 0) -> bytes:
    return struct.pack("<QQQQ", sector, count, flags, 0).ljust(512, b"\0")


def log(path: Path, *parts: bytes) -> Path:
    path.write_bytes(SUPERBLOCK + b"".join(parts))
    return path


def test_entries_are_read_past_the_count_of_the_superblock(tmp_path: Path) -> None:
    """A discard has no data, and a mark is no request."""
    made = log(
        tmp_path / "log",
        header(8, 2),
        b"a" * 1024,
        header(0, 0, FLUSH),
        header(64, 16, DISCARD),
        header(0, 0, MARK),
        header(16, 1),
        b"b" * 512,
    )
    entries = read(made)
    assert entries == [
        Entry(8, 2, 0, 1024),
        Entry(0, 0, FLUSH, 2560),
        Entry(64, 16, DISCARD, 3072),
        Entry(16, 1, 0, 4096),
    ]
    assert [entry.flush for entry in entries] == [False, True, False, False]
    assert [entry.discard for entry in entries] == [False, False, True, False]


@pytest.mark.parametrize("end", [1, 511, 512, 513, 1023])
def test_last_entry_that_is_cut_off_is_left_out(tmp_path: Path, end: int) -> None:
    last = (header(16, 1) + b"b" * 512)[:end]
    assert read(log(tmp_path / "log", header(8, 1), b"a" * 512, last)) == [Entry(8, 1, 0, 1024)]


def test_place_of_a_request_that_was_under_way_ends_the_log(tmp_path: Path) -> None:
    made = log(tmp_path / "log", header(8, 1), b"a" * 512, bytes(1024), header(9, 1), b"b" * 512)
    assert read(made) == [Entry(8, 1, 0, 1024)]


def test_log_before_the_first_flush_has_no_superblock(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(bytes(512) + header(8, 1) + b"a" * 512)
    assert read(path) == [Entry(8, 1, 0, 1024)]
    path.write_bytes(b"")
    assert read(path) == []


@pytest.mark.parametrize("first", [struct.pack("<QQQI", MAGIC, 1, 1, 4096), b"QFI\xfb"])
def test_file_that_is_no_such_log_is_refused(tmp_path: Path, first: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(first.ljust(4096, b"\0"))
    with pytest.raises(BadInput, match="no log of writes with sectors of 512 bytes"):
        read(path)


def test_parts_are_written_in_their_order_and_nothing_else(tmp_path: Path) -> None:
    made = log(tmp_path / "log", header(1, 2), b"a" * 512 + b"A" * 512, header(2, 1), b"b" * 512, header(0, 1, DISCARD))
    drive = tmp_path / "drive"
    drive.write_bytes(b"." * 2048)
    first, second, third = read(made)
    replay(made, [Part(second, 0, 1), Part(first, 1, 1), Part(third, 0, 1)], drive)
    assert drive.read_bytes() == bytes(512) + b"." * 512 + b"A" * 512 + b"." * 512
    replay(made, [Part(first, 0, 2), Part(second, 0, 1)], drive)
    assert drive.read_bytes() == bytes(512) + b"a" * 512 + b"b" * 512 + b"." * 512
