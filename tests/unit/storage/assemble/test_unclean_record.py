# SPDX-License-Identifier: Apache-2.0
"""What is recorded of unclean starts: the regions in doubt, and starts that follow each other."""

from datetime import datetime

import pytest

from millrace.storage.array import dirty_regions
from millrace.storage.array.area import Area
from millrace.storage.assemble import unclean
from millrace.storage.assemble.unclean import Region
from millrace.storage.record.pool_file import load_pool
from millrace.system import paths
from tests.fakes.drives.world import World
from tests.unit.storage.drive_life import plug_in
from tests.unit.storage.plans import raid6_plan
from tests.unit.storage.power_cut import cut_while_written, started
from tests.unit.storage.server import built


def test_regions_in_doubt_are_recorded_before_a_member_is_added(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that are missing leave no parity to check, so they are added at once, and md clears the bitmap."""
    built(world, raid6_plan())
    away = [disk for disk in world.disks if disk.serial in ("D1", "D3")]
    cut_while_written(world, "data", "D1", "D3")
    for disk in away:
        plug_in(world, disk)

    def regions(_: str) -> list[Area]:
        return [] if any("--re-add" in command for command in world.calls) else [Area(8, 16), Area(64, 72)]

    monkeypatch.setattr(dirty_regions, "regions", regions)
    assert "D1 returned and is resyncing" in started(world)[0]
    known = unclean.pending()
    assert known is not None and known.starts[0].regions == [Region(begin=8, end=16), Region(begin=64, end=72)]


@pytest.mark.parametrize("count", [1000, 1001, 50_000])
def test_many_regions_are_recorded_as_fewer_that_have_all_of_them(
    world: World, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    data = built(world, raid6_plan()).arrays[0]
    areas = [Area(begin, begin + 8) for begin in range(0, count * 32, 32)]
    monkeypatch.setattr(dirty_regions, "regions", lambda _: areas)
    unclean.add(data, [1], 1_700_000_000, "2026-09-01T12:00:00+00:00")
    unclean.keep_regions(world, data, "2026-09-01T12:00:00+00:00")
    known = unclean.pending()
    assert known is not None and (kept := known.starts[0].regions) is not None
    assert len(kept) <= 1000 and (count > 1000 or len(kept) == count)
    assert (kept[0].begin, kept[-1].end) == (0, areas[-1].end)
    assert all(any(region.begin <= area.begin and area.end <= region.end for region in kept) for area in areas[::97])


def test_bitmap_that_cannot_be_read_stops_no_start(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drive that was pulled has no sectors: the whole bitmap is a read of nothing."""
    built(world, raid6_plan())
    cut_while_written(world, "data", "D1")
    empty = paths.ROOT / "empty"
    empty.write_bytes(b"")
    monkeypatch.setattr(dirty_regions, "_sectors", lambda _: 800)
    monkeypatch.setattr(dirty_regions, "_bitmaps", lambda _: iter([(empty, 0)]))
    assert started(world)[-1] == "RAID1 log: started, 2 members" and paths.assembled_file().exists()
    known = unclean.pending()
    assert known is not None and known.starts[0].regions == [Region(begin=0, end=800)]


def test_regions_of_a_start_that_may_hold_another_are_not_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = built(world, raid6_plan()).arrays[0]
    monkeypatch.setattr(dirty_regions, "regions", lambda _: [Area(8, 16)])
    at = "2026-09-01T12:00:00+00:00"
    for _ in range(2):
        # the clock begins at the same second with each boot
        unclean.add(data, [1, 2], 1_700_000_000, at)
    unclean.keep_regions(world, data, at)
    known = unclean.pending()
    assert known is not None and [start.regions for start in known.starts] == [None, [Region(begin=8, end=16)]]
    for _ in range(unclean.KEPT):
        unclean.add(data, [1, 2], 1_700_000_000, at)
    unclean.keep_regions(world, data, at)
    known = unclean.pending()
    assert known is not None and known.starts[-1].regions is None


def test_a_second_unclean_start_is_added_to_the_first(world: World) -> None:
    pool = built(world, raid6_plan())
    data, log = pool.arrays
    unclean.add(data, [1], 1_700_000_000, "2026-09-01T12:00:00+00:00")
    unclean.add(log, [], None, "2026-09-02T12:00:00+00:00")
    known = unclean.pending()
    assert known is not None
    assert [start.model_dump() for start in known.starts] == [
        {
            "array": "data",
            "level": "raid6",
            "last_write": "2023-11-14T22:13:20+00:00",
            "started": "2026-09-01T12:00:00+00:00",
            "missing": ["D1"],
            "events": None,
            "dated": True,
            "check": "waiting",
            "slots": [1],
            "torn": [],
            "rough": False,
            "problem": None,
            "outside": False,
            "since": None,
            "regions": None,
            "older": False,
        },
        {
            "array": "log",
            "level": "raid1",
            # no superblock said when it was written last
            "last_write": "2026-09-02T12:00:00+00:00",
            "started": "2026-09-02T12:00:00+00:00",
            "missing": [],
            "events": None,
            "dated": False,
            "check": "none",
            "slots": None,
            "torn": [],
            "rough": False,
            "problem": None,
            "outside": False,
            "since": None,
            "regions": None,
            "older": False,
        },
    ]


def test_starts_that_never_end_have_no_list_that_grows(world: World) -> None:
    built(world, raid6_plan())
    data = load_pool().arrays[0]
    for hour in range(50):
        begun = f"2026-11-{1 + hour // 24:02}T{hour % 24:02}:30:00+00:00"
        last = datetime.fromisoformat(begun).timestamp() - 600
        unclean.add(data, [hour % 3, 3], int(last), begun)
    known = unclean.pending()
    assert known is not None and len(known.starts) == unclean.KEPT
    oldest = known.starts[0]
    # a start that went into the next one left its time and its members there
    assert (oldest.last_write, oldest.missing) == ("2026-11-01T00:20:00+00:00", ["D0", "D3", "D2", "D1"])
    assert known.starts[-1].started == "2026-11-03T01:30:00+00:00"


def test_start_outside_millrace_that_goes_into_the_next_one_keeps_what_is_in_doubt(world: World) -> None:
    built(world, raid6_plan())
    data = load_pool().arrays[0]
    monday, friday = (datetime.fromisoformat(f"2026-11-{day}T10:00:00+00:00").timestamp() for day in (16, 20))
    unclean.add_outside(data, friday, monday, True, "2026-11-20T11:00:00+00:00")
    for hour in range(unclean.KEPT):
        unclean.add(data, [2, 3], int(friday) + 86_400, f"2026-11-22T{hour % 24:02}:{hour:02}:00+00:00")
    known = unclean.pending()
    assert known is not None and len(known.starts) == unclean.KEPT
    oldest = known.starts[0]
    assert (oldest.outside, oldest.since, oldest.dated) == (True, "2026-11-16T10:00:00+00:00", True)
    assert known.starts[1].outside is False and known.starts[1].since is None
