# SPDX-License-Identifier: Apache-2.0
"""One file of SQLite: values by time and series. Its size is bounded, and the oldest values go first.

SQLite writes all of a change or nothing, whatever the power does (sqlite.org/atomiccommit.html), so a reader beside the
writer and a writer that was killed need nothing of their own.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from millrace.observe.history.series import HOUR, Key
from millrace.system.errors import Failed, LaterRelease

PAGE = 4096
DAY_BYTES = 16 << 20
"""The largest file in memory, with the values of a day."""
YEAR_BYTES = 64 << 20
"""The largest file on the pool, with the values of a year."""
VERSION = 1
WAIT = 5.0
"""Seconds that a reader or a writer waits for another one."""
TRIES = 12
"""A tenth of the values goes each time until there is room."""

_TABLES = f"""
CREATE TABLE IF NOT EXISTS series (
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, label TEXT NOT NULL, UNIQUE (kind, label));
CREATE TABLE IF NOT EXISTS minute (
  at INTEGER, series INTEGER, value REAL NOT NULL, PRIMARY KEY (at, series)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS slot (
  at INTEGER, series INTEGER, mean REAL NOT NULL, peak REAL NOT NULL, PRIMARY KEY (at, series)) WITHOUT ROWID;
PRAGMA user_version = {VERSION};
"""

Row = tuple[int, Key, float]
"""A value: seconds since 1970, series, value."""
Slot = tuple[int, Key, float, float]
"""A slot of the last year: seconds since 1970 at which it begins, series, mean, peak."""


class HistoryFile:
    """A file of values; `with` closes it. Failed: SQLite cannot read or write it; LaterRelease: a later one made it."""

    def __init__(self, path: Path, largest: int | None = None) -> None:
        """Open `path` for reading; with `largest` bytes for writing, and make it where it is missing."""
        self.path = path
        self._largest = largest
        with self._told():
            self._open()

    def _open(self) -> None:
        mode = "ro" if self._largest is None else "rwc"
        self._sql = sqlite3.connect(f"{self.path.as_uri()}?mode={mode}", uri=True, timeout=WAIT, isolation_level=None)
        version = self._sql.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise LaterRelease(f"{self.path} was written by a later version of Millrace")
        if self._largest is not None:
            self._sql.execute(f"PRAGMA page_size = {PAGE}")
            self._sql.execute(f"PRAGMA max_page_count = {self._largest // PAGE}")
            if version < VERSION:
                self._sql.executescript(_TABLES)

    def __enter__(self) -> Self:
        """Return the open file."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._sql.close()

    def write(
        self, rows: Iterable[Row] = (), slots: Iterable[Slot] = (), keep: tuple[int, int | None, int] | None = None
    ) -> None:
        """Add values, or replace them, in one step. Of `keep` the first two are times before which values go.

        The first is of the last day, the second of the last year, the third the time after which none may be: a clock
        was ahead. Without the second all of the last year stays. Failed: there is no room in the file system, or the
        file cannot be written.
        """
        rows, slots = list(rows), list(slots)
        for _ in range(TRIES):
            with self._told():
                try:
                    self._write(rows, slots, keep)
                    return
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode != sqlite3.SQLITE_FULL or not self._shrink():
                        raise
        raise Failed(f"{self.path} has no room for more values")

    def rows(self, since: int, kinds: Iterable[str]) -> Iterator[Row]:
        """Return the values of the last day from `since` on. Failed: the file cannot be read."""
        for at, key, values in self._select("minute", "value", since, kinds):
            yield at, key, values[0]

    def slots(self, since: int, kinds: Iterable[str]) -> Iterator[Slot]:
        """Return the slots of the last year from `since` on. Failed: the file cannot be read."""
        for at, key, values in self._select("slot", "mean, peak", since, kinds):
            yield at, key, values[0], values[1]

    def newest(self) -> int | None:
        """Return the time of the newest value; None without any. Failed: the file cannot be read."""
        with self._told():
            newest: int | None = self._sql.execute("SELECT max(at) FROM minute").fetchone()[0]
            return newest

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            aside = self._largest is not None and _is_damaged(error) and _put_aside(self.path)
            raise Failed(f"{self.path}: {error}{'; it was put aside' if aside else ''}") from error

    def _select(
        self, table: str, columns: str, since: int, kinds: Iterable[str]
    ) -> Iterator[tuple[int, Key, list[float]]]:
        wanted = sorted(set(kinds))
        marks = ", ".join("?" * len(wanted))
        words = (
            f"SELECT at, kind, label, {columns} FROM {table} JOIN series ON series.id = {table}.series "
            f"WHERE at >= ? AND kind IN ({marks}) ORDER BY at"
        )
        with self._told():
            for at, kind, label, *values in self._sql.execute(words, [since, *wanted]):
                yield at, (kind, label), values

    def _write(self, rows: list[Row], slots: list[Slot], keep: tuple[int, int | None, int] | None) -> None:
        self._sql.execute("BEGIN IMMEDIATE")
        try:
            if keep is not None:
                self._prune(*keep)
            numbers = self._numbers({row[1] for row in rows} | {slot[1] for slot in slots})
            self._sql.executemany(
                "INSERT OR REPLACE INTO minute VALUES (?, ?, ?)", ((at, numbers[key], value) for at, key, value in rows)
            )
            self._sql.executemany(
                "INSERT OR REPLACE INTO slot VALUES (?, ?, ?, ?)",
                ((at, numbers[key], mean, peak) for at, key, mean, peak in slots),
            )
            self._sql.execute("COMMIT")
        except BaseException:
            # a full file system has rolled it back already
            if self._sql.in_transaction:
                self._sql.execute("ROLLBACK")
            raise

    def _numbers(self, keys: Iterable[Key]) -> Mapping[Key, int]:
        self._sql.executemany("INSERT OR IGNORE INTO series (kind, label) VALUES (?, ?)", keys)
        return {
            (kind, label): number for number, kind, label in self._sql.execute("SELECT id, kind, label FROM series")
        }

    def _prune(self, day: int, year: int | None, end: int) -> None:
        self._sql.execute("DELETE FROM minute WHERE at < ? OR at > ?", (day, end))
        if year is not None:
            self._sql.execute("DELETE FROM slot WHERE at < ? OR at > ?", (year, end))
        # Once an hour is often enough for names that are not used any more; on the pool that is each time.
        if end % HOUR < 120 or self._largest == YEAR_BYTES:
            self._sql.execute(
                "DELETE FROM series WHERE id NOT IN (SELECT series FROM minute UNION SELECT series FROM slot)"
            )

    def _shrink(self) -> bool:
        """Whether the oldest tenth could be removed; not from a file below its limit: others filled the drive."""
        pages = self._sql.execute("PRAGMA page_count").fetchone()[0]
        if self._largest is None or pages < 0.9 * (self._largest // PAGE):
            return False
        removed = 0
        for table in ("slot", "minute"):
            oldest, newest = self._sql.execute(f"SELECT min(at), max(at) FROM {table}").fetchone()
            if oldest is not None and newest > oldest:
                limit = oldest + max(1, (newest - oldest) // 10)
                removed += self._sql.execute(f"DELETE FROM {table} WHERE at < ?", (limit,)).rowcount
        return removed > 0


def opened(path: Path, largest: int, mode: int) -> HistoryFile:
    """Return a database for writing. One that is damaged is put aside as `NAME.damaged`, and another one begun.

    Damage that only a later read or write finds is put aside by that, and the next call begins another one.

    Failed: SQLite cannot write it. LaterRelease: a later release made it. OSError: it cannot be put aside.
    """
    _made(path, mode)
    try:
        return HistoryFile(path, largest)
    except Failed as error:
        if not _is_damaged(error.__cause__):
            raise
        _made(path, mode)
        return HistoryFile(path, largest)


def _made(path: Path, mode: int) -> None:
    """Give a file its mode before it has content: a user who opened it earlier could hold a lock for good."""
    path.touch(mode)
    path.chmod(mode)


def _put_aside(path: Path) -> bool:
    os.replace(path, path.with_name(f"{path.name}.damaged"))
    path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
    return True


def _is_damaged(error: BaseException | None) -> bool:
    codes = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in codes
