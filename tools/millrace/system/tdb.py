# SPDX-License-Identifier: Apache-2.0
"""Databases of Samba (tdb(3)): many records changed in one transaction, which Samba's own tools do one by one.

smbd may have the database open meanwhile: the library locks it, and readers see the old or the new records. The module
is Samba's own (python3-tdb), of the source that smbd is built from.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from millrace.system.errors import Failed

_NO_FLAGS, _DEFAULT_HASH = 0, 0


class Database:
    """An open database in a transaction."""

    def __init__(self, opened: Any, modify: int) -> None:
        self._opened, self._modify = opened, modify

    def get(self, key: bytes) -> bytes | None:
        """Return the record of a key; None if there is none."""
        found: bytes | None = self._opened.get(key)
        return found

    def put(self, key: bytes, record: bytes) -> None:
        """Replace a record that exists. Failed: the database does not take it."""
        with _failing("a record cannot be written"):
            self._opened.store(key, record, self._modify)

    def delete(self, key: bytes) -> None:
        """Delete a record that exists. Failed: the database does not delete it."""
        with _failing("a record cannot be deleted"):
            self._opened.delete(key)


@contextmanager
def transaction(path: Path) -> Iterator[Database]:
    """Open a database, waiting for others who change it; what the block does takes effect when it ends, or not at all.

    Failed: it cannot be opened or written, or python3-tdb is not installed.
    """
    try:
        tdb = import_module("tdb")
    except ImportError as error:
        raise Failed("python3-tdb is not installed") from error
    try:
        opened = tdb.open(str(path), _DEFAULT_HASH, _NO_FLAGS, os.O_RDWR, 0o600)
    except OSError as error:
        raise Failed(f"{path} cannot be opened: {error.strerror}") from error
    try:
        with _failing(f"{path} cannot be changed"):
            opened.transaction_start()
        try:
            yield Database(opened, tdb.MODIFY)
        except BaseException:
            opened.transaction_cancel()
            raise
        with _failing(f"{path} cannot be written"):
            opened.transaction_commit()
    finally:
        opened.close()


@contextmanager
def _failing(what: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        # a number of tdb.h and tdb_errorstr()
        raise Failed(f"{what}: {error.args[-1]}") from error
