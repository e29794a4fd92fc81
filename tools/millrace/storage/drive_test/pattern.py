# SPDX-License-Identifier: Apache-2.0
"""What a test of a drive writes: contents that no two sectors and no two tests share, and the places of a sample."""

import math
import mmap
import os
import random
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from millrace.inventory.surface import MARK_SIZE
from millrace.system.text import KIB, MIB

SECTOR = 512
CHUNK = MIB
BLOCK = 4 * KIB
SEGMENTS = 64
LONGEST_SEGMENT = 16 * MIB
LEAST_PART = 1024
"""The part of a drive that a segment is at most."""
MEETINGS = 16
"""How often two single blocks are expected to meet on a drive that has half of the capacity that it reports."""
NUMBER, RUN = 8, 8


@dataclass(frozen=True)
class PatternBlock:
    """`length` bytes at `offset`."""

    offset: int
    length: int


class Pattern:
    """The contents of one test: random bytes, and in each sector its number and the number of the test."""

    def __init__(self) -> None:
        self.run = os.urandom(RUN)
        # O_DIRECT takes memory that begins at a page
        self._buffer = mmap.mmap(-1, CHUNK)
        filling = bytearray(os.urandom(CHUNK))
        for at in range(RUN):
            filling[NUMBER + at :: SECTOR] = self.run[at : at + 1] * (CHUNK // SECTOR)
        # a place begins anywhere in a chunk, and what is there does not depend on where it begins
        self._filling = bytes(filling * 2)

    def fill(self, place: PatternBlock) -> mmap.mmap:
        """Make the buffer begin with what belongs to a place of at most CHUNK bytes, and return it."""
        begin = place.offset % CHUNK
        self._buffer[: place.length] = self._filling[begin : begin + place.length]
        first, count = place.offset // SECTOR, place.length // SECTOR
        numbers = array("Q", range(first, first + count)).tobytes()
        for at in range(NUMBER):
            self._buffer[at : place.length : SECTOR] = numbers[at::NUMBER]
        return self._buffer

    def difference(self, place: PatternBlock, read: bytes) -> str | None:
        """Return what is wrong with what was read at a place, as the end of a sentence about the drive; else None."""
        wanted = self.fill(place)[: place.length]
        if read == wanted:
            return None
        at = next(n for n in range(0, place.length, SECTOR) if read[n : n + SECTOR] != wanted[n : n + SECTOR])
        sector = read[at : at + SECTOR]
        where = place.offset + at
        if sector[NUMBER : NUMBER + RUN] == self.run and sector[:NUMBER] != wanted[at : at + NUMBER]:
            (number,) = array("Q", sector[:NUMBER])
            return (
                f"returns at byte {where} what was written at byte {number * SECTOR}: it has less capacity than it "
                "reports"
            )
        lost = "zeros" if not any(sector) else "something else"
        return f"returns {lost} at byte {where} instead of what was written: it lost a write"


def everything(size: int) -> Iterator[PatternBlock]:
    """Return all of a drive but the marks at both ends, in pieces of CHUNK bytes."""
    end = size - MARK_SIZE
    for offset in range(MARK_SIZE, end, CHUNK):
        yield PatternBlock(offset, min(CHUNK, end - offset))


def sample(size: int, seed: bytes) -> list[PatternBlock]:
    """Return places across a drive: segments from the beginning to the end, and single blocks all over it.

    A drive that has half of its capacity or less stores two of these in one place, however it counts.
    """
    length = min(LONGEST_SEGMENT, max(size // LEAST_PART, BLOCK)) // BLOCK * BLOCK
    last = (size - MARK_SIZE - length) // BLOCK * BLOCK
    starts = sorted({MARK_SIZE + (last - MARK_SIZE) * n // (SEGMENTS - 1) // BLOCK * BLOCK for n in range(SEGMENTS)})
    segments = [
        PatternBlock(offset, min(CHUNK, start + length - offset))
        for start in starts
        for offset in range(start, start + length, CHUNK)
    ]
    # two blocks of n meet with the chance BLOCK / (size / 2)
    count = math.ceil(math.sqrt(2 * MEETINGS * size / BLOCK))
    draw, stratum = random.Random(seed), (size - 2 * MARK_SIZE) // count
    singles = [
        PatternBlock((MARK_SIZE + n * stratum + draw.randrange(max(stratum - BLOCK, 1))) // BLOCK * BLOCK, BLOCK)
        for n in range(count)
    ]
    return [*segments, *singles]
