# SPDX-License-Identifier: Apache-2.0
"""Which drive of a RAID6 is wrong where a check found mismatches: each block is solved from P and Q (syndrome.py).

The ranges are read as they are first, and only the rows that do not match again while writes to them wait: a row that
is being written does not match for a moment either.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from millrace.storage.array import raid6_rows
from millrace.storage.array.live_arrays import serial_of
from millrace.storage.array.raid6_rows import SECTOR, STRIPE, Raid6, Rows
from millrace.storage.array.syndrome import BLOCK, Wrong, agreeing, explains, syndrome
from millrace.storage.record.scrub_record import LocatedBlocks, MismatchRange
from millrace.storage.scrub.damage import bad_blocks
from millrace.system.errors import Failed, Refused

SCANNED = 1 << 19
"""Sectors of each member that are read at most, 256 MiB: only a place that is known roughly is wider."""

MOST = 2048
"""Blocks that are located at most."""


@dataclass(frozen=True)
class BlockSearch:
    """Blocks by drive; `why` is why blocks may be missing, empty where all that do not match are there."""

    blocks: list[LocatedBlocks]
    why: str


def locate(device: str, ranges: Sequence[MismatchRange]) -> BlockSearch:
    """Find the wrong drive of each block in these ranges of an array, as far as it can be found; nothing is written."""
    if not ranges:
        return BlockSearch([], "")
    try:
        array = raid6_rows.raid6(device)
        with raid6_rows.opened(array) as members:
            return _Search(array, members).over(ranges)
    except (Refused, Failed) as error:
        return BlockSearch([], str(error))
    except OSError as error:
        return BlockSearch([], f"md does not let writes wait ({error.strerror or error})")


def mismatched(array: Raid6, members: Rows, begin: int, end: int) -> list[int]:
    """Return the blocks that do not match now, by sector; one that is being written may be among them.

    Failed: a drive cannot be read.
    """
    found = list[int]()
    for first, to in array.parts(begin, end):
        seen = syndrome(members.read(first, to), array.order(first))
        found += [first + at // SECTOR for at in seen.blocks()]
    return found


def digest(block: bytes) -> str:
    """Return what tells a block that was written since from the one that was located."""
    return hashlib.sha256(block).hexdigest()[:16]


class _Search:
    def __init__(self, array: Raid6, members: Rows) -> None:
        self._array, self._members = array, members
        self._found = list[Wrong]()
        self._digests = dict[int, str]()
        self._listed = [area for each in bad_blocks(array.device).values() for area in each]

    def over(self, ranges: Sequence[MismatchRange]) -> BlockSearch:
        read = 0
        for each in ranges:
            for begin, end in self._array.parts(each.begin, each.end):
                read += end - begin
                if read > SCANNED:
                    return BlockSearch(self._blocks(), "their place is known only roughly")
                if len(self._found) >= MOST:
                    return BlockSearch(self._blocks(), f"more than {MOST} blocks do not match")
                if sectors := mismatched(self._array, self._members, begin, end):
                    self._solve(sectors[0], sectors[-1] + STRIPE)
        return BlockSearch(self._blocks(), "")

    def _solve(self, begin: int, end: int) -> None:
        """Solve blocks of one row. What md has listed as bad of any member there is no evidence."""
        order = self._array.order(begin)
        with raid6_rows.quiesced(self._array, begin, end):
            content = self._members.read(begin, end)
        row_syndrome = syndrome(content, order)
        for at in row_syndrome.blocks():
            sector = begin + at // SECTOR
            slot = None if self._is_listed(sector) else explains(row_syndrome.block(at), order)
            self._found.append(Wrong(sector, slot))
            if slot is not None:
                self._digests[sector] = digest(content[slot][at : at + BLOCK])

    def _is_listed(self, sector: int) -> bool:
        return any(one.begin < sector + STRIPE and sector < one.end for one in self._listed)

    def _blocks(self) -> list[LocatedBlocks]:
        blocks = list[LocatedBlocks]()
        for wrong in agreeing(self._found):
            new = self._block(wrong)
            last = blocks[-1] if blocks else None
            if last and (last.end, last.serial, last.data) == (new.begin, new.serial, new.data):
                digests = [*last.digests, *new.digests]
                blocks[-1] = last.model_copy(update={"end": new.end, "digests": digests})
            else:
                blocks.append(new)
        return blocks

    def _block(self, wrong: Wrong) -> LocatedBlocks:
        end = wrong.sector + STRIPE
        if wrong.slot is None:
            return LocatedBlocks(begin=wrong.sector, end=end, serial=None)
        data = self._array.order(wrong.sector).data
        return LocatedBlocks(
            begin=wrong.sector,
            end=end,
            serial=serial_of(self._array.members[wrong.slot].name),
            data=data.index(wrong.slot) if wrong.slot in data else None,
            digests=[self._digests[wrong.sector]],
        )
