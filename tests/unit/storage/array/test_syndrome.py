# SPDX-License-Identifier: Apache-2.0
"""The wrong member of a RAID6 row is found from P and Q, by a second model of the kernel's layout and field."""

import random
from collections.abc import Sequence

import pytest

from millrace.storage.array.syndrome import BLOCK, Wrong, agreeing, explains, order, restored, syndrome, times

SIZES = [4, 5, 6, 9, 10, 12, 24, 64]
SHORT = 64
"""Bytes of the blocks of most of these: the field does not care."""


def exponentials() -> tuple[list[int], dict[int, int]]:
    """Powers of 2 in GF(2^8) by 0x11d, and their exponents: the way of tables, which the program does not go."""
    powers = [1]
    while len(powers) < 255:
        double = powers[-1] * 2
        powers.append(double ^ 0x11D if double > 255 else double)
    return powers, {power: at for at, power in enumerate(powers)}


POWERS, EXPONENTS = exponentials()


def product(exponent: int, byte: int) -> int:
    return POWERS[(EXPONENTS[byte] + exponent) % 255] if byte else 0


def placed(row: int, disks: int) -> tuple[int, int, list[int]]:
    """raid5_compute_sector, ALGORITHM_LEFT_SYMMETRIC of level 6: P, Q, and the disk of each data chunk of a row."""
    pd = disks - 1 - row % disks
    qd = 0 if pd + 1 == disks else pd + 1
    return pd, qd, [(pd + 2 + dd) % disks for dd in range(disks - 2)]


def slots(row: int, disks: int) -> list[int]:
    """raid6_d0 and raid6_idx_to_slot: the disks in the order in which they enter the syndrome, without P and Q."""
    pd, qd, _ = placed(row, disks)
    at, found = (0 if qd == disks - 1 else qd + 1), list[int]()
    for _ in range(disks):
        if at not in (pd, qd):
            found.append(at)
        at = at + 1 if at + 1 < disks else 0
    return found


def made(row: int, disks: int, seeded: random.Random, length: int = SHORT) -> list[bytes]:
    """A row with random data and what md computes of it, by disk."""
    pd, qd, _ = placed(row, disks)
    blocks = [seeded.randbytes(length) for _ in range(disks)]
    p, q = bytearray(length), bytearray(length)
    for exponent, disk in enumerate(slots(row, disks)):
        for at, byte in enumerate(blocks[disk]):
            p[at] ^= byte
            q[at] ^= product(exponent, byte)
    blocks[pd], blocks[qd] = bytes(p), bytes(q)
    return blocks


def rotten(block: bytes, seeded: random.Random, places: Sequence[int]) -> bytes:
    """A block that differs in these bytes."""
    found = bytearray(block)
    for at in places:
        found[at] ^= seeded.randrange(1, 256)
    return bytes(found)


def test_multiplication_is_that_of_the_field() -> None:
    for exponent in (0, 1, 7, 8, 100, 253):
        assert times(exponent) == bytes(product(exponent, byte) for byte in range(256))
    # lib/raid/raid6/mktables.c, raid6_gfexp
    assert [times(exponent)[1] for exponent in (7, 8, 9, 25)] == [0x80, 0x1D, 0x3A, 0x03]


@pytest.mark.parametrize("disks", SIZES)
def test_data_are_counted_as_the_kernel_does(disks: int) -> None:
    rows = range(2 * disks + 1)
    orders = [order(row, disks) for row in rows]
    assert [(at.p, at.q, list(at.data)) for at in orders] == [placed(row, disks) for row in rows]
    assert [list(at.data) for at in orders] == [slots(row, disks) for row in rows]
    assert all(sorted([at.p, at.q, *at.data]) == list(range(disks)) for at in orders)


@pytest.mark.parametrize("disks", SIZES)
def test_row_that_matches_has_no_syndrome(disks: int) -> None:
    seeded = random.Random(disks)
    for row in (0, 1, disks - 1, disks, 12345):
        assert list(syndrome(made(row, disks, seeded), order(row, disks)).blocks()) == []


@pytest.mark.parametrize("disks", SIZES)
def test_any_one_wrong_member_is_found_and_restored(disks: int) -> None:
    seeded = random.Random(disks)
    named = []
    for wrong in range(disks):
        row = seeded.randrange(1 << 30)
        blocks, at = made(row, disks, seeded), order(row, disks)
        right = blocks[wrong]
        blocks[wrong] = rotten(right, seeded, seeded.sample(range(SHORT), seeded.choice([1, 2, 8, SHORT])))
        mismatch = syndrome(blocks, at)
        assert list(mismatch.blocks()) == [0] and explains(mismatch, at) == wrong
        assert restored(blocks[wrong], wrong, mismatch, at) == right
        named.append(wrong)
    assert named == list(range(disks))


def test_one_flipped_bit_of_a_whole_block_is_found() -> None:
    seeded = random.Random(1)
    blocks, at = made(7, 5, seeded, 2 * BLOCK), order(7, 5)
    right = blocks[3]
    blocks[3] = right[: BLOCK + 99] + bytes([right[BLOCK + 99] ^ 4]) + right[BLOCK + 100 :]
    found = syndrome(blocks, at)
    assert list(found.blocks()) == [BLOCK]
    assert explains(found.block(BLOCK), at) == 3
    assert restored(blocks[3][BLOCK:], 3, found.block(BLOCK), at) == right[BLOCK:]


@pytest.mark.parametrize("disks", SIZES)
def test_two_wrong_members_are_never_taken_for_one(disks: int) -> None:
    """With eight wrong bytes at the same places, chance has 64 / 255^8 for it; at other places it has none."""
    seeded = random.Random(disks)
    for _ in range(60):
        row = seeded.randrange(1 << 30)
        member, other = seeded.sample(range(disks), 2)
        places = seeded.sample(range(SHORT), 16)
        for same in (True, False):
            blocks, at = made(row, disks, seeded), order(row, disks)
            blocks[member] = rotten(blocks[member], seeded, places[:8])
            blocks[other] = rotten(blocks[other], seeded, places[:8] if same else places[8:])
            assert explains(syndrome(blocks, at), at) is None


def test_chance_of_a_wrong_name_is_that_of_one_byte() -> None:
    """One wrong byte each at the same place, the worst there is: about `disks` of 255 name a third member."""
    seeded, disks, tries = random.Random(3), 10, 4000
    at, named = order(0, disks), 0
    clean = made(0, disks, seeded, 1)
    for _ in range(tries):
        blocks = list(clean)
        for member in seeded.sample(range(disks), 2):
            blocks[member] = rotten(blocks[member], seeded, [0])
        mismatch = syndrome(blocks, at)
        named += bool(list(mismatch.blocks())) and explains(mismatch, at) is not None
    assert 0.5 * (disks - 2) / 255 < named / tries < 1.5 * disks / 255


def test_neighbours_that_name_another_drive_leave_no_name() -> None:
    alone, next_to = Wrong(80, 2), [Wrong(160, 1), Wrong(168, 1)]
    assert agreeing([*next_to, alone]) == [alone, *next_to]
    assert agreeing([*next_to, Wrong(176, 4)]) == [Wrong(160, None), Wrong(168, None), Wrong(176, None)]
    assert agreeing([*next_to, Wrong(152, None)]) == [Wrong(152, None), Wrong(160, None), Wrong(168, None)]
    assert agreeing([*next_to, Wrong(184, 4)]) == [*next_to, Wrong(184, 4)]
