# SPDX-License-Identifier: Apache-2.0
"""A drive refuses requests of rows that are being written: what was acknowledged is kept, what was not is known."""

import mmap
import os
from collections.abc import Iterator
from typing import Any

from tests.kernel.guest.array import (
    BLOCK,
    CHUNK,
    SECTOR,
    STRIPE_SECTORS,
    Array,
    Shape,
    array,
    heal,
    opened,
    patterned,
    read_block,
    refuse,
    run,
    until,
)

ROWS = 8
# In these rows the drive refuses the second 4 KiB of its chunk.
REFUSED = range(2, 6)
DRIVE = 4
SHAPES = (Shape(5, 5), Shape(6, 10), Shape(5, 5, legs=2))


def write_rows(raid: Array, generation: int, flags: int) -> int:
    """Write rows of every leg, each with one request; return how many were acknowledged."""
    acknowledged, length = 0, raid.shape.row
    with opened(raid.device, os.O_WRONLY | flags) as device, mmap.mmap(-1, length) as memory:
        for row in range(ROWS * raid.shape.legs):
            first = row * length // BLOCK
            memory[:] = b"".join(patterned(generation, first + inside) for inside in range(length // BLOCK))
            try:
                acknowledged += os.pwrite(device, memory, row * length) == length
            except OSError:
                continue
        os.fsync(device)
    return acknowledged


def lost(one: Array, generation: int) -> int:
    """Count blocks that do not hold what was written last; those that cannot be read are among them."""
    found = 0
    with opened(one.device, os.O_RDONLY) as device:
        for block in range(ROWS * one.shape.legs * one.shape.row // BLOCK):
            try:
                found += read_block(device, block) != patterned(generation, block)
            except OSError:
                found += 1
    return found


def chunks(raid: Array, drive: str) -> list[bytes | None]:
    """Return the blocks of a drive in the rows; None for one that cannot be read."""
    blocks: list[bytes | None] = []
    first = raid.offset(drive) // STRIPE_SECTORS
    with opened(f"/dev/{drive}", os.O_RDONLY) as device:
        for block in range(ROWS * CHUNK // BLOCK):
            try:
                blocks.append(read_block(device, first + block))
            except OSError:
                blocks.append(None)
    return blocks


def case(shape: Shape, *, single: bool, fua: bool, for_good: bool) -> dict[str, Any]:
    """Let one drive refuse part of four rows, once or for good; return what was found.

    `single`: the drive takes 4 KiB at a time, so that one request is refused and not a chunk. `lost` counts blocks of
    the array, `unlisted` blocks of the drive that hold old data while md takes it for good.
    """
    with array(shape, DRIVE if single else None) as raid:
        drive = raid.members[0][DRIVE]
        flags = os.O_DSYNC if fua else 0
        write_rows(raid, 2, flags)
        wanted = chunks(raid, drive)
        write_rows(raid, 1, flags)
        raid.empty_cache()
        first = raid.offset(drive)
        places = [first + row * CHUNK // SECTOR + STRIPE_SECTORS for row in REFUSED]
        ranges = [range(place, place + STRIPE_SECTORS) for place in places]
        for place in ranges:
            refuse(drive, place)
        acknowledged = write_rows(raid, 2, flags)
        raid.empty_cache()
        if not for_good:
            for place in ranges:
                heal(drive, place)
        listed = {sector for place in raid.listed(drive) for sector in place}
        stale = [number for number, block in enumerate(chunks(raid, drive)) if block != wanted[number]]
        faulty = raid.faulty(drive)
        bad = 0 if faulty else sum(first + number * STRIPE_SECTORS not in listed for number in stale)
        outcome = {
            "acknowledged": acknowledged == ROWS * shape.legs,
            "lost": lost(raid, 2),
            "unlisted": bad,
            "stale": len(stale),
            "faulty": faulty,
        }
        if for_good:
            for place in ranges:
                heal(drive, place)
        return outcome


def cases() -> Iterator[dict[str, Any]]:
    """Yield what was found in each case, with its name."""
    for shape in SHAPES:
        # a leg is an array like another one
        for listing in (True, False) if shape.legs == 1 else (True,):
            for single in (False, True):
                for fua in (False, True):
                    here = Shape(shape.level, shape.drives, shape.legs, listing)
                    name = ", ".join(
                        [
                            shape.name,
                            "4 KiB refused" if single else "request refused",
                            "FUA" if fua else "direct",
                            "with list" if listing else "without list",
                        ]
                    )
                    yield {"case": name} | case(here, single=single, fua=fua, for_good=False)
        yield {"case": f"{shape.name}, refused for good"} | case(shape, single=False, fua=False, for_good=True)


def unreadable() -> dict[str, Any]:
    """Rebuild a drive while another one cannot read a block: the rebuild ends, and the block is listed."""
    with array(Shape(5, 5)) as raid:
        write_rows(raid, 3, 0)
        dead, bad = raid.members[0][0], raid.members[0][DRIVE]
        place = raid.offset(bad) + 3 * CHUNK // SECTOR + STRIPE_SECTORS
        run("mdadm", raid.device, "--fail", f"/dev/{dead}", "--remove", f"/dev/{dead}")
        run("mdadm", "--zero-superblock", f"/dev/{dead}")
        raid.empty_cache()
        refuse(bad, range(place, place + STRIPE_SECTORS))
        run("mdadm", raid.device, "--add", f"/dev/{dead}")
        try:
            until("end of the rebuild", lambda: raid.read_attribute("degraded") == "0", 60)
            ended = True
        except RuntimeError:
            ended = False
        listed = any(place in one_range for one_range in raid.listed(bad))
        heal(bad, range(place, place + STRIPE_SECTORS))
        if not ended:
            run("mdadm", raid.device, "--fail", f"/dev/{dead}")
        raid.settle()
        return {"case": "unreadable block in a rebuild", "ended": ended, "listed": listed}


def replacement() -> dict[str, Any]:
    """Read what a replacement has of a block that it cannot read: it fails, and the data come from the member."""
    with array(Shape(5, 5), spares=1) as raid:
        write_rows(raid, 4, 0)
        old, (spare,) = raid.members[0][0], raid.spares
        half = raid.shape.size_mib * (1 << 20) // SECTOR // 2 // (CHUNK // SECTOR) * (CHUNK // SECTOR)
        raid.attribute("sync_max").write_text(str(half))
        run("mdadm", raid.device, "--add", f"/dev/{spare}")
        run("mdadm", raid.device, "--replace", f"/dev/{old}", "--with", f"/dev/{spare}")
        until("half a copy", lambda: int(raid.read_attribute("sync_completed").split()[0]) >= half // 2, 60)
        raid.empty_cache()
        refuse(spare, range(raid.offset(spare), raid.offset(spare) + ROWS * CHUNK // SECTOR))
        return {"case": "unreadable replacement", "lost": lost(raid, 4), "ejected": raid.faulty(spare)}


def recovered() -> dict[str, Any]:
    """Write a listed block of a drive, then the row again while another drive refuses its neighbour.

    The first write makes the block good, so that one drive alone fails in the second one.
    """
    first, second, row = 0, 2, 3
    with array(Shape(5, 5), first) as raid:
        listed, refused = raid.members[0][first], raid.members[0][second]
        place, beside = (
            raid.offset(drive) + row * CHUNK // SECTOR + number * STRIPE_SECTORS
            for number, drive in enumerate((listed, refused))
        )
        write_rows(raid, 5, 0)
        raid.empty_cache()
        refuse(listed, range(place, place + STRIPE_SECTORS))
        write_rows(raid, 6, 0)
        heal(listed, range(place, place + STRIPE_SECTORS))
        before = raid.listed(listed)
        # a member that was assembled may be written where it is listed
        run("mdadm", "--stop", raid.device)
        run("mdadm", "--assemble", raid.device, *(f"/dev/{name}" for name in raid.members[0]))
        raid.empty_cache()
        write_rows(raid, 7, 0)
        after = raid.listed(listed)
        refuse(refused, range(beside, beside + STRIPE_SECTORS))
        acknowledged = write_rows(raid, 8, 0)
        heal(refused, range(beside, beside + STRIPE_SECTORS))
        return {
            "case": "recovered block",
            "listed": [len(place) for place in before],
            "good": not after,
            "acknowledged": acknowledged == ROWS,
            "lost": lost(raid, 8),
        }
