# SPDX-License-Identifier: Apache-2.0
"""One file whose size is bounded; damage, a later release and a full drive end in a sentence."""

import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.observe.history.database import DAY_BYTES, PAGE, YEAR_BYTES, HistoryFile, opened
from millrace.observe.history.series import DAY, HOUR, MINUTE
from millrace.system.errors import Failed, LaterRelease

SMALL = 64 * PAGE
NOW = 1_800_000_000 // HOUR * HOUR


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


def test_value_of_a_minute_is_replaced_and_read_by_kind(path: Path) -> None:
    with opened(path, DAY_BYTES, 0o644) as database:
        database.write([(NOW, ("cpu", ""), 0.1), (NOW, ("nfs-read", ""), 5.0)])
        database.write([(NOW, ("cpu", ""), 0.2)], [(NOW, ("cpu", ""), 0.3, 0.4)])
    with HistoryFile(path) as reader:
        assert list(reader.rows(0, ["cpu"])) == [(NOW, ("cpu", ""), 0.2)]
        assert list(reader.slots(0, ["cpu", "nfs-read"])) == [(NOW, ("cpu", ""), 0.3, 0.4)]
        assert reader.newest() == NOW
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_size_is_bounded_and_the_oldest_values_go_first(path: Path) -> None:
    with opened(path, SMALL, 0o600) as database:
        for minute in range(600):
            rows = [(NOW + minute * MINUTE, ("client-read", f"10.0.0.{number}"), 1.5) for number in range(40)]
            database.write(rows)
            assert path.stat().st_size <= SMALL
        times = {at for at, _, _ in database.rows(0, ["client-read"])}
    assert max(times) == NOW + 599 * MINUTE and NOW < min(times) < NOW + 400 * MINUTE


def test_day_of_500_shares_and_300_clients_fits_into_memory(path: Path) -> None:
    """Per minute 20 values of the largest clients and shares each, 64 of ports, 20 of the server."""
    names = [("client-read", f"10.0.{number}.1") for number in range(124)]
    with opened(path, DAY_BYTES, 0o600) as database:
        for hour in range(25):
            minutes = range(NOW + hour * HOUR, NOW + (hour + 1) * HOUR, MINUTE)
            rows = [(at, name, 1e9 / 7) for at in minutes for name in names]
            database.write([*rows, *((minutes[0], ("share-used", f"share{number}"), 1e12) for number in range(500))])
        count = sum(1 for _ in database.rows(0, ["client-read"]))
    assert count == 25 * 60 * 124
    assert path.stat().st_size < DAY_BYTES


def test_values_out_of_their_span_and_from_a_clock_that_was_ahead_go(path: Path) -> None:
    with opened(path, DAY_BYTES, 0o600) as database:
        old, ahead = NOW - 2 * DAY, NOW + 5 * DAY
        database.write([(at, ("cpu", ""), 0.5) for at in (old, NOW, ahead)])
        database.write(
            slots=[(at, ("cpu", ""), 0.5, 0.5) for at in (old, NOW, ahead)], keep=(NOW - DAY, NOW - DAY, NOW)
        )
        assert [at for at, _, _ in database.rows(0, ["cpu"])] == [NOW]
        # pruned before the slots were written, so the next write removes them
        database.write(keep=(NOW - DAY, NOW - DAY, NOW))
        assert [at for at, *_ in database.slots(0, ["cpu"])] == [NOW]


@pytest.mark.parametrize(("largest", "minutes"), [(DAY_BYTES, 0), (YEAR_BYTES, 30)], ids=["in memory", "on the pool"])
def test_names_that_are_not_used_any_more_go(path: Path, largest: int, minutes: int) -> None:
    now = NOW + minutes * MINUTE
    with opened(path, largest, 0o600) as database:
        database.write([(NOW - 2 * DAY, ("client-read", "10.0.0.1"), 1.0), (now, ("cpu", ""), 1.0)])
        database.write(keep=(now - DAY, now - DAY, now))
    assert sqlite3.connect(path).execute("SELECT kind FROM series").fetchall() == [("cpu",)]


