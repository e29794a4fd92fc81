# SPDX-License-Identifier: Apache-2.0
"""Where the data array is damaged: what md lists of its members, as areas of the device that XFS is on.

Of a stripe md knows the row in which data and parity do not match, not which drive is wrong, and a bad block may be
parity: the same row of every data chunk of the stripe is in doubt, whatever the layout of the array.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from millrace.plan.model import MdArray, Role
from millrace.storage.array.area import SECTOR, Area, merged, minus
from millrace.storage.array.devices import array_device, block
from millrace.storage.array.md import LOST_MEMBERS
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.storage.record.scrub_record import Scrubbed, ScrubRecord
from millrace.system import sysfs


@dataclass(frozen=True)
class Damage:
    """Areas of the data array, `mismatched` by a check, and all that are damaged.

    `notes` is what is known to be damaged and has no known place, in sentences.
    """

    areas: list[Area]
    notes: list[str]
    mismatched: list[Area] = field(default_factory=list)


def damage(pool: Pool, record: ScrubRecord) -> Damage:
    """Return what is damaged by md's lists of bad blocks of now and by the last check of each array."""
    areas, mismatched, notes = list[Area](), list[Area](), list[str]()
    for array in pool.arrays:
        device = array_device(array.array.name)
        if device is None or array.array.level == "raid0":
            continue
        kept = record.of(array.uuid, array.array.name)
        rows = [area for listed in bad_blocks(device).values() for area in listed]
        rows = minus(rows, [Area(each.begin, each.end) for each in kept.retired])
        mismatches, about = _mismatches(pool, array, record)
        notes += about
        if array.array.role is Role.LOG:
            notes += [f"array {array.array.name} cannot read {len(rows)} areas of the file system log"] if rows else []
            continue
        mismatched += mismatches
        areas += placed(pool, array.array, rows)
    return Damage(merged([*areas, *mismatched]), notes, merged(mismatched))


def placed(pool: Pool, array: MdArray, rows: Sequence[Area]) -> list[Area]:
    """Return the areas of the device of XFS whose data may be in these rows of an array."""
    within = [area for row in rows for area in in_array(array, row)]
    return [area for each in within for area in in_data(pool, array, each)]


def in_array(array: MdArray, row: Area) -> Iterator[Area]:
    """Yield the areas of an array whose data may be in this area of a member."""
    if array.level == "raid1" or array.chunk is None:
        yield row
        return
    chunk, data = array.chunk // SECTOR, len(array.members) - LOST_MEMBERS[array.level]
    begin = row.begin
    while begin < row.end:
        stripe, inside = divmod(begin, chunk)
        length = min(row.end - begin, chunk - inside)
        for disk in range(data):
            start = (stripe * data + disk) * chunk + inside
            yield Area(start, start + length)
        begin += length


def in_chunk(array: MdArray, row: Area, disk: int) -> Iterator[Area]:
    """Yield the areas of an array with parity of the data that the chunk `disk` of each row has in this area."""
    chunk, data = (array.chunk or 0) // SECTOR, len(array.members) - LOST_MEMBERS[array.level]
    begin = row.begin
    while begin < row.end:
        stripe, inside = divmod(begin, chunk)
        length = min(row.end - begin, chunk - inside)
        start = (stripe * data + disk) * chunk + inside
        yield Area(start, start + length)
        begin += length


def in_data(pool: Pool, array: MdArray, area: Area) -> Iterator[Area]:
    """Yield the areas of the device of XFS for one of a leg; the array of one leg is that device itself."""
    over = next(
        (record.array for record in pool.arrays if record.array.over_arrays and array.name in record.array.members),
        None,
    )
    if over is None or over.chunk is None:
        yield area
        return
    chunk, leg, legs = over.chunk // SECTOR, over.members.index(array.name), len(over.members)
    begin = area.begin
    while begin < area.end:
        row, inside = divmod(begin, chunk)
        length = min(area.end - begin, chunk - inside)
        start = (row * legs + leg) * chunk + inside
        yield Area(start, start + length)
        begin += length


def bad_blocks(device: str) -> dict[str, list[Area]]:
    """Return the list of bad blocks of each member of an array by the member's name, as rows of the array's data.

    md.c rdev_set_badblocks: a list counts from the beginning of the member, its data begins at `offset`.
    """
    md, areas = block(device) / "md", dict[str, list[Area]]()
    for name in sysfs.names(md):
        if not name.startswith("dev-"):
            continue
        offset = sysfs.number(md / name / "offset") or 0
        lines = (sysfs.text(md / name / "bad_blocks") or "").splitlines()
        listed = [(int(begin) - offset, int(length)) for begin, length in map(str.split, lines)]
        areas[name.removeprefix("dev-")] = [Area(max(begin, 0), begin + length) for begin, length in listed]
    return areas


def beyond(listed: Mapping[str, Sequence[Area]], redundancy: int) -> list[Area]:
    """Return the rows that more members have in their lists than the array can lose now: their data are lost."""
    edges = [edge for areas in listed.values() for area in areas for edge in ((area.begin, 1), (area.end, -1))]
    rows, members, since = list[Area](), 0, 0
    for place, change in sorted(edges):
        if members <= redundancy < members + change:
            since = place
        elif members + change <= redundancy < members:
            rows.append(Area(since, place))
        members += change
    return merged(rows)


def located(pool: Pool, array: MdArray, last: Scrubbed) -> list[Area]:
    """Return the areas of the device of XFS whose data a drive has wrong that the last check located."""
    found = [(Area(one.begin, one.end), one.data) for one in last.located if one.serial is not None]
    chunks = [each for row, disk in found if disk is not None for each in in_chunk(array, row, disk)]
    return [area for each in chunks for area in in_data(pool, array, each)]


def _mismatches(pool: Pool, array: ArrayRecord, record: ScrubRecord) -> tuple[list[Area], list[str]]:
    last = record.of(array.uuid, array.array.name).last
    if last is None or not last.mismatches:
        return [], []
    rows = [Area(each.begin, each.end) for each in last.ranges]
    # where the wrong drive is known, the rest of the row is right; where all were solved, what is not listed matches
    known = [Area(each.begin, each.end) for each in last.located if each.serial is not None]
    solved = bool(last.located) and not last.unlocated
    doubtful = (
        [Area(each.begin, each.end) for each in last.located if each.serial is None] if solved else minus(rows, known)
    )
    title = f"array {array.array.name} ({array.array.level.upper()})"
    if not rows:
        unknown = f"{title}: {last.mismatches} sectors do not match; their place is not known until the next check"
        return [], [unknown]
    if array.array.role is Role.LOG:
        return [], [f"{title}: {last.mismatches} sectors of the file system log differ between its copies"]
    wide = not solved and any(each.end - each.begin > each.sectors for each in last.ranges)
    less = f"{title}: the places of {last.mismatches} sectors are known only roughly; a file may be listed in vain"
    areas = [*placed(pool, array.array, doubtful), *located(pool, array.array, last)]
    return areas, [less] if wide else []
