# SPDX-License-Identifier: Apache-2.0
"""The records of NFS clients: on the pool, moved there once, and never an empty one over a full one."""

import os
import sqlite3
import stat
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from millrace.lifecycle.keep import nfs_client_records
from millrace.lifecycle.keep.nfs_client_records import lines, prepare
from millrace.system.errors import Failed
from tests.unit.boot.units import before, names, unit


def records(where: Path, clients: Iterable[str]) -> Path:
    """A database as nfsdcld 3.1.1 makes it."""
    where.mkdir(parents=True, exist_ok=True)
    file = where / "main.sqlite"
    with closing(sqlite3.connect(file)) as made:
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("CREATE TABLE parameters (key TEXT PRIMARY KEY, value TEXT)")
        made.execute("CREATE TABLE grace (current INTEGER, recovery INTEGER)")
        made.execute('CREATE TABLE "rec-0000000000000001" (id BLOB PRIMARY KEY, princhash BLOB)')
        for name in clients:
            made.execute('INSERT INTO "rec-0000000000000001" VALUES (?, NULL)', (name.encode(),))
        made.commit()
    return file


def runs(root: Path, version: str) -> None:
    (root / "usr/lib").mkdir(parents=True, exist_ok=True)
    (root / "usr/lib/os-release").write_text(f"IMAGE_VERSION={version}\n")


def schema(file: Path, version: int) -> None:
    """What a start of nfsdcld makes of the database."""
    with closing(sqlite3.connect(file)) as made:
        made.execute("INSERT OR REPLACE INTO parameters VALUES ('version', ?)", (str(version),))
        made.commit()


