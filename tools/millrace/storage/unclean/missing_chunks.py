# SPDX-License-Identifier: Apache-2.0
"""Where the chunks of missing members are on the device that XFS is on, and in which rows of an array an area of it is.

kernel 7.2, raid5.c raid5_compute_sector, left-symmetric: the parity of stripe 0 is on the last slot, one slot earlier
in each next stripe; on RAID6 Q follows P. Data begins on the slot after the parity.
"""

from collections.abc import Iterator, Sequence

from millrace.plan.model import MdArray
from millrace.storage.array.area import SECTOR, Area, merged
from millrace.storage.array.devices import block
from millrace.storage.array.md import LOST_MEMBERS
from millrace.storage.record.model import Pool
from millrace.storage.scrub.damage import in_array, in_data
from millrace.system import sysfs

_LEFT_SYMMETRIC = 2


def missing_slots(device: str) -> list[int]:
    """Return the slots of an array without a member in sync."""
    md = block(device) / "md"
    disks = sysfs.number(md / "raid_disks") or 0
    return [slot for slot in range(disks) if "in_sync" not in (sysfs.text(md / f"rd{slot}/state") or "")]


def is_left_symmetric(device: str) -> bool:
    """Whether md distributes data and parity as planned."""
    return sysfs.number(block(device) / "md/layout") == _LEFT_SYMMETRIC


def chunks(pool: Pool, array: MdArray, rows: Sequence[Area], slots: Sequence[int] | None) -> list[Area]:
    """Return the areas of the device of XFS that these slots have in these rows; of all data where None.

    Nothing where a slot has the parity.
    """
    found = [area for row in merged(rows) for area in _in_slots(array, row, slots)]
    return merged([area for each in found for area in in_data(pool, array, each)])


def rows(pool: Pool, array: MdArray, area: Area) -> list[Area]:
    """Return the rows of an array that hold an area of the device of XFS; the rows between two stripes in whole."""
    areas = [area]
    over = next(
        (record.array for record in pool.arrays if record.array.over_arrays and array.name in record.array.members),
        None,
    )
    if over is not None and over.chunk is not None:
        leg, legs = over.members.index(array.name), len(over.members)
        areas = list(_projected(area, over.chunk // SECTOR, legs, leg))
    if array.level == "raid1" or array.chunk is None:
        return merged(areas)
    data = len(array.members) - LOST_MEMBERS[array.level]
    return merged([row for each in areas for row in _projected(each, array.chunk // SECTOR, data, None)])


def device_span(pool: Pool, array: MdArray, row: Area) -> Area:
    """Return the area of the device of XFS from the first to the last sector of whole stripes of an array."""
    if array.level == "raid1" or array.chunk is None:
        return row
    chunk, data = array.chunk // SECTOR, len(array.members) - LOST_MEMBERS[array.level]
    begin, end = row.begin // chunk * chunk * data, -(-row.end // chunk) * chunk * data
    over = next(
        (record.array for record in pool.arrays if record.array.over_arrays and array.name in record.array.members),
        None,
    )
    if over is None or over.chunk is None:
        return Area(begin, end)
    wide, legs = over.chunk // SECTOR, len(over.members)
    return Area(begin // wide * wide * legs, -(-end // wide) * wide * legs)


def _projected(area: Area, chunk: int, columns: int, column: int | None) -> Iterator[Area]:
    """Yield where an area of rows of chunks is in one column, or in any where None."""
    first, last = area.begin // chunk, (area.end - 1) // chunk
    for number in dict.fromkeys((first, last)):
        if column in (None, number % columns):
            low = number // columns * chunk - number * chunk
            yield Area(max(area.begin, number * chunk) + low, min(area.end, (number + 1) * chunk) + low)
    if last - first > 1:
        begin, end = (first + 1) // columns, (last - 1) // columns + 1
        yield Area(begin * chunk, end * chunk)


def _in_slots(array: MdArray, row: Area, slots: Sequence[int] | None) -> Iterator[Area]:
    if slots is None or array.level == "raid1" or array.chunk is None:
        yield from in_array(array, row)
        return
    chunk, parity, disks = array.chunk // SECTOR, LOST_MEMBERS[array.level], len(array.members)
    data, begin = disks - parity, row.begin
    while begin < row.end:
        stripe, inside = divmod(begin, chunk)
        length = min(row.end - begin, chunk - inside)
        first = (disks - 1 - stripe % disks + parity) % disks
        for slot in slots:
            number = (slot - first) % disks
            if number < data:
                start = (stripe * data + number) * chunk + inside
                yield Area(start, start + length)
        begin += length
