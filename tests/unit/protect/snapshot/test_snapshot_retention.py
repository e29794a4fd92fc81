# SPDX-License-Identifier: Apache-2.0
"""Schedules and a floor that keep less: they remove nothing before the waiting time, however they were changed."""

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from millrace.cli.program import run
from millrace.protect.snapshot import kept_removals, snapshot_retention, snapshot_thin
from millrace.protect.snapshot.kept_removals import RemovalClock
from millrace.protect.snapshot.snapshot_plan import set_schedule
from millrace.protect.snapshot.snapshot_remove import carry_out
from millrace.protect.snapshot.snapshot_schedule_model import COUNTS, ScheduleChange
from millrace.serve.config import store
from millrace.serve.config.schedule import SnapshotSchedule
from millrace.serve.share import kept_snapshots
from millrace.serve.share import server as share_server
from millrace.serve.share.server import ShareServer
from millrace.system import paths
from millrace.system.errors import Refused
from tests.unit.protect.snapshot.conftest import Nas

POOL = "/srv/pool"
START = datetime.now(UTC).replace(microsecond=0)


@dataclass
class Box:
    """A server whose share has eight hourly snapshots; the tests move its clock."""

    nas: Nas
    server: ShareServer
    hours: float = 0.0
    clock_off: float = 0.0

    @property
    def now(self) -> datetime:
        return START + timedelta(hours=self.hours + self.clock_off)

    @property
    def clock(self) -> RemovalClock:
        return RemovalClock(lambda: self.now, lambda: 1000 + self.hours * 3600, lambda: "boot")

    @property
    def names(self) -> list[str]:
        return kept_snapshots.names("data", POOL)

    def schedule(self, **kept: int) -> ScheduleChange:
        changed = set_schedule("data", kept, False, False, lambda: self.server)
        # the command knows the boot of the host, which is another one
        carry_out(self.server, self.clock)
        return changed

    def upkeep(self) -> list[str]:
        carry_out(self.server, self.clock)
        return snapshot_thin.thin("data", self.server, self.now)


@pytest.fixture
def box(nas: Nas) -> Box:
    nas.appliance.TAKEN = (*nas.appliance.TAKEN, "systemctl start --no-block millrace-cleanup@schedule.service")
    made = nas.made().name
    first = nas.snapshots.place("data", made)
    for hour in range(8):
        hourly = f"{START - timedelta(hours=9 - hour):%Y%m%dT%H%M%SZ}-hourly"
        place = nas.snapshots.place("data", hourly)
        shutil.copytree(first, place)
        (place / "manifest.json").write_text((place / "manifest.json").read_text().replace(made, hourly))
    shutil.rmtree(first)
    box = Box(nas, nas.server)
    box.schedule(hourly=24)
    return box


def imported(schedule: SnapshotSchedule | None) -> None:
    """A change of the desired state that is not of the command for schedules, as `config import` makes it."""
    share = store.load().shares[0].model_copy(update={"snapshots": schedule})
    store.change("mallory", "config import", lambda old: old.model_copy(update={"shares": [share]}))


def test_tighter_schedule_removes_nothing_before_the_waiting_time(box: Box) -> None:
    before = box.names
    changed = box.schedule(hourly=1)
    assert changed.tighter is not None and (changed.tighter.removed, changed.tighter.left) == (7, 24 * 3600)
    assert box.upkeep() == []
    box.hours = 23
    assert box.upkeep() == [] and box.names == before
    box.hours = 25
    assert box.upkeep() == before[:-1]
    assert kept_removals.read(POOL, box.clock).retentions[0].tighter is None


def test_schedule_of_an_import_waits_and_names_its_user(box: Box) -> None:
    imported(SnapshotSchedule(hourly=2))
    assert box.upkeep() == []
    tighter = kept_removals.read(POOL, box.clock).retentions[0].tighter
    assert tighter is not None and (tighter.by, tighter.removed) == ("mallory", 6)


