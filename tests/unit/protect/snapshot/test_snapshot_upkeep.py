# SPDX-License-Identifier: Apache-2.0
"""A schedule from the command to the snapshots that are made and removed by it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from millrace.cli.program import run
from millrace.protect.snapshot import snapshot_job, snapshot_run
from millrace.protect.snapshot.snapshot_plan import plan, set_schedule
from millrace.protect.snapshot.snapshot_schedule_model import COUNTS, RECORD
from millrace.protect.snapshot.snapshot_thin import hold_floor
from millrace.protect.snapshot.snapshot_upkeep import upkeep
from millrace.serve.clone.clone_again import ChangeClock
from millrace.serve.config import store
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.serve.share import server as share_server
from millrace.serve.share.server import ShareServer
from millrace.system.errors import BadInput, Refused
from millrace.system.run import Result
from tests.fakes.jobs import JobManager
from tests.unit.protect.snapshot.conftest import Nas

UNIT = "millrace-reflink@snapshot.service"


class Clock:
    """The clock of the server, which `forward` moves; names of snapshots have its time."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC).replace(minute=2, second=0, microsecond=0)

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


class Systemd(JobManager):
    """systemd, whose unit makes the snapshot that was ordered; what else a share needs is answered by the appliance."""

    def __init__(self, nas: Nas) -> None:
        super().__init__(UNIT)
        self._nas = nas

    def __call__(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        return (
            super().__call__(argv, stdin)
            if argv[0] in ("systemctl", "journalctl")
            else self._nas.appliance(argv, stdin)
        )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def systemd(nas: Nas, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    systemd = Systemd(nas)

    class Named(datetime):
        @classmethod
        def now(cls, _: object = None) -> datetime:  # type: ignore[override]
            return clock.now

    monkeypatch.setattr(snapshot_job, "datetime", Named)
    nas.appliance.TAKEN = (*nas.appliance.TAKEN, "systemctl start --no-block millrace-cleanup@schedule.service")

    def work() -> None:
        if systemd.started:
            snapshot_run.execute(nas.server, nas.links(), ChangeClock())

    systemd.run = work
    return systemd


@pytest.fixture
def server(nas: Nas, systemd: Systemd) -> ShareServer:
    return replace(nas.server, run=systemd, pause=lambda _: None)


@pytest.fixture
def hour(server: ShareServer, clock: Clock) -> Callable[[], list[str]]:
    """One upkeep, then an hour passes."""

    def hour() -> list[str]:
        done = upkeep(server, lambda: clock.now)
        clock.forward(hours=1)
        return done

    return hour


def names(nas: Nas) -> list[str]:
    return [row.name for row in nas.snapshots.rows(store.load(), "data")]


def scheduled(server: ShareServer, **kept: int) -> None:
    set_schedule("data", kept, False, False, lambda: server)


def test_hourly_snapshots_are_made_and_thinned(nas: Nas, server: ShareServer, hour: Callable[[], list[str]]) -> None:
    scheduled(server, hourly=2)
    for _ in range(4):
        hour()
    kinds = [name.rpartition("-")[2] for name in names(nas)]
    assert kinds == ["hourly", "hourly"]
    manifest = nas.snapshots.manifest("data", names(nas)[-1])
    assert (manifest.kind, manifest.by) == ("hourly", "the server")
    record = RECORD.read().last("data")
    assert record is not None and record.problem is None and record.seconds is not None
    assert COUNTS.read().of("data").held == {"hourly": 2}


def test_nothing_is_made_twice_in_an_hour(nas: Nas, server: ShareServer, clock: Clock) -> None:
    scheduled(server, hourly=2)
    assert len(upkeep(server, lambda: clock.now)) == 1
    clock.forward(minutes=15)
    assert upkeep(server, lambda: clock.now) == []


def test_manual_snapshots_are_never_thinned(nas: Nas, server: ShareServer, hour: Callable[[], list[str]]) -> None:
    manual = nas.made()
    scheduled(server, hourly=1)
    hour()
    hour()
    assert names(nas)[0] == manual.name and len(names(nas)) == 2


def test_full_pool_makes_no_snapshot_and_says_so(nas: Nas, server: ShareServer, clock: Clock) -> None:
    scheduled(server, hourly=2)
    nas.space.free = 5
    [said] = upkeep(server, lambda: clock.now)
    assert "a full pool makes no snapshot" in said and names(nas) == []
    record = RECORD.read().last("data")
    assert record is not None and record.problem is not None


def test_snapshot_that_another_job_keeps_from_its_start_stays_due(
    nas: Nas, server: ShareServer, systemd: Systemd, clock: Clock
) -> None:
    scheduled(server, hourly=2)
    systemd.others = {"millrace-update.service": "activating"}
    [said] = upkeep(server, lambda: clock.now)
    assert "an update is being installed" in said and RECORD.read().last("data") is None
    systemd.others = {}
    [said] = upkeep(server, lambda: clock.now)
    assert said == f"data@{names(nas)[0]} is made"


def test_floor_removes_the_oldest_until_it_holds_and_never_the_last(
    nas: Nas, server: ShareServer, hour: Callable[[], list[str]], clock: Clock
) -> None:
    scheduled(server, hourly=5)
    for _ in range(3):
        hour()
    before = names(nas)
    nas.space.free = 11
    removal = hold_floor(12, replace(server, pause=lambda _: setattr(nas.space, "free", 13)), clock.now)
    assert removal is not None and (removal.removed, removal.is_enough) == (1, True)
    assert names(nas) == before[1:]
    nas.space.free = 11
    removal = hold_floor(12, server, clock.now)
    assert removal is not None and not removal.is_enough and names(nas) == before[2:]
    assert hold_floor(12, server, clock.now) is None


def test_clock_that_was_ahead_neither_removes_nor_blocks(
    nas: Nas, server: ShareServer, hour: Callable[[], list[str]], clock: Clock
) -> None:
    scheduled(server, hourly=2)
    hour()
    clock.forward(days=400)
    hour()
    clock.forward(days=-400)
    hour()
    hour()
    kept = names(nas)
    assert len(kept) == 3 and kept[-1].startswith(f"{clock.now + timedelta(days=400):%Y%m}"[:4])


def test_schedule_that_ends_keeps_its_snapshots(nas: Nas, server: ShareServer, hour: Callable[[], list[str]]) -> None:
    scheduled(server, hourly=1)
    hour()
    set_schedule("data", {}, True, False, lambda: server)
    assert hour() == [] and len(names(nas)) == 1
    with pytest.raises(Refused, match="has no schedule"):
        set_schedule("data", {}, True, False, lambda: server)


def test_schedule_that_cannot_hold_is_refused(nas: Nas, server: ShareServer, monkeypatch: pytest.MonkeyPatch) -> None:
    share = store.load().share("data")
    assert share is not None
    monkeypatch.setattr("millrace.serve.share.quota.inodes_used", lambda *_: 20_000_000)
    hourly = plan(share, SnapshotSchedule(hourly=24), server)
    assert hourly.obstacle is not None and "longer than the period of hourly ones" in hourly.obstacle
    daily = plan(share, SnapshotSchedule(daily=7), server)
    assert daily.obstacle is not None and "add --large" in daily.obstacle
    many = plan(share, SnapshotSchedule(daily=300, large=True), server)
    assert many.obstacle is not None and "keep fewer snapshots" in many.obstacle
    with pytest.raises(Refused, match="longer than the period"):
        scheduled(server, hourly=24)
    assert store.load().share("data") == share


@pytest.mark.parametrize("kept", [{}, {"hourly": 0}, {"hourly": 169}, {"daily": -1}])
def test_schedule_that_keeps_nothing_or_too_much_is_bad_input(server: ShareServer, kept: dict[str, int]) -> None:
    with pytest.raises(BadInput):
        scheduled(server, **kept)


def test_commands_show_the_plan_and_the_schedules(
    nas: Nas, server: ShareServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(share_server, "this_server", lambda: server)
    assert run(["snapshot", "schedules"]) == 0
    assert "There is no schedule" in capsys.readouterr().out
    assert run(["snapshot", "schedule", "data", "--hourly", "24", "--daily", "7", "--dry-run", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)["plan"]
    assert planned["kept"] == 31 and planned["held"] == 31 * planned["metadata"] and planned["obstacle"] is None
    share = store.load().share("data")
    assert share is not None and share.snapshots is None
    assert run(["snapshot", "schedule", "data", "--hourly", "24", "--daily", "7"]) == 0
    assert "24 hourly, 7 daily snapshots are kept" in capsys.readouterr().out
    assert run(["snapshot", "upkeep"]) == 0
    assert "is made" in capsys.readouterr().out
    assert run(["snapshot", "schedules"]) == 0
    assert "1 daily" in capsys.readouterr().out
    assert run(["snapshot", "schedule", "data", "--off"]) == 0
    assert "no schedule any more" in capsys.readouterr().out
