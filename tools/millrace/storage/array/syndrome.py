# SPDX-License-Identifier: Apache-2.0
"""Which member of a RAID6 row is wrong: computed from all blocks of the row, P and Q. Pure.

kernel 7.2, drivers/md/raid5.c: raid5_compute_sector, ALGORITHM_LEFT_SYMMETRIC at level 6, puts P of row r on slot
`disks - 1 - r % disks`, Q on the slot after it, and the data on the slots after that, in their order. raid6_d0 and
raid6_idx_to_slot count the data from the same slot, so that data block i has the coefficient 2^i. lib/raid/raid6: Q is
a sum over GF(2^8) with the polynomial 0x11d.

With D the data, S_P = P + sum(D_i) and S_Q = Q + sum(2^i D_i) are zero where a row matches. If data block z alone is
wrong by e, then S_P = e and S_Q = 2^z e in every byte; if P alone is wrong, S_Q is zero, and if Q alone is, S_P. At
most one of these holds. That two wrong members look like one needs the same ratio of their errors in every byte where
either differs: for errors at the same k bytes, independent and random, the probability is at most `disks` / 255^k.
Errors at different bytes of a block never do, because each byte names its own member.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

BLOCK = 4096
"""Bytes of what md reads and writes as one, and of what one member must explain."""

_POLYNOMIAL = 0x11D


@dataclass(frozen=True)
class RowOrder:
    """The slots of P, Q and the data blocks of a row."""

    p: int
    q: int
    data: tuple[int, ...]


@dataclass(frozen=True)
class Syndrome:
    """S_P and S_Q of some blocks of one row; both are zero where these match."""

    p: bytes
    q: bytes

    def blocks(self) -> Iterator[int]:
        """Yield the offset in bytes of each block that does not match."""
        for at in range(0, len(self.p), BLOCK):
            if any(self.p[at : at + BLOCK]) or any(self.q[at : at + BLOCK]):
                yield at

    def block(self, at: int) -> "Syndrome":
        """Return the syndrome of the block at this offset in bytes."""
        return Syndrome(self.p[at : at + BLOCK], self.q[at : at + BLOCK])


@dataclass(frozen=True)
class Wrong:
    """A block that does not match; `sector` of each member. `slot` is None where no single member explains it."""

    sector: int
    slot: int | None


def order(row: int, disks: int) -> RowOrder:
    """Return who has what in a row of chunks of a left-symmetric RAID6."""
    p = disks - 1 - row % disks
    return RowOrder(p, (p + 1) % disks, tuple((p + 2 + data) % disks for data in range(disks - 2)))


def syndrome(blocks: Sequence[bytes], at: RowOrder) -> Syndrome:
    """Return the syndrome of equally many bytes of each slot of a row."""
    length = len(blocks[at.p])
    p, q = int.from_bytes(blocks[at.p]), int.from_bytes(blocks[at.q])
    for exponent, slot in enumerate(at.data):
        p ^= int.from_bytes(blocks[slot])
        q ^= int.from_bytes(blocks[slot].translate(times(exponent)))
    return Syndrome(p.to_bytes(length), q.to_bytes(length))


def explains(found: Syndrome, at: RowOrder) -> int | None:
    """Return the slot that explains every byte of a block that does not match; None where no single one does."""
    if not any(found.q):
        return at.p
    if not any(found.p):
        return at.q
    return next((slot for i, slot in enumerate(at.data) if found.p.translate(times(i)) == found.q), None)


def restored(block: bytes, slot: int, found: Syndrome, at: RowOrder) -> bytes:
    """Return what the other members say of a block of this slot, from its content and the syndrome."""
    error = found.q if slot == at.q else found.p
    return (int.from_bytes(block) ^ int.from_bytes(error)).to_bytes(len(block))


def agreeing(blocks: Iterable[Wrong]) -> list[Wrong]:
    """Return blocks in the order of their sectors, without the slot where their neighbours contradict it.

    What damages adjacent blocks is one event: a drive that returns other blocks than it was given. Where one block of
    such a run names another member, or none, two drives are wrong there, and then one block may name the wrong one by
    chance.
    """
    runs: list[list[Wrong]] = []
    for block in sorted(blocks, key=lambda each: each.sector):
        if runs and runs[-1][-1].sector + BLOCK // 512 == block.sector:
            runs[-1].append(block)
        else:
            runs.append([block])
    return [
        block if len({each.slot for each in run}) == 1 else Wrong(block.sector, None) for run in runs for block in run
    ]


@cache
def times(exponent: int) -> bytes:
    """Return the table for `bytes.translate` that multiplies by 2^exponent."""
    factor = 1
    for _ in range(exponent):
        factor = _doubled(factor)
    return bytes(_product(factor, byte) for byte in range(256))


def _doubled(value: int) -> int:
    return value << 1 ^ (_POLYNOMIAL if value & 0x80 else 0)


def _product(one: int, other: int) -> int:
    found = 0
    while other:
        found ^= one if other & 1 else 0
        one, other = _doubled(one), other >> 1
    return found