def test_damaged_file_is_put_aside(path: Path) -> None:
    path.write_bytes(b"no database at all, " * 500)
    with opened(path, DAY_BYTES, 0o600) as database:
        database.write([(NOW, ("cpu", ""), 0.5)])
        assert database.newest() == NOW
    assert path.with_name("history.db.damaged").read_bytes().startswith(b"no database")


def test_damage_behind_the_first_page_is_put_aside_by_who_finds_it(path: Path) -> None:
    with opened(path, DAY_BYTES, 0o600) as database:
        database.write([(NOW + minute * MINUTE, ("cpu", ""), 0.5) for minute in range(2000)])
    content = path.read_bytes()
    path.write_bytes(content[:PAGE] + b"\xff" * (len(content) - PAGE))
    with opened(path, DAY_BYTES, 0o600) as database, pytest.raises(Failed, match="it was put aside"):
        database.write([(NOW, ("cpu", ""), 0.25)])
    with opened(path, DAY_BYTES, 0o600) as database:
        database.write([(NOW, ("cpu", ""), 0.75)])
        assert [value for _, _, value in database.rows(0, ["cpu"])] == [0.75]
    assert path.with_name("history.db.damaged").stat().st_size == len(content)


def test_reader_leaves_a_damaged_file_where_it_is(path: Path) -> None:
    path.write_bytes(b"no database at all, " * 500)
    with pytest.raises(Failed, match=r"not a database$"):
        HistoryFile(path)
    assert path.exists()


def test_file_of_a_later_release_stays_as_it_is(path: Path) -> None:
    with sqlite3.connect(path) as later:
        later.execute("PRAGMA user_version = 9")
    before = path.read_bytes()
    with pytest.raises(LaterRelease, match="was written by a later version of Millrace"):
        opened(path, DAY_BYTES, 0o600)
    assert path.read_bytes() == before


def test_missing_file_is_not_made_by_a_reader(path: Path) -> None:
    with pytest.raises(Failed, match="unable to open database file"):
        HistoryFile(path)
    assert not path.exists()


def test_change_that_fails_leaves_the_values_before(path: Path) -> None:
    with opened(path, DAY_BYTES, 0o600) as database:
        database.write([(NOW, ("cpu", ""), 0.5)])
        with pytest.raises(Failed, match="NOT NULL"):
            database.write([(NOW + MINUTE, ("cpu", ""), 0.7), (NOW + MINUTE, ("memory", ""), None)])  # type: ignore[list-item]
        assert [value for _, _, value in database.rows(0, ["cpu"])] == [0.5]
        database.write([(NOW + MINUTE, ("cpu", ""), 0.7)])
        assert database.newest() == NOW + MINUTE


# Half of a change is in the file, the old pages are in the journal, and then the process ends.
CUT = """import os, signal, sqlite3, sys
sql = sqlite3.connect(sys.argv[1], isolation_level=None)
sql.execute("PRAGMA cache_size = 1")
sql.execute("BEGIN IMMEDIATE")
sql.execute("DELETE FROM minute")
sql.executemany("INSERT INTO minute VALUES (?, 1, 9.0)", ((number,) for number in range(5000)))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_writer_that_was_cut_off_in_a_change_leaves_the_values_before(path: Path) -> None:
    with opened(path, DAY_BYTES, 0o600) as database:
        database.write([(NOW + minute * MINUTE, ("cpu", ""), 0.5) for minute in range(2000)])
    ended = subprocess.run([sys.executable, "-c", CUT, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL and path.with_name("history.db-journal").stat().st_size > 0
    with opened(path, DAY_BYTES, 0o600) as database:
        assert [value for _, _, value in database.rows(0, ["cpu"])] == [0.5] * 2000


def test_file_has_its_mode_before_anything_is_in_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes = []

    def connect(*_: object, **__: object) -> None:
        modes.append(stat.S_IMODE(path.stat().st_mode))
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(sqlite3, "connect", connect)
    with pytest.raises(Failed, match="disk I/O error"):
        opened(path, DAY_BYTES, 0o600)
    assert modes == [0o600]
