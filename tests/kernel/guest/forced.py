# SPDX-License-Identifier: Apache-2.0
"""What a start by force does to the parity of a RAID6 that lacks one member: it tells which rows a power cut tore.

mdadm asks for a repair then, which computes this parity again (Assemble.c). Started read-only, the array has none.
"""

import mmap
import os
import time
from collections.abc import Iterator
from typing import Any

from tests.kernel.guest.array import BLOCK, CHUNK, SECTOR, Array, Shape, array, opened, patterned, run, until
from tests.kernel.guest.refused import write_rows

SHAPE = Shape(6, 5)
# Rows of which a block of Q is written over; it is on no member that is missing.
TORN = (1, 7)
SECONDS = 3


def fail(one: Array, name: str) -> None:
    """Take a member out, and write after that."""
    run("mdadm", one.device, "--fail", f"/dev/{name}")
    until("removal", lambda: _removed(one, name), 60)
    write_rows(one, 2, os.O_DSYNC)


def _removed(one: Array, name: str) -> bool:
    run("mdadm", one.device, "--remove", f"/dev/{name}", check=False)
    return one.state(name) == "removed"


def tear(one: Array, row: int, offset: int) -> None:
    """Overwrite the first block of Q of a row (raid5.c, left-symmetric)."""
    q = (SHAPE.drives - row % SHAPE.drives) % SHAPE.drives
    copied(one.members[0][q], offset * SECTOR + row * CHUNK, patterned(77, row))


def copied(drive: str, begin: int, data: bytes | None = None, length: int = BLOCK) -> bytes:
    """Write `data` to a drive, or read `length` bytes of it."""
    with opened(f"/dev/{drive}", os.O_RDWR) as device, mmap.mmap(-1, len(data or b"") or length) as memory:
        if data is None:
            os.preadv(device, [memory], begin)
        else:
            memory[:] = data
            os.pwrite(device, memory, begin)
        return memory[:]


def case(title: str, *options: str) -> dict[str, Any]:
    """Start such an array by force and compare P with Q; return how many sectors do not match."""
    with array(SHAPE) as raid:
        raid.attribute("safe_mode_delay").write_text("60")
        write_rows(raid, 1, 0)
        first, *others = raid.members[0]
        fail(raid, first)
        offset = raid.offset(others[0])
        # what a power cut leaves: superblocks of an array that is being written
        assert raid.read_attribute("array_state") == "active"
        cut = {name: copied(name, 0, length=offset * SECTOR) for name in others}
        run("mdadm", "--stop", raid.device)
        for name, blocks in cut.items():
            copied(name, 0, blocks)
        for row in TORN:
            tear(raid, row, offset)
        run("mdadm", "--assemble", raid.device, "--run", "--force", *options, *(f"/dev/{name}" for name in others))
        if "--readonly" in options:
            run("mdadm", "--readwrite", raid.device)
        time.sleep(SECONDS)
        raid.settle()
        last = raid.read_attribute("last_sync_action")
        raid.act("check")
        return {"case": title, "last": last, "mismatch": int(raid.read_attribute("mismatch_cnt"))}


def cases() -> Iterator[dict[str, Any]]:
    """Yield both ways."""
    yield case("started by force")
    yield case("started by force, read-only first", "--readonly")
