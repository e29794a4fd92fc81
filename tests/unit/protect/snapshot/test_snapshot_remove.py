# SPDX-License-Identifier: Apache-2.0
"""Removals that wait and can be cancelled, and locks that no administrator and no clock ends before their date."""

import errno
import json
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.cli.program import run
from millrace.protect.snapshot import kept_removals, snapshot_remove, snapshot_thin
from millrace.protect.snapshot.kept_removals import RemovalClock
from millrace.protect.snapshot.snapshot_model import SnapshotRow
from millrace.protect.snapshot.snapshot_schedule_model import COUNTS, FloorRemoval
from millrace.serve.config import store
from millrace.serve.share import kept_snapshots
from millrace.serve.share import server as share_server
from millrace.serve.share.server import ShareServer
from millrace.system.errors import BadInput, Failed, Refused
from millrace.system.run import Result
from millrace.system.trees import nofollow
from tests.unit.protect.snapshot.conftest import Nas

NAME = "20261129T120000Z-manual"
AT = f"data@{NAME}"
HOUR = 3600
POOL = "/srv/pool"


class Hands:
    """A clock that the tests move: the time of day, the seconds of this boot, and the boot."""

    def __init__(self) -> None:
        self.now, self.running, self.boot = datetime(2026, 11, 29, 12, tzinfo=UTC), 1000.0, "first"

    def run(self, hours: float) -> None:
        self.now += timedelta(hours=hours)
        self.running += hours * HOUR

    @property
    def clock(self) -> RemovalClock:
        return RemovalClock(lambda: self.now, lambda: self.running, lambda: self.boot)


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def server(nas: Nas) -> ShareServer:
    nas.made()
    return nas.server


def upkeep(server: ShareServer, hands: Hands) -> list[str]:
    return snapshot_remove.carry_out(server, hands.clock)


def is_there() -> bool:
    return kept_snapshots.exists("data", NAME, POOL)


def row(nas: Nas) -> SnapshotRow:
    [only] = nas.snapshots.listed(store.load(), "data").snapshots
    return only


def test_removal_waits_for_the_time_of_the_policy(nas: Nas, server: ShareServer, hands: Hands) -> None:
    ordered = snapshot_remove.order(AT, None, server, hands.clock)
    assert (ordered.left, ordered.due) == (24 * HOUR, "2026-11-30T12:00:00+00:00")
    [waiting] = COUNTS.read().removals
    assert (waiting.name, waiting.by) == (NAME, ordered.by) and COUNTS.read().of("data").removals == 1
    hands.run(23.9)
    assert upkeep(server, hands) == [] and is_there()
    hands.run(0.2)
    [done] = upkeep(server, hands)
    assert done.startswith(f"{AT} is removed, as ") and not is_there()
    assert kept_removals.read(POOL, hands.clock).removals == []


def test_removal_waits_longer_on_request_and_never_shorter(server: ShareServer, hands: Hands) -> None:
    with pytest.raises(BadInput, match="24 hours or more"):
        snapshot_remove.order(AT, 1, server, hands.clock)
    assert kept_removals.read(POOL, hands.clock).removals == []
    assert snapshot_remove.order(AT, 48, server, hands.clock).left == 48 * HOUR


def test_clock_that_is_set_ahead_hastens_no_removal_and_ends_no_lock(
    nas: Nas, server: ShareServer, hands: Hands
) -> None:
    second = nas.made(1).name
    snapshot_remove.order(AT, None, server, hands.clock)
    snapshot_remove.lock(f"data@{second}", "2026-12-01", server, hands.clock)
    hands.now += timedelta(days=3650)
    assert upkeep(server, hands) == [] and is_there()
    # by that clock the seconds that are left end a day and a half after now
    with pytest.raises(Refused, match="is locked until 2036-11-28 00:00 UTC"):
        snapshot_remove.order(f"data@{second}", None, server, hands.clock)


