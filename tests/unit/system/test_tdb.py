# SPDX-License-Identifier: Apache-2.0
"""Records of a database of Samba are changed in one transaction, where this host has python3-tdb."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from millrace.system import tdb
from millrace.system.errors import Failed

needs_library = pytest.mark.skipif(
    importlib.util.find_spec("tdb") is None, reason="python3-tdb is not installed: apt install python3-tdb"
)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    import tdb as library

    path = tmp_path / "some.tdb"
    opened = library.open(str(path), 0, 0, os.O_RDWR | os.O_CREAT, 0o600)
    for key in (b"one\0", b"two\0"):
        opened.store(key, b"1")
    opened.close()
    return path


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


@needs_library
def test_exception_in_the_block_changes_nothing(database: Path) -> None:
    with pytest.raises(ZeroDivisionError), tdb.transaction(database) as opened:
        opened.put(b"one\0", b"2")
        opened.delete(b"two\0")
        _ = 1 / 0
    assert read(database) == {b"one\0": b"1", b"two\0": b"1", b"three\0": None}


@needs_library
def test_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "some.tdb").write_bytes(b"text" * 4096)
    with pytest.raises(Failed, match=r"some.tdb cannot be opened: "), tdb.transaction(tmp_path / "some.tdb"):
        pytest.fail("it was opened")


def test_without_the_module_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "tdb", None)
    with pytest.raises(Failed, match=r"^python3-tdb is not installed$"), tdb.transaction(tmp_path / "x"):
        pytest.fail("it was opened")
