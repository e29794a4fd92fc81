# SPDX-License-Identifier: Apache-2.0
"""Another version that may not know locks of snapshots: it is not started while there are any, unless that is meant."""

from pathlib import Path

import pytest

from millrace.lifecycle.update import abilities, install
from millrace.serve.share import kept_snapshots
from millrace.serve.share.kept_snapshots import LockRecord, SnapshotLock
from millrace.system import paths
from millrace.system.documents import write_model
from millrace.system.errors import Refused
from tests.fakes.samples import pool
from tests.unit.lifecycle.update.conftest import Server
from tests.unit.lifecycle.update.test_install import install_

NAME = "20261129T120000Z-manual"


@pytest.fixture
def snapshots(server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pool with a locked snapshot; the version before this one is the other one."""
    monkeypatch.setattr(abilities, "known_pool", pool)
    monkeypatch.setattr(abilities, "mounted", lambda point: object())
    top = kept_snapshots.top(pool().filesystem.mountpoint)
    (top / "data" / NAME).mkdir(parents=True)
    top.chmod(0o711)
    times = {"at": "2026-11-29T12:00:00+00:00", "until": "2099-01-31T00:00:00+00:00"}
    lock = SnapshotLock(share="data", name=NAME, by="anna", left=9, **times)
    write_model(top / kept_snapshots.RECORD, LockRecord(locks=[lock]))
    server.runs("0.2.0")
    server.entry("millrace_0.2.0.efi")
    return top


def test_rollback_that_would_end_a_lock_is_refused(server: Server, snapshots: Path) -> None:
    with pytest.raises(Refused, match=r"0\.1\.0 may not know locks .* lock of 1 snapshot \(until 2099-01-31 00:00 UTC"):
        install.rollback(server, "admin")
    done = install.rollback(server, "admin", end_locks=True)
    assert (done.before, done.state) == ("0.1.0", "rolled-back")
    assert done.problems == [f"If version 0.1.0 makes no snapshots: chmod 700 {snapshots}; do not remove it."]


def test_rollback_to_a_version_that_knows_locks_is_made(server: Server, snapshots: Path) -> None:
    assert snapshots.is_dir()
    abilities.keep("0.1.0")
    assert install.rollback(server, "admin").problems == []


def test_rollback_without_locks_is_made(server: Server, snapshots: Path) -> None:
    (snapshots / kept_snapshots.RECORD).unlink()
    assert install.rollback(server, "admin").state == "rolled-back"


def test_record_of_locks_that_cannot_be_read_is_a_reason(server: Server, snapshots: Path) -> None:
    (snapshots / kept_snapshots.RECORD).write_text("{")
    with pytest.raises(Refused, match="which snapshots are locked is not known"):
        install.rollback(server, "admin")


def test_pool_that_is_not_mounted_keeps_no_version_from_its_start(
    server: Server, snapshots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert snapshots.is_dir()
    monkeypatch.setattr(abilities, "mounted", lambda point: None)
    assert install.rollback(server, "admin").state == "rolled-back"


def test_later_version_knows_locks_and_an_installation_records_it(server: Server, snapshots: Path) -> None:
    assert abilities.ended_locks("0.3.0", "0.2.0") is None and snapshots.is_dir()
    abilities.keep("0.2.0")
    assert abilities.ended_locks("0.2.0", "0.3.0") is None
    assert abilities.ended_locks("0.1.0", "0.2.0") is not None


def test_version_beside_which_another_one_is_installed_records_what_it_knows(server: Server) -> None:
    install_(server)
    assert '"snapshot-locks"' in (paths.by_version_dir() / "0.1.0/abilities.json").read_text()
