# SPDX-License-Identifier: Apache-2.0
"""A lockout of an SMB account that began when the clock was ahead does not last until that time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from millrace.system import paths, smb_passwords, tdb
from tests.fakes import passdb

AHEAD = 3_124_224_000
"""The year 2069."""


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[bytes, bytes]:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / smb_passwords.PASSDB).parent.mkdir(parents=True)
    (tmp_path / smb_passwords.PASSDB).touch()
    held = dict(passdb.FORM)

    @contextmanager
    def transaction(path: Path) -> Iterator[passdb.FakeDatabase]:
        assert path == tmp_path / smb_passwords.PASSDB
        yield passdb.FakeDatabase(held)

    monkeypatch.setattr(tdb, "transaction", transaction)
    return held


def failed_at(records: dict[bytes, bytes], name: str, seconds: int) -> None:
    made = passdb.record(name, 1000, expires=False)
    records[f"USER_{name}\0".encode()] = made[:12] + seconds.to_bytes(4, "little") + made[16:]


def when(records: dict[bytes, bytes], name: str) -> int:
    return int.from_bytes(records[f"USER_{name}\0".encode()][12:16], "little")


def test_lockout_of_a_clock_that_was_ahead_is_long_ago(records: dict[bytes, bytes]) -> None:
    now = int(time.time())
    for name, seconds in (("ann", AHEAD), ("ben", now - 60), ("carl", 0)):
        failed_at(records, name, seconds)
    before = records[b"USER_ann\0"]
    smb_passwords.end_lockouts_of_other_times(["ann", "ben", "carl", "dora"])
    # Samba takes 0 for a lockout whose beginning is not known, and leaves it
    assert 0 < when(records, "ann") < now - 86400
    assert (when(records, "ben"), when(records, "carl")) == (now - 60, 0)
    after = records[b"USER_ann\0"]
    assert (after[:12], after[16:]) == (before[:12], before[16:])


def test_server_without_smb_accounts_has_no_lockouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(tdb, "transaction", lambda path: pytest.fail("it was opened"))
    smb_passwords.end_lockouts_of_other_times(["ann"])
    assert not (tmp_path / smb_passwords.PASSDB).exists()