def test_boot_and_time_without_power_do_not_count(server: ShareServer, hands: Hands) -> None:
    snapshot_remove.order(AT, None, server, hands.clock)
    hands.run(12)
    upkeep(server, hands)
    # a server that runs for a year gets the pool of another one
    hands.boot, hands.running = "second", 365 * 24 * HOUR
    assert upkeep(server, hands) == []
    [waiting] = kept_removals.read(POOL, hands.clock).removals
    assert waiting.left == 12 * HOUR
    hands.run(12)
    assert len(upkeep(server, hands)) == 1 and not is_there()


def test_removal_is_cancelled(nas: Nas, server: ShareServer, hands: Hands) -> None:
    snapshot_remove.order(AT, None, server, hands.clock)
    kept = snapshot_remove.keep(AT, server, hands.clock)
    assert kept.name == NAME and COUNTS.read().removals == []
    hands.run(100)
    assert upkeep(server, hands) == [] and is_there()
    with pytest.raises(Refused, match="nobody has ordered the removal"):
        snapshot_remove.keep(AT, server, hands.clock)


def test_second_order_of_a_removal_is_refused(server: ShareServer, hands: Hands) -> None:
    snapshot_remove.order(AT, None, server, hands.clock)
    with pytest.raises(Refused, match="to keep it: millrace snapshot keep"):
        snapshot_remove.order(AT, 48, server, hands.clock)


def test_locked_snapshot_is_removed_by_nothing_before_its_date(server: ShareServer, hands: Hands) -> None:
    snapshot_remove.order(AT, None, server, hands.clock)
    locked = snapshot_remove.lock(AT, "2026-12-05", server, hands.clock)
    assert locked.cancelled and COUNTS.read().of("data").locked == 1
    hands.run(48)
    assert upkeep(server, hands) == []
    with pytest.raises(Refused, match="is locked until"):
        # as a schedule and the floor do
        snapshot_remove.remove(AT, server)
    assert is_there()
    hands.run(120)
    upkeep(server, hands)
    assert snapshot_remove.order(AT, None, server, hands.clock).name == NAME


def test_lock_only_gets_longer(server: ShareServer, hands: Hands) -> None:
    snapshot_remove.lock(AT, "2027-01-31", server, hands.clock)
    with pytest.raises(Refused, match="a lock only gets longer"):
        snapshot_remove.lock(AT, "2027-01-30", server, hands.clock)
    left = kept_removals.read(POOL, hands.clock).locks[0].left
    # a later date by a clock that was set ahead
    hands.now = datetime(2027, 2, 1, tzinfo=UTC)
    snapshot_remove.lock(AT, "2027-02-02", server, hands.clock)
    assert kept_removals.read(POOL, hands.clock).locks[0].left == left


def test_lock_by_a_clock_that_was_behind_is_shown_with_its_end(nas: Nas, server: ShareServer, hands: Hands) -> None:
    hands.now = datetime(2017, 12, 5, tzinfo=UTC)
    snapshot_remove.lock(AT, "2026-12-05", server, hands.clock)
    hands.now = datetime(2026, 11, 29, tzinfo=UTC)
    with pytest.raises(Refused, match="is locked until 2035-11-29"):
        snapshot_remove.order(AT, None, server, hands.clock)
    assert snapshot_remove.lock(AT, "2026-12-06", server, hands.clock).until.startswith("2035-11-29")
    listed = row(nas).lock
    assert listed is not None and listed.until > f"{datetime.now(UTC) + timedelta(days=3000):%Y}"


def test_lock_is_refused_while_the_clock_is_not_synchronised(server: ShareServer, hands: Hands) -> None:
    def unsynchronised(argv: Sequence[str], stdin: str | None = None) -> Result:
        return Result(0, "NTP=yes\nNTPSynchronized=no\n", "") if argv[0] == "timedatectl" else server.run(argv, stdin)

    with pytest.raises(Refused, match="not synchronised yet"):
        snapshot_remove.lock(AT, "2027-01-31", replace(server, run=unsynchronised), hands.clock)
    assert kept_removals.read(POOL, hands.clock).locks == []


