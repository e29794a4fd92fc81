# SPDX-License-Identifier: Apache-2.0
"""Reads of an array that lacks drives, past the stripe cache and through it: every block is as it was written."""

import mmap
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from host.perf.guest import drives
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
    refuse,
    run,
    until,
    write,
)

SWITCH = Path("/sys/module/raid456/parameters/direct_degraded_reads")
SHAPE = Shape(6, 6)
BLOCKS = 8 * SHAPE.row // BLOCK
READS, SEED = 300, 7
# Beyond all that is read of any array of this guest: md remembers where reads ended by the address of an array's
# structure, and a new array can have that of one which was stopped.
UNREAD = 8 << 20


def fill(one: Array) -> None:
    """Write all rows that are read."""
    with opened(one.device, os.O_WRONLY) as device, mmap.mmap(-1, BLOCKS * BLOCK) as memory:
        memory[:] = b"".join(patterned(9, block) for block in range(BLOCKS))
        assert os.pwrite(device, memory, 0) == BLOCKS * BLOCK
        os.fsync(device)
    one.empty_cache()


def wrong(raid: Array) -> int:
    """Read at random and in order, in many sizes; count blocks that are not what was written, or cannot be read."""
    dice, bad_blocks, after = random.Random(SEED), 0, 0
    with opened(raid.device, os.O_RDONLY) as device, mmap.mmap(-1, 128 * BLOCK) as memory:
        for _ in range(READS):
            count = dice.choice((1, 1, 2, 4, 16, 17, 32, 64, 128))
            block = after if dice.random() < 0.5 and after + count <= BLOCKS else dice.randrange(BLOCKS - count)
            try:
                os.preadv(device, [memoryview(memory)[: count * BLOCK]], block * BLOCK)
            except OSError:
                bad_blocks += count
                continue
            for inside in range(count):
                bad_blocks += memory[inside * BLOCK : (inside + 1) * BLOCK] != patterned(9, block + inside)
            after = block + count
    return bad_blocks


def from_drives(raid: Array) -> int:
    """Return how many requests the drives get at most for a block that was read just before."""
    names = [name for name in raid.members[0] if not raid.faulty(name)]
    with opened(raid.device, os.O_RDONLY) as device, mmap.mmap(-1, BLOCK) as memory:
        counts = []
        for chunk in range(SHAPE.drives):
            place = UNREAD + chunk * CHUNK + BLOCK
            os.preadv(device, [memory], place)
            before = drives.count(names)
            os.preadv(device, [memory], place)
            counts.append((drives.count(names) - before).reads)
    return max(counts)


def both(raid: Array, name: str) -> Iterator[dict[str, Any]]:
    """Yield what was read with the switch on and off."""
    for on in ("Y", "N"):
        if SWITCH.exists():
            write(str(SWITCH), on)
        elif on == "N":
            continue
        raid.empty_cache()
        yield {"case": f"{name}, {'directly' if on == 'Y' else 'through the stripe cache'}", "wrong": wrong(raid)}
    if SWITCH.exists():
        write(str(SWITCH), "Y")


def cases() -> Iterator[dict[str, Any]]:
    """Yield what was read in each state of an array."""
    with array(SHAPE, spares=1) as raid:
        fill(raid)
        first, second, third, *_ = raid.members[0]
        (spare,) = raid.spares
        run("mdadm", raid.device, "--fail", f"/dev/{first}", "--remove", f"/dev/{first}")
        yield from both(raid, "one missing")
        place = raid.offset(third) + 2 * CHUNK // SECTOR
        refuse(third, range(place, place + STRIPE_SECTORS))
        yield from both(raid, "one missing, another cannot read a block")
        heal(third, range(place, place + STRIPE_SECTORS))
        raid.empty_cache()
        raid.attribute("sync_max").write_text(str(6 * CHUNK // SECTOR))
        # the spare would take the missing drive's place
        write(str(raid.attribute("sync_action")), "frozen")
        run("mdadm", raid.device, "--add", f"/dev/{spare}")
        run("mdadm", raid.device, "--replace", f"/dev/{second}", "--with", f"/dev/{spare}")
        write(str(raid.attribute("sync_action")), "idle")
        until("part of a copy", lambda: raid.read_attribute("sync_completed").split()[0] not in {"none", "0"}, 60)
        yield from both(raid, "one missing, another is being copied")
        raid.attribute("sync_max").write_text("max")
        raid.settle()
        yield from both(raid, "one missing, another was copied")
        run("mdadm", raid.device, "--fail", f"/dev/{third}", "--remove", f"/dev/{third}")
        yield from both(raid, "two missing")
        if SWITCH.exists():
            for on in ("Y", "N"):
                write(str(SWITCH), on)
                raid.empty_cache()
                yield {"case": f"switch {on}", "again": from_drives(raid)}
            write(str(SWITCH), "Y")
