# SPDX-License-Identifier: Apache-2.0
"""The records of nfsdcld(8) on the pool: clients get their locks back after a restart on a new boot drive, too.

nfs-utils 3.1.1: main.sqlite in WAL mode, with a table `rec-EPOCH` of clients for this boot and one for the boot before
it, until the grace period is over. nfsdcld runs with --storagedir; this prepares that directory before it starts.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from millrace.lifecycle.keep.generation_store import make_directory
from millrace.lifecycle.keep.model import LockRecords
from millrace.system import paths, sysfs
from millrace.system.errors import Failed
from millrace.system.files import sync, write_text
from millrace.system.os_release import image_version

DIRECTORY = "nfsdcld"
BEFORE = "var/lib/nfs/nfsdcld"
FILE = "main.sqlite"
DAMAGED = f"{FILE}.damaged"
SCHEMA = "lock-records.schema"
WASTED = 1 << 20
"""Bytes that hold nothing, of at least as many, from which on the records are made smaller."""

_PARTS = (FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal")


def prepare(mountpoint: Path) -> LockRecords:
    """Make the directory on the pool; records on the boot drive move there unless those on the pool are newer.

    Records without clients never replace records with some. Damaged ones are set aside, and those that a later version
    changed: without them clients lose their locks, and with them nothing would be served.

    Failed: the pool does not take them.
    """
    where = make_directory(mountpoint, DIRECTORY)
    try:
        return _prepared(where)
    except (OSError, sqlite3.Error) as error:
        raise Failed(f"the records of NFS clients cannot be prepared in {where}: {error}") from error


def remember(version: str, mountpoint: Path) -> None:
    """Record the schema of the records for a version that another one is about to follow.

    nfsdcld does not start with a schema of a later nfs-utils (sqlite.c, sqlite_prepare_dbh), and nothing is served
    then: the version that starts after a rollback sets such records aside. OSError: it cannot be written.
    """
    found = _schema(mountpoint / paths.POOL_OWN / DIRECTORY / FILE)
    if found is not None:
        write_text(paths.by_version_dir() / version / SCHEMA, f"{found}\n", mode=0o600)


def lines(found: LockRecords) -> Iterator[str]:
    """Return the result as text."""
    yield f"{found.directory}: {found.clients} clients, {found.moved} of them from the boot drive"
    if found.set_aside:
        yield f"records that cannot be used are set aside in {found.set_aside}: clients lose their locks once"


def _prepared(where: Path) -> LockRecords:
    there, old = where / FILE, paths.ROOT / BEFORE / FILE
    set_aside, moved = None, 0
    clients = _clients(there)
    if clients is None or _is_later(there):
        set_aside = str(where / DAMAGED)
        os.replace(there, set_aside)
        remove(where)
        clients = 0
    before = _clients(old)
    # Both: an earlier release, which knows the boot drive only, has served in between.
    if before and (not clients or old.stat().st_mtime > there.stat().st_mtime):
        _copy(old, where)
        clients = moved = before
    if old.exists():
        remove(old.parent)
    _shrink(there)
    return LockRecords(directory=str(where), clients=clients, moved=moved, set_aside=set_aside)


def _shrink(file: Path) -> None:
    """Give back what clients that are gone have taken: nfsdcld never does, and their room is no larger than needed."""
    if not file.exists():
        return
    # records that cannot be made smaller are records
    with suppress(sqlite3.Error), closing(sqlite3.connect(file)) as records:
        size, free = (
            int(records.execute("PRAGMA page_size").fetchone()[0])
            * int(records.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count")
        )
        if free >= WASTED and 2 * free >= size:
            records.execute("VACUUM")
            records.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _clients(file: Path) -> int | None:
    """How many clients are recorded; 0 without a file, None where it is damaged."""
    if not file.exists():
        return 0
    try:
        with closing(sqlite3.connect(file)) as records:
            names = [
                str(name)
                for (name,) in records.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                if str(name).startswith("rec-")
            ]
            quoted = [name.replace('"', '""') for name in names]
            counts = [records.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in quoted]
            return sum(int(count) for count in counts)
    except sqlite3.DatabaseError as error:
        # Locked or without room is not damaged.
        if isinstance(error, sqlite3.OperationalError):
            raise
        return None


def _is_later(file: Path) -> bool:
    """Whether a later version changed the schema since this one was left."""
    known = sysfs.text(paths.by_version_dir() / image_version() / SCHEMA)
    found = _schema(file)
    return known is not None and known.isdigit() and found is not None and found > int(known)


def _schema(file: Path) -> int | None:
    """The schema of the records; None without a file, and where it cannot be read."""
    if not file.exists():
        return None
    try:
        with closing(sqlite3.connect(file)) as records:
            row = records.execute("SELECT value FROM parameters WHERE key = 'version'").fetchone()
    except sqlite3.Error:
        return None
    return int(row[0]) if row and str(row[0]).isdigit() else None


def _copy(old: Path, where: Path) -> None:
    """Copy a database with what is in its journals; at the name of nfsdcld there is the old one or the new one."""
    made = where / f".{FILE}"
    made.unlink(missing_ok=True)
    with closing(sqlite3.connect(old)) as source, closing(sqlite3.connect(made)) as target:
        source.backup(target)
        # one file, to be renamed
        target.execute("PRAGMA journal_mode = DELETE")
    made.chmod(0o600)
    descriptor = os.open(made, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    # The journals of what is replaced would be taken for those of what replaces it.
    for part in _PARTS[1:]:
        (where / part).unlink(missing_ok=True)
    os.replace(made, where / FILE)
    sync(where)


def remove(where: Path) -> None:
    """Remove the records in a directory, durably; none there is fine. OSError: they cannot be removed."""
    for part in _PARTS:
        (where / part).unlink(missing_ok=True)
    sync(where)


def newest(where: Path) -> int | None:
    """Return when the records in a directory were last written (mtime in ns); None without any."""
    if not (where / FILE).exists():
        return None
    return max((where / part).stat().st_mtime_ns for part in _PARTS if (where / part).exists())