@pytest.fixture
def failing_drive(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The error with which the directory of the snapshot is opened from then on, once there is one in the list."""
    errors = list[int]()
    opened = nofollow.directory

    def directory(name: str | Path, at: int | None = None) -> AbstractContextManager[int]:
        if errors and name == NAME:
            error = OSError(errors[0], os.strerror(errors[0]))
            raise Failed(f"{name} cannot be opened: {error.strerror}") from error
        return opened(name, at)

    monkeypatch.setattr(nofollow, "directory", directory)
    return errors


@pytest.mark.parametrize("error", [errno.EIO, errno.EMFILE])
def test_error_of_the_drive_ends_no_lock(
    server: ShareServer, hands: Hands, failing_drive: list[int], error: int
) -> None:
    snapshot_remove.lock(AT, "2027-01-31", server, hands.clock)
    failing_drive.append(error)
    hands.run(1)
    upkeep(server, hands)
    failing_drive.clear()
    assert [lock.name for lock in kept_removals.read(POOL, hands.clock).locks] == [NAME]


@pytest.mark.parametrize("list_of", ["removals", "locks"])
def test_time_beyond_all_clocks_in_the_record_is_refused(nas: Nas, server: ShareServer, list_of: str) -> None:
    at = "2026-11-29T12:00:00+00:00"
    entry = {"share": "data", "name": NAME, "by": "x", "at": at, "left": 10**15}
    record = {"schema_version": 1, list_of: [entry | {"due" if list_of == "removals" else "until": at}]}
    (nas.snapshots.top / kept_snapshots.RECORD).write_text(json.dumps(record))
    with pytest.raises(Refused, match="the record of locks cannot be read"):
        snapshot_remove.carry_out(server, RemovalClock())
    assert is_there()


def test_removal_is_cancelled_on_a_full_pool(
    server: ShareServer, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot_remove.order(AT, None, server, hands.clock)

    def full(path: Path, *_: object) -> bool:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(kept_removals, "write_model", full)
        snapshot_remove.keep(AT, server, hands.clock)
        hands.run(100)
        with pytest.raises(OSError, match="No space left"):
            upkeep(server, hands)
        assert is_there() and COUNTS.read().removals == []
    # the pool takes the record again
    assert upkeep(server, hands) == [] and is_there() and kept_removals.KEPT.get() is None
    assert snapshot_remove.order(AT, None, server, hands.clock).name == NAME


def test_full_pool_names_the_waiting_time_of_a_removal() -> None:
    remedy = snapshot_remove.remedy()
    assert "waits for 24 hours" in remedy and "millrace policy set snapshots.removal_delay=HOURS" in remedy


@pytest.mark.parametrize("until", ["yesterday", "2026-11-01", "2040-01-01", ""])
def test_lock_until_no_date_to_come_is_bad_input(server: ShareServer, hands: Hands, until: str) -> None:
    with pytest.raises(BadInput):
        snapshot_remove.lock(AT, until, server, hands.clock)
    assert kept_removals.read(POOL, hands.clock).locks == []


def test_schedule_and_floor_pass_over_a_locked_snapshot(nas: Nas, server: ShareServer) -> None:
    for second in (1, 2):
        nas.made(second)
    for name in os.listdir(nas.snapshots.top / "data"):
        hourly = name.replace("manual", "hourly")
        place = nas.snapshots.place("data", name)
        (place / "manifest.json").write_text((place / "manifest.json").read_text().replace(name, hourly))
        place.rename(nas.snapshots.place("data", hourly))
    first = "20261129T120000Z-hourly"
    snapshot_remove.lock(f"data@{first}", "2027-11-29", server, RemovalClock(lambda: datetime(2027, 11, 1, tzinfo=UTC)))
    nas.space.free = 5
    removal = snapshot_thin.hold_floor(12, replace(server, pause=lambda _: None), datetime(2026, 11, 30, tzinfo=UTC))
    assert removal is not None and removal.removed == 1
    assert kept_snapshots.names("data", POOL) == [first, "20261129T120002Z-hourly"]


def test_record_that_cannot_be_read_removes_nothing(nas: Nas, server: ShareServer, hands: Hands) -> None:
    snapshot_remove.order(AT, None, server, hands.clock)
    (nas.snapshots.top / kept_snapshots.RECORD).write_text("{")
    hands.run(100)
    with pytest.raises(Refused, match="the record of locks cannot be read"):
        upkeep(server, hands)
    with pytest.raises(Refused, match="no snapshot is removed"):
        snapshot_remove.remove(AT, server)
    assert is_there() and "cannot be read" in (nas.snapshots.listed(store.load(), None).problem or "")


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_record_of_a_hostile_drive_is_neither_followed_nor_waited_for(nas: Nas, server: ShareServer, kind: str) -> None:
    record = nas.snapshots.top / kept_snapshots.RECORD
    if kind == "link":
        record.symlink_to("/etc/passwd")
    else:
        os.mkfifo(record)
    with pytest.raises(Refused, match="no snapshot is removed"):
        snapshot_remove.remove(AT, server)
    assert is_there()


def test_name_in_the_record_that_leads_elsewhere_is_refused(nas: Nas, server: ShareServer) -> None:
    removal = {"share": "..", "name": "../../data", "by": "x", "at": "", "left": 0, "due": "2026-11-29T12:00:00+00:00"}
    record = {"schema_version": 1, "removals": [removal]}
    (nas.snapshots.top / kept_snapshots.RECORD).write_text(json.dumps(record))
    with pytest.raises(Refused, match="cannot be the name of a share"):
        snapshot_remove.carry_out(server, RemovalClock())
    assert nas.share.is_dir()


def test_removal_of_a_snapshot_that_is_gone_is_forgotten(nas: Nas, server: ShareServer, hands: Hands) -> None:
    snapshot_remove.order(AT, None, server, hands.clock)
    snapshot_remove.remove(AT, server)
    assert kept_removals.read(POOL, hands.clock).removals == []


def test_upkeep_writes_nothing_where_nothing_is_ordered(nas: Nas, server: ShareServer, hands: Hands) -> None:
    record = nas.snapshots.top / kept_snapshots.RECORD
    assert upkeep(server, hands) == [] and not record.exists()
    snapshot_remove.order(AT, None, server, hands.clock)
    snapshot_remove.keep(AT, server, hands.clock)
    before = record.stat().st_mtime_ns
    hands.run(1)
    assert upkeep(server, hands) == [] and record.stat().st_mtime_ns == before


def test_what_the_floor_removed_is_kept_on_the_pool(server: ShareServer, hands: Hands) -> None:
    removed = FloorRemoval(
        since="2026-11-29T12:00:00+00:00", at="2026-11-29T12:00:00+00:00", removed=3, floor=12, is_enough=True
    )
    kept_removals.keep_floor(POOL, removed)
    assert kept_removals.read(POOL, hands.clock).floor == removed


def test_commands_order_keep_and_lock(
    nas: Nas, server: ShareServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(share_server, "this_server", lambda: server)
    assert run(["snapshot", "remove", AT]) == 0
    assert f"to cancel the removal: millrace snapshot keep {AT}\n" in capsys.readouterr().out
    assert run(["snapshot", "list"]) == 0
    assert f"{AT} will be removed at" in capsys.readouterr().out
    assert run(["snapshot", "keep", AT]) == 0
    assert f"{AT} stays; its removal" in capsys.readouterr().out
    until = f"{datetime.now(UTC) + timedelta(days=40):%Y-%m-%d}"
    assert run(["snapshot", "lock", AT, "--until", until, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["until"].startswith(until)
    assert row(nas).lock is not None and row(nas).removal is None
    assert run(["snapshot", "list"]) == 0
    assert f"{AT} is locked until {until} 00:00 UTC" in capsys.readouterr().out
    assert run(["snapshot", "remove", AT]) == 1
    assert "is locked until" in capsys.readouterr().err
