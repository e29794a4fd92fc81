# SPDX-License-Identifier: Apache-2.0
"""Record sectors that a member cannot read in md's list of bad blocks: `python3 -m millrace.storage.scrub.unreadable`.

millrace-unreadable.service runs this where raid456 is Debian's. It is a remedy for a defect of the kernel: where no
redundancy is left to correct a read error, md should put the sector on the list of the member, return an error for it
and go on. Since rdev_set_badblocks() fails the member by itself, raid5_end_read_request() does not call it for a member
that is in sync (kernel 7.2.12, drivers/md/raid5.c, line 2837): md reads the sector again at once, for ever, and a
rebuild or a client that wants it waits as long. An entry that is written to the list ends that. A kernel without the
defect makes the entry itself, and nothing is left to do here.

It imports next to nothing, because it stays in memory.
"""

import mmap
import os
import re
from collections.abc import Callable, Iterator
from itertools import count, takewhile
from pathlib import Path
from typing import NamedTuple

from millrace.system import paths, sysfs

SECTOR = 512
STRIPE = 8
"""Sectors of a member that md reads and lists as one (raid5.h, DEFAULT_STRIPE_SIZE)."""

NEIGHBOURS = 256
"""Stripes that are tried on each side of a bad one: a defect of a drive is rarely one stripe, and md logs ten lines in
5 s, however many it waits for. 1 MiB each way."""

_LOGGED = re.compile(r"md/raid:(md\d+): read error (?:not correctable|NOT corrected!!) \(sector (\d+) on (\w+)\)")
_MESSAGE = 8192
"""Bytes of the largest message (kernel, PRINTK_MESSAGE_MAX)."""


class Unreadable(NamedTuple):
    """A stripe that a member of an array could not read; `sector` counts from the beginning of the member."""

    array: str
    member: str
    sector: int


def parsed(message: str) -> Unreadable | None:
    """Return what a message of the kernel reports; None for every other message. Pure."""
    found = _LOGGED.search(message)
    return Unreadable(found[1], found[3], int(found[2])) if found else None


def is_ours(array: str) -> bool:
    """Return whether an array is of the pool: `/dev/md` names it so."""
    links = (paths.ROOT / "dev/md").glob("millrace-*")
    return any(link.is_symlink() and Path(os.readlink(link)).name == array for link in links)


def record(stripe: Unreadable, reads: Callable[[str, int], bool]) -> range | None:
    """List a stripe and those around it that cannot be read; return their sectors, None where nothing was to do.

    `reads` returns whether a member can read the stripe that begins with a sector. OSError: the member has left its
    array, or md refuses the entry because the list is full.
    """
    path = paths.ROOT / "sys/class/block" / stripe.array / "md" / f"dev-{stripe.member}" / "bad_blocks"
    listed = [
        range(int(start), int(start) + int(length)) for start, length in map(str.split, path.read_text().splitlines())
    ]
    begin = stripe.sector - stripe.sector % STRIPE

    def bad(sector: int) -> bool:
        return sector >= 0 and not any(sector in one for one in listed) and not reads(stripe.member, sector)

    if not bad(begin):
        return None
    below = list(takewhile(bad, (begin - STRIPE * step for step in range(1, NEIGHBOURS + 1))))
    above = list(takewhile(bad, (begin + STRIPE * step for step in range(1, NEIGHBOURS + 1))))
    sectors = range(min([begin, *below]), max([begin, *above]) + STRIPE)
    sysfs.write(path, f"{sectors.start} {len(sectors)}")
    return sectors


def reads_from_drive(member: str, sector: int) -> bool:
    """Return whether a member can read a stripe, past the cache of the kernel. OSError: the member is gone."""
    drive = os.open(paths.ROOT / "dev" / member, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    try:
        with mmap.mmap(-1, STRIPE * SECTOR) as memory:
            return os.preadv(drive, [memory], sector * SECTOR) == STRIPE * SECTOR
    except OSError:
        return False
    finally:
        os.close(drive)


def opened() -> int:
    """Return the log of the kernel, from now on. OSError: the caller may not read it."""
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_CLOEXEC)
    os.lseek(log, 0, os.SEEK_END)
    return log


def messages(log: int) -> Iterator[str]:
    """Yield the messages of the kernel until the log ends (Documentation/ABI/testing/dev-kmsg)."""
    for _ in count():
        try:
            message = os.read(log, _MESSAGE)
        except BrokenPipeError:
            continue  # messages were overwritten before they were read
        if not message:
            return
        yield message.partition(b";")[2].partition(b"\n")[0].decode(errors="replace")


def main(log: int, reads: Callable[[str, int], bool] = reads_from_drive) -> None:
    """Follow the kernel and record what it reports of the pool; an entry that fails is logged, and tried again."""
    for stripe in filter(None, map(parsed, messages(log))):
        if not is_ours(stripe.array):
            continue
        try:
            sectors = record(stripe, reads)
        except OSError as error:
            print(f"{stripe.member} cannot read sector {stripe.sector}, which cannot be listed: {error}", flush=True)
            continue
        if sectors is not None:
            where = f"{len(sectors)} sectors of {stripe.member} from {sectors.start}"
            print(f"{stripe.array}: {where} cannot be read and are listed as bad blocks", flush=True)


if __name__ == "__main__":
    main(opened())
