# SPDX-License-Identifier: Apache-2.0
"""Rows that more members have in their lists of bad blocks than an array can lose, and what XFS has there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from millrace.plan.model import Role
from millrace.storage.array.area import Area, merged, minus
from millrace.storage.array.devices import array_device
from millrace.storage.array.md import LOST_MEMBERS
from millrace.storage.record.model import ArrayRecord, Pool
from millrace.storage.record.scrub_record import ScrubRecord
from millrace.storage.scrub import scrub_due as due
from millrace.storage.scrub.damage import bad_blocks, beyond, placed
from millrace.system.run import Runner, must

BLOCK = 8
"""Sectors of a block of XFS, and of the stripe that md reads and writes as one."""
SECTOR = 512
BYTES = BLOCK * SECTOR

# xfs_io(8), fsmap: `0: 9:127 [192..391]: inode 131 data 0..199 200`
_ROW = re.compile(r"\[(\d+)\.\.(\d+)\]: (.+)")
_DATA = re.compile(r"inode (\d+) data (\d+)\.\.\d+\b")
_LENGTH = re.compile(r"( \d+\.\.\d+)?( \d+)?( blocks)?\s*$")
_FREE = "free space"


@dataclass(frozen=True)
class Owner:
    """An area with its owner. `offset` is where it is in the file, in bytes; `extent` is the whole that it is part of.

    `inode` is None for what is not data of a file.
    """

    area: Area
    extent: Area
    what: str
    inode: int | None = None
    offset: int = 0

    @property
    def is_free(self) -> bool:
        """Whether nothing has it."""
        return self.what == _FREE


@dataclass(frozen=True)
class LostRows:
    """Rows of an array whose data are lost, whole blocks, and their areas of the device that XFS is on."""

    one: ArrayRecord
    rows: list[Area]
    areas: list[Area]


def lost(pool: Pool) -> list[LostRows]:
    """Return what is lost of each array that has data; a log is written again by its drive's replacement."""
    lost_rows = []
    for array in due.arrays(pool):
        if array.array.role is Role.LOG:
            continue
        members = len(array.members) - 1 if array.array.level == "raid1" else LOST_MEMBERS[array.array.level]
        rows = merged([_blocks(row) for row in beyond(bad_blocks(array_device(array.array.name) or "none"), members)])
        if rows:
            lost_rows.append(LostRows(array, rows, merged(placed(pool, array.array, rows))))
    return lost_rows


def in_use(pool: Pool, record: ScrubRecord) -> dict[str, int]:
    """Return how many sectors of each member of an array are lost and not retired, by the array's UUID."""
    found = dict[str, int]()
    for each in lost(pool):
        kept = record.of(each.one.uuid, each.one.array.name).retired
        rows = minus(each.rows, [Area(row.begin, row.end) for row in kept])
        found[each.one.uuid] = sum(row.end - row.begin for row in rows)
    return found


def owners(area: Area, mountpoint: str, run: Runner) -> Iterator[Owner]:
    """Yield who has an area, by the reverse mapping of XFS. Failed: xfs_io fails."""
    asked = f"fsmap -d {area.begin} {area.end - 1}"
    for line in must(run, ["xfs_io", "-r", "-c", asked, mountpoint]).splitlines():
        row = _ROW.search(line)
        if row is None:
            continue
        extent = Area(int(row[1]), int(row[2]) + 1)
        within = Area(max(area.begin, extent.begin), min(area.end, extent.end))
        if within.begin >= within.end:
            continue
        data = _DATA.match(row[3])
        if data is None:
            yield Owner(within, extent, _LENGTH.sub("", row[3]))
            continue
        offset = (int(data[2]) + within.begin - extent.begin) * SECTOR
        yield Owner(within, extent, f"inode {data[1]}", int(data[1]), offset)


def _blocks(row: Area) -> Area:
    return Area(row.begin - row.begin % BLOCK, -(-row.end // BLOCK) * BLOCK)
