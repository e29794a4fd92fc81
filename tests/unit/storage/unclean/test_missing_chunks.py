# SPDX-License-Identifier: Apache-2.0
"""Where the chunks of a missing member are, and in which rows an area of the file system is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.plan.model import MdArray
from millrace.storage.array.area import Area
from millrace.storage.record.model import Pool
from millrace.storage.scrub.damage import in_array, placed
from millrace.storage.unclean import missing_chunks
from millrace.system import paths
from millrace.system.documents import read_model
from tests.fakes.files.box import FAR_PORTS, Box
from tests.fakes.files.running import server

CHUNK = 128


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """RAID6 of ten."""
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


def test_chunk_of_a_slot_moves_left_with_the_parity(box: Box) -> None:
    """mdadm left-symmetric-6 of ten: stripe 0 is Q on 0, data on 1 to 8, P on 9; stripe 1 has P on 8, Q on 9."""

    def first(stripe: int, slot: int) -> list[Area]:
        return missing_chunks.chunks(pool(), array("data"), [Area(stripe * CHUNK, stripe * CHUNK + 8)], [slot])

    assert first(0, 1) == [Area(0, 8)]
    assert first(0, 8) == [Area(7 * CHUNK, 7 * CHUNK + 8)]
    assert first(0, 0) == first(0, 9) == []
    assert first(1, 0) == [Area(8 * CHUNK, 8 * CHUNK + 8)]
    assert first(1, 8) == first(1, 9) == []


def test_every_chunk_of_a_row_belongs_to_one_slot(box: Box) -> None:
    for stripe in range(12):
        row = Area(stripe * CHUNK + 8, stripe * CHUNK + 16)
        by_slot = [area for slot in range(10) for area in missing_chunks.chunks(pool(), array("data"), [row], [slot])]
        assert sorted(by_slot, key=lambda one: one.begin) == list(in_array(array("data"), row))


def test_slots_that_are_not_known_are_all(box: Box) -> None:
    row = Area(8, 16)
    assert missing_chunks.chunks(pool(), array("data"), [row], None) == placed(pool(), array("data"), [row])


@pytest.mark.parametrize(
    ("area", "rows"),
    [
        (Area(8, 16), [Area(8, 16)]),
        # within the second stripe, its third chunk
        (Area(10 * CHUNK + 4, 10 * CHUNK + 8), [Area(CHUNK + 4, CHUNK + 8)]),
        # the end of a chunk and the begin of the next
        (Area(CHUNK - 4, CHUNK + 4), [Area(0, 4), Area(CHUNK - 4, CHUNK)]),
        # whole chunks between: the stripes of these in whole
        (Area(CHUNK - 4, 3 * CHUNK + 4), [Area(0, CHUNK)]),
        (Area(4, 100 * CHUNK), [Area(0, 13 * CHUNK)]),
    ],
)
def test_rows_of_an_area(box: Box, area: Area, rows: list[Area]) -> None:
    assert missing_chunks.rows(pool(), array("data"), area) == rows


def test_area_of_a_leg_has_no_row_of_the_other(legs: Box) -> None:
    wide = array("data").chunk
    assert wide is not None
    one = Area(wide // 512 + 8, wide // 512 + 16)
    assert missing_chunks.rows(pool(), array("leg0"), one) == []
    (row,) = missing_chunks.rows(pool(), array("leg1"), one)
    assert one in placed(pool(), array("leg1"), [row])


def test_rows_of_a_leg_contain_what_they_were_asked_for(legs: Box) -> None:
    wide = array("data").chunk
    assert wide is not None
    whole = Area(24, 5 * wide // 512 + 8)
    areas = [
        area
        for leg in ("leg0", "leg1")
        for area in placed(pool(), array(leg), missing_chunks.rows(pool(), array(leg), whole))
    ]
    reached = whole.begin
    for area in sorted(areas, key=lambda each: each.begin):
        if area.begin <= reached:
            reached = max(reached, area.end)
    assert reached >= whole.end


def test_span_of_a_region_has_whole_stripes_of_all_legs(legs: Box) -> None:
    wide = array("data").chunk
    assert wide is not None
    stripe = 2 * wide // 512
    span = missing_chunks.device_span(pool(), array("leg1"), Area(8, 16))
    assert (span.begin, span.end % stripe) == (0, 0)
    assert all(span.begin <= one.begin and one.end <= span.end for one in placed(pool(), array("leg1"), [Area(8, 16)]))


def test_slots_without_a_member_in_sync_are_missing(box: Box) -> None:
    box.md(
        "data", raid_disks="10", layout="2", **{f"rd{n}/state": "in_sync" for n in range(8)}, **{"rd8/state": "spare"}
    )
    name = Path((box.root / "dev/md/millrace-data").readlink()).name
    assert missing_chunks.missing_slots(name) == [8, 9]
    assert missing_chunks.is_left_symmetric(name)
    box.md("data", layout="1")
    assert not missing_chunks.is_left_symmetric(name)
