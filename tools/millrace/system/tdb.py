# SPDX-License-Identifier: Apache-2.0
"""Databases of Samba (tdb(3)): many records changed in one transaction of libtdb, which its own tools do one by one.

smbd may have the database open meanwhile: the library locks it, and readers see the old or the new records.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from millrace.system.errors import Failed

LIBRARY = "libtdb.so.1"


class _Data(ctypes.Structure):
    """TDB_DATA: it goes to the library, and comes back from it, by value."""

    _fields_ = (("pointer", ctypes.c_void_p), ("size", ctypes.c_size_t))


class Database:
    """An open database in a transaction."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def get(self, key: bytes) -> bytes | None:
        """Return the record of a key; None if there is none. Failed: libtdb is gone."""
        data = _library().tdb_fetch(self._handle, _data(key))
        if not data.pointer:
            return None
        try:
            return ctypes.string_at(data.pointer, data.size)
        finally:
            _free(data.pointer)

    def put(self, key: bytes, record: bytes) -> None:
        """Replace a record that exists. Failed: the database does not take it."""
        if _library().tdb_store(self._handle, _data(key), _data(record), _MODIFY):
            raise Failed(f"a record cannot be written: {_error(self._handle)}")

    def delete(self, key: bytes) -> None:
        """Delete a record that exists. Failed: the database does not delete it."""
        if _library().tdb_delete(self._handle, _data(key)):
            raise Failed(f"a record cannot be deleted: {_error(self._handle)}")


@contextmanager
def transaction(path: Path) -> Iterator[Database]:
    """Open a database, waiting for others who change it; what the block does takes effect when it ends, or not at all.

    Failed: it cannot be opened or written.
    """
    handle = _library().tdb_open(os.fsencode(path), 0, 0, os.O_RDWR, 0o600)
    if not handle:
        raise Failed(f"{path} cannot be opened: {os.strerror(ctypes.get_errno())}")
    try:
        if _library().tdb_transaction_start(handle):
            raise Failed(f"{path} cannot be changed: {_error(handle)}")
        try:
            yield Database(handle)
        except BaseException:
            _library().tdb_transaction_cancel(handle)
            raise
        if _library().tdb_transaction_commit(handle):
            raise Failed(f"{path} cannot be written: {_error(handle)}")
    finally:
        _library().tdb_close(handle)


_MODIFY = 3  # TDB_MODIFY


def _data(value: bytes) -> _Data:
    return _Data(ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p), len(value))


def _error(handle: int) -> str:
    return str(_library().tdb_errorstr(handle).decode(errors="replace"))


def _free(pointer: int) -> None:
    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]
    libc.free(pointer)


@cache
def _library() -> ctypes.CDLL:
    """Failed: there is none."""
    try:
        made = ctypes.CDLL(LIBRARY, use_errno=True)
    except OSError as error:
        raise Failed(f"{LIBRARY} is not installed") from error
    handle, number = ctypes.c_void_p, ctypes.c_int
    made.tdb_open.argtypes, made.tdb_open.restype = [ctypes.c_char_p, number, number, number, ctypes.c_uint], handle
    made.tdb_fetch.argtypes, made.tdb_fetch.restype = [handle, _Data], _Data
    made.tdb_store.argtypes, made.tdb_delete.argtypes = [handle, _Data, _Data, number], [handle, _Data]
    made.tdb_errorstr.argtypes, made.tdb_errorstr.restype = [handle], ctypes.c_char_p
    for name in ("transaction_start", "transaction_cancel", "transaction_commit", "close"):
        getattr(made, f"tdb_{name}").argtypes = [handle]
    return made