def clients(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as found:
        return sorted(one.decode() for (one,) in found.execute('SELECT id FROM "rec-0000000000000001"'))


@pytest.fixture
def pool(root_user: Path) -> Path:
    (root_user / "srv/pool").mkdir(parents=True)
    return root_user / "srv/pool"


@pytest.fixture
def old(root_user: Path) -> Path:
    return root_user / "var/lib/nfs/nfsdcld"


def there(pool: Path) -> Path:
    return pool / ".millrace/nfsdcld/main.sqlite"


def test_first_start_makes_an_empty_directory_of_root_alone(pool: Path) -> None:
    found = prepare(pool)
    assert (found.clients, found.moved, found.set_aside) == (0, 0, None)
    assert stat.S_IMODE(there(pool).parent.stat().st_mode) == 0o700
    assert not list(there(pool).parent.iterdir())


def test_records_of_the_boot_drive_move_once(pool: Path, old: Path) -> None:
    records(old, ["a", "b"])
    found = prepare(pool)
    assert (found.clients, found.moved) == (2, 2)
    assert clients(there(pool)) == ["a", "b"]
    assert not list(old.iterdir())
    again = prepare(pool)
    assert (again.clients, again.moved) == (2, 0)


def test_client_in_a_journal_of_a_server_that_lost_power_moves_too(pool: Path, old: Path) -> None:
    file = records(old, ["a"])
    with closing(sqlite3.connect(file)) as running:
        running.execute('INSERT INTO "rec-0000000000000001" VALUES (?, NULL)', (b"late",))
        running.commit()
        assert (old / "main.sqlite-wal").stat().st_size > 0
        prepare(pool)
    assert clients(there(pool)) == ["a", "late"]


@pytest.mark.parametrize("newer", [True, False])
def test_empty_records_never_replace_full_ones(pool: Path, old: Path, newer: bool) -> None:
    records(there(pool).parent, ["a"])
    there(pool).parent.chmod(0o700)
    (pool / ".millrace").chmod(0o700)
    empty = records(old, [])
    os.utime(empty, (2e9, 2e9) if newer else (1e9, 1e9))
    assert prepare(pool).clients == 1
    assert clients(there(pool)) == ["a"]


@pytest.mark.parametrize(("newer", "left"), [(True, ["new"]), (False, ["a"])])
def test_of_two_full_ones_the_newer_is_used(pool: Path, old: Path, newer: bool, left: list[str]) -> None:
    prepare(pool)
    records(there(pool).parent, ["a"])
    file = records(old, ["new"])
    os.utime(file, (2e9, 2e9) if newer else (1e9, 1e9))
    prepare(pool)
    assert clients(there(pool)) == left


def test_damaged_records_are_set_aside_and_serving_goes_on(pool: Path) -> None:
    prepare(pool)
    there(pool).write_bytes(b"not a database" * 1000)
    found = prepare(pool)
    assert found.set_aside == f"{there(pool)}.damaged"
    assert "clients lose their locks once" in "\n".join(lines(found))
    assert [path.name for path in there(pool).parent.iterdir()] == ["main.sqlite.damaged"]


def test_damaged_records_give_way_to_those_of_the_boot_drive(pool: Path, old: Path) -> None:
    prepare(pool)
    there(pool).write_bytes(b"not a database" * 1000)
    records(old, ["a"])
    assert prepare(pool).moved == 1
    assert clients(there(pool)) == ["a"]


def test_damaged_records_on_the_boot_drive_are_not_taken(pool: Path, old: Path) -> None:
    prepare(pool)
    records(there(pool).parent, ["a"])
    records(old, ["b"]).write_bytes(b"not a database" * 1000)
    assert prepare(pool).clients == 1


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_records_stay_where_they_are_until_the_pool_has_them(
    pool: Path, old: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    records(old, ["a"])
    prepare_directory(pool)

    def fails(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(nfs_client_records.os, call, fails)
        with pytest.raises(Failed, match=r"records of NFS clients cannot be prepared in .*No space left"):
            prepare(pool)
    assert clients(old / "main.sqlite") == ["a"]
    assert prepare(pool).moved == 1


def prepare_directory(pool: Path) -> None:
    there(pool).parent.mkdir(parents=True, mode=0o700)
    (pool / ".millrace").chmod(0o700)


def test_nfs_does_not_start_without_the_records_nor_the_records_without_the_pool() -> None:
    assert "nfsdcld.service" in names(unit("nfs-server.service"), "Requires")
    daemon = unit("nfsdcld.service")
    assert daemon["ExecStart"] == ["/usr/sbin/nfsdcld --storagedir=/srv/pool/.millrace/nfsdcld"]
    assert {"millrace-storage.target", "millrace-lock-records.service"} <= names(daemon, "Requires")
    assert names(daemon, "BindsTo") == {"srv-pool.mount"}
    assert {"srv-pool.mount", "millrace-lock-records.service"} <= names(daemon, "After")
    # without a `-`: systemd does not start the service where the directory is missing
    assert "/srv/pool/.millrace/nfsdcld" in daemon["ReadWritePaths"][-1].split()
    assert {"millrace-lock-records.service", "nfsdcld.service", "srv-pool.mount"} <= before("nfs-server.service")


def test_records_that_a_later_version_changed_are_set_aside_after_a_rollback(pool: Path, root_user: Path) -> None:
    runs(root_user, "0.1.0")
    (root_user / "var/lib/millrace/by-version/0.1.0").mkdir(parents=True)
    prepare(pool)
    schema(records(there(pool).parent, ["a"]), 4)
    nfs_client_records.remember("0.1.0", pool)
    runs(root_user, "0.2.0")
    assert prepare(pool).clients == 1
    schema(there(pool), 5)
    # it goes on with its own
    assert prepare(pool).clients == 1
    runs(root_user, "0.1.0")
    lock_records = prepare(pool)
    assert (lock_records.clients, lock_records.set_aside) == (0, f"{there(pool)}.damaged")
    assert "clients lose their locks once" in "".join(lines(lock_records))


def test_records_of_the_same_schema_stay_after_a_rollback(pool: Path, root_user: Path) -> None:
    runs(root_user, "0.1.0")
    (root_user / "var/lib/millrace/by-version/0.1.0").mkdir(parents=True)
    prepare(pool)
    schema(records(there(pool).parent, ["a"]), 4)
    nfs_client_records.remember("0.1.0", pool)
    assert prepare(pool).clients == 1


def test_server_without_records_remembers_nothing(pool: Path, root_user: Path) -> None:
    nfs_client_records.remember("0.1.0", pool)
    assert not (root_user / "var/lib/millrace/by-version").exists()


def test_room_of_clients_that_are_gone_is_given_back_at_the_next_start(pool: Path) -> None:
    prepare_directory(pool)
    file = records(there(pool).parent, [f"client {number:06} {'x' * 900}" for number in range(4000)])
    large = file.stat().st_size
    prepare(pool)
    assert file.stat().st_size == large > 4 << 20
    with closing(sqlite3.connect(file)) as gone:
        gone.execute("DELETE FROM \"rec-0000000000000001\" WHERE CAST(id AS TEXT) > 'client 000002'")
        gone.commit()
    assert prepare(pool).clients == 2
    assert file.stat().st_size < large / 10
    with closing(sqlite3.connect(file)) as same:
        assert same.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert same.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_records_that_cannot_be_made_smaller_are_used(pool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_directory(pool)
    records(there(pool).parent, ["a"])
    monkeypatch.setattr(nfs_client_records, "WASTED", 0)
    connect = sqlite3.connect

    class Full(sqlite3.Connection):
        def execute(self, *words: object) -> sqlite3.Cursor:
            if "freelist_count" in str(words[0]):
                raise sqlite3.OperationalError("database or disk is full")
            return super().execute(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(nfs_client_records.sqlite3, "connect", lambda file: connect(file, factory=Full))
    assert prepare(pool).clients == 1