def test_schedule_that_is_set_back_removes_nothing(box: Box) -> None:
    before = box.names
    box.schedule(hourly=1)
    box.hours = 12
    box.schedule(hourly=24)
    box.hours = 48
    assert box.upkeep() == [] and box.names == before
    box.schedule(hourly=1)
    assert box.upkeep() == []


def test_still_tighter_schedule_begins_the_waiting_time_again(box: Box) -> None:
    box.schedule(hourly=7)
    box.hours = 23
    imported(SnapshotSchedule(hourly=1))
    assert box.upkeep() == []
    box.hours = 30
    assert box.upkeep() == []
    box.hours = 48
    assert len(box.upkeep()) == 7


@pytest.mark.parametrize("between", ["schedule", "share"])
def test_schedule_or_share_that_went_and_came_back_is_no_way_around(box: Box, between: str) -> None:
    share = store.load().shares[0]
    without = [] if between == "share" else [share.model_copy(update={"snapshots": None})]
    store.change("mallory", "x", lambda old: old.model_copy(update={"shares": without}))
    carry_out(box.server, box.clock)
    back = share.model_copy(update={"snapshots": SnapshotSchedule(hourly=1)})
    store.change("mallory", "x", lambda old: old.model_copy(update={"shares": [back]}))
    before = box.names
    assert box.upkeep() == [] and box.names == before


def test_clock_that_is_set_back_for_the_change_hides_no_snapshot(box: Box) -> None:
    box.clock_off = -1000
    imported(SnapshotSchedule(hourly=1))
    carry_out(box.server, box.clock)
    box.clock_off = 0
    assert box.upkeep() == []


def test_unchanged_schedule_thins_at_once_and_looser_numbers_hold_at_once(box: Box) -> None:
    box.schedule(hourly=4)
    box.hours = 25
    assert len(box.upkeep()) == 4
    box.schedule(hourly=6)
    assert kept_removals.read(POOL, box.clock).retentions[0].kept.hourly == 6
    [removed, *_] = box.names
    share = store.load().shares[0]
    record = kept_removals.read(POOL, box.clock)
    assert snapshot_retention.kept(share, SnapshotSchedule(hourly=3), record).hourly == 6 and removed in box.names


def test_schedule_that_removes_nothing_holds_at_once(box: Box) -> None:
    assert box.schedule(hourly=8).tighter is None
    assert kept_removals.read(POOL, box.clock).retentions[0].kept.hourly == 8


def test_higher_floor_holds_after_the_waiting_time(box: Box) -> None:
    policy = paths.policy_file()
    policy.parent.mkdir(parents=True, exist_ok=True)
    assert (carry_out(box.server, box.clock), snapshot_retention.floor(POOL)) == ([], 12)
    policy.write_text("[snapshots]\nfree = 50\n")
    carry_out(box.server, box.clock)
    assert snapshot_retention.floor(POOL) == 12
    policy.write_text("[snapshots]\nfree = 11\n")
    assert snapshot_retention.floor(POOL) == 11
    policy.write_text("[snapshots]\nfree = 50\n")
    box.hours = 25
    carry_out(box.server, box.clock)
    assert snapshot_retention.floor(POOL) == 50


def test_changes_that_wait_are_counted_and_listed(
    box: Box, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(share_server, "this_server", lambda: box.server)
    assert run(["snapshot", "schedule", "data", "--hourly", "2"]) == 0
    assert "6 snapshots beyond that remain until" in capsys.readouterr().out
    [waiting] = COUNTS.read().tighter
    assert (waiting.share, waiting.kept.hourly) == ("data", 24)
    assert run(["snapshot", "list", "data"]) == 0
    assert "data keeps 2 hourly snapshots from" in capsys.readouterr().out


def test_record_that_cannot_be_read_thins_nothing(box: Box) -> None:
    box.schedule(hourly=1)
    (box.nas.snapshots.top / kept_snapshots.RECORD).write_text("{")
    before = box.names
    with pytest.raises(Refused, match="the record of locks cannot be read"):
        snapshot_thin.thin("data", box.server, box.now)
    assert box.names == before
