# SPDX-License-Identifier: Apache-2.0
"""Records of a database of Samba are changed in one transaction, where this host has libtdb."""

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.system import tdb
from millrace.system.errors import Failed


def has_library() -> bool:
    try:
        ctypes.CDLL(tdb.LIBRARY)
    except OSError:
        return False
    return True


needs_library = pytest.mark.skipif(not has_library(), reason="libtdb is not installed: apt install libtdb1")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "some.tdb"
    library = tdb._library()
    handle = library.tdb_open(os.fsencode(path), 0, 0, os.O_RDWR | os.O_CREAT, 0o600)
    for key in (b"one\0", b"two\0"):
        assert library.tdb_store(handle, tdb._data(key), tdb._data(b"1"), 0) == 0
    library.tdb_close(handle)
    yield path


def read(path: Path) -> dict[bytes, bytes | None]:
    with tdb.transaction(path) as database:
        return {key: database.get(key) for key in (b"one\0", b"two\0", b"three\0")}


@needs_library
def test_records_are_replaced_and_deleted(database: Path) -> None:
    with tdb.transaction(database) as opened:
        opened.put(b"one\0", b"a longer one\0\1")
        opened.delete(b"two\0")
    assert read(database) == {b"one\0": b"a longer one\0\1", b"two\0": None, b"three\0": None}


@needs_library
def test_all_of_it_or_nothing(database: Path) -> None:
    with pytest.raises(Failed, match="Record does not exist"), tdb.transaction(database) as opened:
        opened.put(b"one\0", b"2")
        opened.put(b"three\0", b"3")
    with pytest.raises(Failed, match="a record cannot be deleted"), tdb.transaction(database) as opened:
        opened.delete(b"one\0")
        opened.delete(b"three\0")
    assert read(database) == {b"one\0": b"1", b"two\0": b"1", b"three\0": None}


@needs_library
def test_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="cannot be opened: No such file"), tdb.transaction(tmp_path / "none.tdb"):
        pytest.fail("it was opened")
    assert not (tmp_path / "none.tdb").exists()


def test_without_the_library_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tdb, "LIBRARY", "libnone.so.7")
    tdb._library.cache_clear()
    try:
        with pytest.raises(Failed, match=r"^libnone.so.7 is not installed$"), tdb.transaction(tmp_path / "x"):
            pytest.fail("it was opened")
    finally:
        tdb._library.cache_clear()
