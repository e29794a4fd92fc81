# SPDX-License-Identifier: Apache-2.0
"""A schedule from the command to the snapshots that are made and removed by it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from millrace.cli.program import run
from millrace.protect.snapshot import snapshot_job, snapshot_remove, snapshot_run, snapshot_thin
from millrace.protect.snapshot.kept_removals import RemovalClock
from millrace.protect.snapshot.snapshot_plan import plan, set_schedule
from millrace.protect.snapshot.snapshot_schedule_model import COUNTS, RECORD
from millrace.protect.snapshot.snapshot_thin import MOST, hold_floor, removable
from millrace.protect.snapshot.snapshot_upkeep import upkeep
from millrace.serve.clone.clone_again import ChangeClock
from millrace.serve.config import store
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.serve.share import kept_snapshots
from millrace.serve.share import server as share_server
from millrace.serve.share.edit import create_shares
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
        self.ntp = "NTP=yes\nNTPSynchronized=yes\n"

    def __call__(self, argv: Sequence[str], stdin: str | None = None) -> Result:
        if argv == ["timedatectl", "show", "--property=NTP", "--property=NTPSynchronized"]:
            return Result(0, self.ntp, "")
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
    assert "whose removal waits for 24 hours" in said
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


@pytest.fixture
def held(nas: Nas, server: ShareServer, hour: Callable[[], list[str]]) -> Callable[[int], list[str]]:
    """Make so many hourly snapshots, and return their names."""

    def held(number: int) -> list[str]:
        scheduled(server, hourly=168)
        for _ in range(number):
            hour()
        return names(nas)

    return held


def test_floor_removes_the_oldest_until_it_holds_and_never_the_last(
    nas: Nas, server: ShareServer, held: Callable[[int], list[str]], clock: Clock
) -> None:
    before = held(3)
    nas.space.free = 11
    removal = hold_floor(12, replace(server, pause=lambda _: setattr(nas.space, "free", 13)), clock.now)
    assert removal is not None and (removal.removed, removal.is_enough) == (1, True)
    assert names(nas) == before[1:]
    nas.space.free = 11
    removal = hold_floor(12, server, clock.now)
    assert removal is not None and not removal.is_enough and names(nas) == before[2:]
    assert hold_floor(12, server, clock.now) is None


def test_floor_keeps_the_newest_of_each_kind(
    nas: Nas, server: ShareServer, hour: Callable[[], list[str]], clock: Clock
) -> None:
    scheduled(server, hourly=168, daily=300)
    for _ in range(4):
        hour()
    daily = [name for name in names(nas) if name.endswith("daily")]
    nas.space.free = 11
    hold_floor(12, server, clock.now)
    assert [name for name in names(nas) if name.endswith("daily")] == daily[-1:] and len(names(nas)) == 2


def test_newest_scheduled_one_stays_beside_a_younger_one_of_a_user(
    nas: Nas, server: ShareServer, held: Callable[[int], list[str]], clock: Clock
) -> None:
    made = held(1)
    rows = nas.snapshots.rows(store.load(), "data")
    # what a user makes, or a rollback, may hold the damage
    later = f"{clock.now:%Y%m%dT%H%M%SZ}-before-rollback"
    user = rows[0].model_copy(update={"name": later})
    assert removable([*rows, user], clock.now + timedelta(hours=1)) == [] and names(nas) == made


def test_error_of_one_share_leaves_the_others_their_snapshots(
    nas: Nas, server: ShareServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduled(server, hourly=2)

    def vanished(*_: object) -> list[str]:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(snapshot_thin, "thin", vanished)
    [said] = upkeep(server, lambda: clock.now)
    assert said.startswith("data: ") and "No such file or directory" in said
    assert COUNTS.read().of("data").held == {"hourly": 1}


def test_nothing_is_made_below_the_floor(nas: Nas, server: ShareServer, clock: Clock) -> None:
    scheduled(server, hourly=2)
    nas.space.free = 11
    [said] = upkeep(server, lambda: clock.now)
    record = RECORD.read().last("data")
    assert "less than 12 % of the pool" in said and names(nas) == []
    assert record is not None and record.problem is not None and "remove files" in record.problem


def test_removal_that_frees_nothing_ends_after_three_and_is_not_repeated(
    nas: Nas, server: ShareServer, held: Callable[[int], list[str]], clock: Clock
) -> None:
    before = held(9)
    nas.space.free = 10
    upkeep(server, lambda: clock.now)
    upkeep(server, lambda: clock.now)
    removal = RECORD.read().floor
    assert names(nas) == before[3:]
    assert removal is not None and (removal.removed, removal.is_vain, removal.is_enough) == (3, True, False)
    # twice as much is missing
    nas.space.free = 8
    upkeep(server, lambda: clock.now)
    removal = RECORD.read().floor
    assert names(nas) == before[6:] and removal is not None and removal.removed == 6
    clock.forward(days=2)
    upkeep(server, lambda: clock.now)
    removal = RECORD.read().floor
    assert names(nas) == before[8:] and removal is not None and removal.removed == 2


def test_upkeep_removes_no_more_than_its_bound_and_adds_to_the_record(
    nas: Nas, server: ShareServer, held: Callable[[int], list[str]], clock: Clock
) -> None:
    before = held(12)
    nas.space.inodes = 20_000
    # each removal gains a little of what is missing
    gaining = replace(server, pause=lambda _: setattr(nas.space, "inodes", nas.space.inodes + 1000))
    upkeep(gaining, lambda: clock.now)
    removal = RECORD.read().floor
    assert names(nas) == before[MOST:]
    assert removal is not None and (removal.removed, removal.is_vain) == (MOST, False)
    clock.forward(minutes=15)
    upkeep(gaining, lambda: clock.now)
    added = RECORD.read().floor
    assert names(nas) == before[-1:]
    assert added is not None and (added.removed, added.since) == (11, removal.since) and added.at > removal.at


def test_removal_for_free_space_is_known_after_the_next_start(
    nas: Nas, server: ShareServer, held: Callable[[int], list[str]], clock: Clock
) -> None:
    held(3)
    nas.space.free = 11
    upkeep(server, lambda: clock.now)
    before = RECORD.read().floor
    # /run is empty after a start
    RECORD.remove()
    nas.space.free = 50
    upkeep(server, lambda: clock.now)
    assert before is not None and RECORD.read().floor == before


def test_ordered_removal_is_carried_out_by_the_upkeep(
    nas: Nas, server: ShareServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    manual = nas.made()
    snapshot_remove.order(f"data@{manual.name}", None, server, RemovalClock(lambda: clock.now, lambda: 60.0))
    assert upkeep(server, lambda: clock.now, lambda: 60.0) == [] and names(nas) == [manual.name]
    [said] = upkeep(server, lambda: clock.now, lambda: 60.0 + 24 * 3600)
    assert "is removed, as" in said and names(nas) == [] and COUNTS.read().removals == []


def test_removal_that_is_due_behind_a_long_snapshot_is_carried_out(
    nas: Nas, server: ShareServer, systemd: Systemd, clock: Clock
) -> None:
    manual = nas.made()
    create_shares(["more"], {}, nas.appliance.server)
    for share in ("data", "more"):
        set_schedule(share, {"daily": 2}, False, False, lambda: server)
    uptime = 60.0
    snapshot_remove.order(f"data@{manual.name}", None, server, RemovalClock(lambda: clock.now, lambda: uptime))
    work = systemd.run

    def slow() -> None:
        nonlocal uptime
        work()
        uptime += 25 * 3600

    systemd.run = slow
    said = upkeep(server, lambda: clock.now, lambda: uptime)
    removed = [line for line in said if line.startswith(f"data@{manual.name} is removed, as")]
    assert len(removed) == 1 and manual.name not in names(nas)


def test_record_that_cannot_be_read_keeps_no_snapshot_from_being_made(
    nas: Nas, server: ShareServer, clock: Clock
) -> None:
    scheduled(server, hourly=2)
    nas.snapshots.top.mkdir(mode=0o700, exist_ok=True)
    (nas.snapshots.top / kept_snapshots.RECORD).write_text("{")
    said = upkeep(server, lambda: clock.now)
    assert len(names(nas)) == 1 and "the record of locks cannot be read" in said[0]
    assert COUNTS.read().problem is not None


def test_removal_is_recorded_before_its_space_is_waited_for(
    nas: Nas, server: ShareServer, held: Callable[[int], list[str]], clock: Clock
) -> None:
    held(3)
    nas.space.free = 11

    def power_cut(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        upkeep(replace(server, pause=power_cut), lambda: clock.now)
    removal = RECORD.read().floor
    assert removal is not None and removal.removed == 1


@pytest.mark.parametrize(("ahead", "uptime", "problem"), [(0, 60, False), (1, 60, True), (1, 90_000, True)])
def test_clock_that_is_not_known_makes_and_thins_nothing(
    nas: Nas,
    server: ShareServer,
    held: Callable[[int], list[str]],
    systemd: Systemd,
    clock: Clock,
    ahead: int,
    uptime: float,
    problem: bool,
) -> None:
    before = held(2)
    scheduled(server, hourly=1)
    systemd.ntp = "NTP=yes\nNTPSynchronized=no\n"
    clock.forward(days=-ahead)
    [said] = upkeep(server, lambda: clock.now, lambda: uptime)
    record = RECORD.read().last("data")
    assert names(nas) == before and "the clock is not synchronised" in said
    assert record is not None and (record.problem is not None) is problem


@pytest.mark.parametrize("fate", ["locked", "removed"])
def test_snapshot_ahead_that_nobody_can_remove_now_leaves_no_doubt(
    nas: Nas, server: ShareServer, held: Callable[[int], list[str]], systemd: Systemd, clock: Clock, fate: str
) -> None:
    [before] = held(1)
    if fate == "locked":
        snapshot_remove.lock(f"data@{before}", f"{clock.now + timedelta(days=40):%Y-%m-%d}", server)
    else:
        snapshot_remove.order(f"data@{before}", None, server)
    systemd.ntp = "NTP=yes\nNTPSynchronized=no\n"
    clock.forward(days=-1)
    [said] = upkeep(server, lambda: clock.now, lambda: 90_000)
    assert said.endswith("is made") and len(names(nas)) == 2


@pytest.mark.parametrize(
    ("ntp", "uptime"),
    [("NTP=yes\nNTPSynchronized=no", 7200), ("NTP=no\nNTPSynchronized=no", 60), ("NTP=yes\nNTPSynchronized=yes", 60)],
    ids=["no time server", "set by hand", "synchronised"],
)
def test_clock_that_is_as_right_as_it_gets_makes_snapshots(
    nas: Nas, server: ShareServer, systemd: Systemd, clock: Clock, ntp: str, uptime: float
) -> None:
    scheduled(server, hourly=1)
    systemd.ntp = ntp
    assert len(upkeep(server, lambda: clock.now, lambda: uptime)) == 1 and len(names(nas)) == 1


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
    nas.space.inodes = 30_000_000
    monkeypatch.setattr("millrace.serve.share.quota.inodes_used", lambda *_: 4_000_000)
    inodes = plan(share, SnapshotSchedule(daily=9), server)
    assert inodes.obstacle is not None and "36000000 inodes" in inodes.obstacle
    assert plan(share, SnapshotSchedule(daily=7), server).obstacle is None
    monkeypatch.setattr("millrace.serve.share.quota.inodes_used", lambda *_: 20_000_000)
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
