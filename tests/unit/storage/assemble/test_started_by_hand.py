# SPDX-License-Identifier: Apache-2.0
"""An array that broke and was started by hand, with members of two ages, is found; one that Millrace started is not."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner

from millrace.observe.health.checks import unclean as health
from millrace.observe.health.model import Level
from millrace.observe.pool import verbs as pool_verbs
from millrace.storage.array import md
from millrace.storage.assemble import started_by_hand, unclean
from millrace.storage.assemble.assemble import assemble
from millrace.storage.record import failure_record
from millrace.storage.record.failure_record import Failure
from millrace.storage.record.pool_file import load_pool
from millrace.storage.unclean.unclean_find import lines
from millrace.system import paths
from millrace.system.errors import Failed
from millrace.system.files import append_line
from tests.fakes.drives.world import World
from tests.unit.observe.health.servers import host
from tests.unit.storage.assemble.drives_back import disk, one_after_another
from tests.unit.storage.drive_life import plug_in
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.server import built

BROKE = 1_795_000_000.0


@pytest.fixture
def pool(world: World) -> World:
    """A RAID6 of D0 to D3 and a mirror of L0 and L1, both running."""
    built(world, raid6_plan())
    return world


def uuid() -> str:
    return next(one.uuid for one in load_pool().arrays if one.array.name == "data")


def failed(left: int | None, at: float, broken: bool = False, filling: bool = False) -> None:
    """The kernel said that a member of the data failed."""
    failure = Failure("boot", 1, at, uuid(), "guid", left, broken, filling)
    append_line(paths.failures_file(), json.dumps(failure._asdict()))


def broken(broken: bool = True) -> None:
    """The kernel said that the data lost its last member that it could lose."""
    failed(1, BROKE, broken)


def assembled(world: World) -> list[str]:
    said: list[str] = []
    assemble(world, said.append)
    return [one for one in said if "outside" in one]


def test_array_that_was_started_by_hand_after_it_broke_is_recorded_once(pool: World) -> None:
    broken()
    assert assembled(pool) == [
        "RAID6 data broke and was started outside Millrace: its members may differ (millrace pool unclean)"
    ]
    known = unclean.pending()
    assert known is not None
    (start,) = known.starts
    assert (start.array, start.outside, start.check, start.last_write) == (
        "data",
        True,
        "none",
        "2026-11-18T11:06:40+00:00",
    )
    assert assembled(pool) == []
    (finding,) = health.check(host())
    assert finding.level is Level.WARN
    assert "broke at 2026-11-18 11:06 UTC and was started outside Millrace" in finding.sentence
    assert "a check of the array does not find old data" in (finding.todo or "")
    assert any("started outside Millrace" in line for line in lines(known, []))


def test_member_that_failed_without_breaking_the_array_is_none(pool: World) -> None:
    broken(False)
    assert assembled(pool) == [] and unclean.pending() is None


def test_start_of_millrace_is_no_other(pool: World) -> None:
    away = [disk(pool, serial) for serial in ("D0", "D1", "D2")]
    one_after_another(pool, "D0", "D1", "D2")
    broken()
    for drive in away:
        plug_in(pool, drive)
    assert assembled(pool) == []
    assert failure_record.broke(uuid()) is None and failure_record.load()[-1].broken
    known = unclean.pending()
    assert known is not None and [start.outside for start in known.starts] == [False]
    assert assembled(pool) == []
    # it breaks again, and somebody is quicker
    broken()
    assert len(assembled(pool)) == 1


def test_array_that_is_still_broken_was_not_started(pool: World) -> None:
    one_after_another(pool, "D0", "D1", "D2")
    broken()
    with pytest.raises(Exception, match="data"):
        assembled(pool)
    assert unclean.pending() is None and failure_record.broke(uuid()) == BROKE


DAY = 86_400.0


@pytest.mark.parametrize(
    ("left", "since", "known"),
    [
        # it was complete again in between
        ([(3, 9), (2, 8), (3, 4), (2, 1)], 4, True),
        # rebuilt once, and never complete
        ([(3, 9), (2, 8), (2, 1)], 9, True),
        # two at the same moment, or one that was missing from the start on
        ([(None, 1), (None, 1)], 1, False),
        ([(2, 3)], 3, False),
        ([], 0, False),
        # the clock was set
        ([(3, 4), (2, 6)], 6, True),
    ],
)
def test_what_is_in_doubt_begins_when_the_first_member_left(
    pool: World, monkeypatch: pytest.MonkeyPatch, left: list[tuple[int | None, int]], since: int, known: bool
) -> None:
    monkeypatch.setattr(pool, "now", lambda: "2026-12-01T12:00:00+00:00")
    for count, days in left:
        failed(count, BROKE - days * DAY)
    broken()
    # one that failed after the start by hand
    failed(3, BROKE + DAY)
    assembled(pool)
    record = unclean.pending()
    assert record is not None
    (start,) = record.starts
    assert start.in_doubt_since.timestamp() == BROKE - since * DAY
    assert (start.dated, start.last_write) == (known, "2026-11-18T11:06:40+00:00")
    (finding,) = health.check(host())
    day = (
        f"files written since {start.in_doubt_since:%Y-%m-%d} 11:06 UTC{'' if known else ' or earlier'} may be damaged"
    )
    assert f"{day} (the pool is searched for them once it is mounted), and others are possible" in finding.sentence
    shown = (
        f"first member left {start.since}{'' if known else ' or earlier'}, broke {start.last_write}, started outside"
    )
    assert any(shown in line for line in lines(record, []))


def test_member_that_failed_during_its_rebuild_was_no_current_one(pool: World) -> None:
    failed(3, BROKE - 5 * DAY)
    failed(3, BROKE - 2 * DAY, filling=True)
    failed(2, BROKE - 1 * DAY)
    broken()
    assembled(pool)
    found = unclean.pending()
    assert found is not None and found.starts[0].in_doubt_since.timestamp() == BROKE - 5 * DAY


@pytest.mark.parametrize("mounted", [True, False])
def test_event_of_md_is_enough_and_has_the_files_searched_for(
    pool: World, monkeypatch: pytest.MonkeyPatch, mounted: bool
) -> None:
    broken()
    monkeypatch.setattr("millrace.storage.array.machine.Linux", lambda: pool)
    monkeypatch.setattr(os.path, "ismount", lambda path: mounted and path == paths.ROOT / "srv/pool")
    for _ in range(2):
        done = CliRunner().invoke(pool_verbs.pool, ["record"], catch_exceptions=False)
        assert done.exit_code == 0
    known = unclean.pending()
    assert known is not None and known.starts[0].outside
    # else the mount starts it
    assert pool.calls.count(["systemctl", "start", "--no-block", "millrace-unclean.service"]) == mounted


def test_boot_drive_that_takes_no_record_stops_no_start(pool: World, monkeypatch: pytest.MonkeyPatch) -> None:
    broken()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("millrace.storage.assemble.unclean.write_model", full)
    (said,) = assembled(pool)
    assert said.startswith("RAID6 data broke and was started outside Millrace, which cannot be recorded")


@contextmanager
def event_during(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, world: World) -> Iterator[list[str]]:
    """Another process looks as soon as this function of a module has done its work, and has half a second for it."""
    said, others, function = list[str](), list[threading.Thread](), getattr(module, name)

    def done(*given: Any, **more: Any) -> Any:
        result = function(*given, **more)
        if not others:
            others.append(threading.Thread(target=started_by_hand.look, args=(world, load_pool(), said.append)))
            others[0].start()
            others[0].join(0.5)
        return result

    monkeypatch.setattr(module, name, done)
    yield said
    for thread in others:
        thread.join(20)
    assert others


def test_event_of_an_array_that_millrace_starts_waits_for_the_end_of_the_start(
    pool: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = [disk(pool, serial) for serial in ("D0", "D1", "D2")]
    one_after_another(pool, "D0", "D1", "D2")
    broken()
    for drive in away:
        plug_in(pool, drive)
    with event_during(monkeypatch, md, "make_writable", pool) as said:
        assert assembled(pool) == []
    assert said == []
    known = unclean.pending()
    assert known is not None and [start.outside for start in known.starts] == [False]


def test_two_that_look_at_once_record_one_start(pool: World, monkeypatch: pytest.MonkeyPatch) -> None:
    broken()
    with event_during(monkeypatch, md, "works", pool) as said:
        assert len(assembled(pool)) == 1
    assert said == []
    known = unclean.pending()
    assert known is not None and len(known.starts) == 1


def test_start_that_fails_hides_no_other(pool: World, monkeypatch: pytest.MonkeyPatch) -> None:
    one_after_another(pool, "D0", "D1", "D2")
    broken()
    record = next(one for one in load_pool().arrays if one.array.name == "data")
    with pytest.raises(Failed), started_by_hand.starting(record):
        raise Failed("no")
    assert failure_record.broke(uuid()) == BROKE


def test_boot_drive_without_room_for_the_lock_stops_no_start(pool: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    broken()
    record = next(one for one in load_pool().arrays if one.array.name == "data")
    monkeypatch.setattr("millrace.storage.assemble.started_by_hand.locks.held", full)
    with started_by_hand.starting(record):
        pass
    assert failure_record.broke(uuid()) is None
