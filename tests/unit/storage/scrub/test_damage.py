# SPDX-License-Identifier: Apache-2.0
"""What md lists of members becomes areas of the device that XFS is on."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from millrace.plan.model import MdArray
from millrace.storage.array.area import Area, merged
from millrace.storage.record.model import Pool
from millrace.storage.record.scrub_record import ArrayScrub, MismatchRange, RetiredRows, Scrubbed, ScrubRecord
from millrace.storage.scrub.damage import Damage, beyond, damage, in_array, in_data
from millrace.system import paths
from millrace.system.documents import read_model
from tests.fakes.files.box import FAR_PORTS, Box
from tests.fakes.files.running import server

STARTED = "2026-11-22T01:00:00+00:00"
# 64 KiB in sectors, as planned
CHUNK = 128


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path) as made:
        made.provision()
        yield made


@pytest.fixture
def legs(tmp_path: Path) -> Iterator[Box]:
    with server(tmp_path, FAR_PORTS) as made:
        made.provision()
        yield made


def pool() -> Pool:
    return read_model(paths.pool_file(), Pool)


def array(name: str) -> MdArray:
    return next(one.array for one in pool().arrays if one.array.name == name)


def found(ranges: Sequence[MismatchRange] = (), **mismatches: int) -> Damage:
    """The damage where the last check of each array found so many sectors, those of the data in these ranges."""
    arrays = [
        ArrayScrub(
            array=record.array.name,
            uuid=record.uuid,
            last=Scrubbed(
                started=STARTED,
                ended=STARTED,
                bytes=0,
                seconds=0,
                mismatches=mismatches.get(record.array.name, 0),
                bad_areas=0,
                ranges=[*ranges] if record.array.name == "data" else [MismatchRange(begin=0, end=8, sectors=8)],
            ),
        )
        for record in pool().arrays
    ]
    return damage(pool(), ScrubRecord(arrays=arrays))


def test_one_row_of_every_data_chunk_of_the_stripe_is_in_doubt(box: Box) -> None:
    assert array("data").chunk == CHUNK * 512
    areas = list(in_array(array("data"), Area(3 * CHUNK + 16, 3 * CHUNK + 24)))
    assert areas == [Area((3 * 8 + disk) * CHUNK + 16, (3 * 8 + disk) * CHUNK + 24) for disk in range(8)]


def test_area_across_two_stripes_is_in_both(box: Box) -> None:
    areas = list(in_array(array("data"), Area(CHUNK - 8, CHUNK + 8)))
    assert len(areas) == 16
    assert (areas[0], areas[8]) == (Area(CHUNK - 8, CHUNK), Area(8 * CHUNK, 8 * CHUNK + 8))


def test_sector_of_a_mirror_is_that_of_the_array(box: Box) -> None:
    assert list(in_array(array("log"), Area(8, 16))) == [Area(8, 16)]


def test_area_of_a_leg_lies_between_those_of_the_others(legs: Box) -> None:
    data = array("data")
    assert data.chunk is not None and data.members == ["leg0", "leg1"]
    wide = data.chunk // 512
    assert list(in_data(pool(), array("leg1"), Area(wide - 8, wide + 8))) == [
        Area(2 * wide - 8, 2 * wide),
        Area(3 * wide, 3 * wide + 8),
    ]
    assert list(in_data(pool(), array("leg0"), Area(0, 8))) == [Area(0, 8)]


def test_areas_that_touch_are_one() -> None:
    assert merged([Area(16, 24), Area(0, 8), Area(8, 12), Area(20, 40)]) == [Area(0, 12), Area(16, 40)]


def test_mismatches_are_where_the_check_has_recorded_them(box: Box) -> None:
    result = found([MismatchRange(begin=16, end=24, sectors=8)], data=8)
    areas = [Area(disk * CHUNK + 16, disk * CHUNK + 24) for disk in range(8)]
    assert result == Damage(areas, [], areas)


def test_mismatches_with_a_rough_place_are_said_to_be_rough(box: Box) -> None:
    result = found([MismatchRange(begin=0, end=CHUNK, sectors=8)], data=8, log=8)
    assert result.areas == [Area(0, 8 * CHUNK)]
    assert result.notes == [
        "array data (RAID6): the places of 8 sectors are known only roughly; a file may be listed in vain",
        "array log (RAID1): 8 sectors of the file system log differ between its copies",
    ]


def test_mismatches_of_an_earlier_release_have_no_place(box: Box) -> None:
    notes = ["array data (RAID6): 4096 sectors do not match; their place is not known until the next check"]
    assert found(data=4096) == Damage([], notes)


def test_bad_blocks_count_from_the_beginning_of_the_member(box: Box) -> None:
    box.md("data", **{"dev-nvme3n1p2/bad_blocks": "2064 8", "dev-nvme3n1p2/offset": "2048"})
    assert found().areas == [Area(disk * CHUNK + 16, disk * CHUNK + 24) for disk in range(8)]


def test_bad_blocks_that_are_retired_are_no_damage(box: Box) -> None:
    box.md("data", **{"dev-nvme3n1p2/bad_blocks": "2064 8\n2096 8", "dev-nvme3n1p2/offset": "2048"})
    uuid = next(one.uuid for one in pool().arrays if one.array.name == "data")
    kept = ArrayScrub(array="data", uuid=uuid, retired=[RetiredRows(begin=16, end=24)])
    left = damage(pool(), ScrubRecord(arrays=[kept])).areas
    assert left == [Area(disk * CHUNK + 48, disk * CHUNK + 56) for disk in range(8)]


def test_bad_blocks_of_the_log_are_no_file(box: Box) -> None:
    box.md("log", **{"dev-nvme10n1p1/bad_blocks": "2064 8"})
    assert found() == Damage([], ["array log cannot read 1 areas of the file system log"])


def test_pool_without_damage_has_none(box: Box) -> None:
    assert found() == Damage([], [])


def test_rows_on_more_lists_than_the_array_can_lose_are_lost() -> None:
    listed = {"a": [Area(0, 8), Area(100, 108)], "b": [Area(4, 12)], "c": [Area(6, 10), Area(200, 208)]}
    assert beyond(listed, 2) == [Area(6, 8)]
    assert beyond(listed, 1) == [Area(4, 10)]
    assert beyond(listed, 0) == [Area(0, 12), Area(100, 108), Area(200, 208)]
    assert beyond(listed, 3) == beyond({}, 0) == []


def test_lists_that_only_touch_have_no_row_in_common() -> None:
    assert beyond({"a": [Area(0, 8)], "b": [Area(8, 16)]}, 1) == []
