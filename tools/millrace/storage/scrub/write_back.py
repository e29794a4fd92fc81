# SPDX-License-Identifier: Apache-2.0
"""Write the right blocks back to the one wrong drive of a RAID6, from the other members.

A block is written only where P and Q still name the drive that the check has found, and the drive still returns what it
returned then. What was written since is left as it is: md may have carried the old error over into both parities
(raid5.c handle_stripe_dirtying computes the new parity from the difference of old and new data), and then the data are
right.

md knows nothing of this. Its stripe cache may have blocks of these rows that were read before, so it is emptied while
writes still wait: all but 17 stripes are dropped (raid5.c raid5_set_cache_size), and a check of rows elsewhere takes
these, the oldest first (get_free_stripe). The check of the same rows after that reads what the drives have.
"""

from dataclasses import dataclass, field, replace
from urllib.parse import quote

from millrace.storage.array import raid6_rows, resync
from millrace.storage.array.live_arrays import serial_of
from millrace.storage.array.raid6_rows import STRIPE, Raid6, Rows
from millrace.storage.array.syndrome import explains, restored, syndrome
from millrace.storage.record.scrub_record import LocatedBlocks, MismatchRange, ScrubStop
from millrace.storage.scrub import locate_blocks
from millrace.storage.scrub.scrub_watch import ScrubWatch
from millrace.system import files, paths, sysfs
from millrace.system.errors import Failed

OTHERS = 2048
"""Sectors of each member that are checked to take md's last stripes: 256 of them."""


@dataclass
class WrittenBack:
    """What was done in a range: sectors written, and whether md may compute parity for what is left there."""

    restored: int = 0
    rest: list[int] = field(default_factory=list)
    """Blocks by sector that do not match still."""
    stopped: ScrubStop | None = None


def write_back(watch: ScrubWatch, wanted: MismatchRange, located: list[LocatedBlocks]) -> WrittenBack:
    """Restore the blocks of a range that were located. Failed: a drive fails. Refused: no block can be located now.

    OSError: md refuses.
    """
    array, done = raid6_rows.raid6(watch.device), WrittenBack()
    mine = [
        blocks
        for blocks in located
        if blocks.serial is not None and wanted.begin < blocks.end and blocks.begin < wanted.end
    ]
    end = watch.aligned(wanted.end)
    with raid6_rows.opened(array) as members:
        if mine:
            _keep_replaced(watch, array, members, mine)
            try:
                with raid6_rows.quiesced(array, wanted.begin, end):
                    try:
                        for blocks in mine:
                            done.restored += _restore(array, members, blocks)
                    finally:
                        # also after a write that failed half-way, and what a run before may have written
                        done.stopped = _forget(watch, end)
            finally:
                drop_pages()
        done.rest = locate_blocks.mismatched(array, members, wanted.begin, end)
    return done


def drop_pages() -> None:
    """Drop the pages of files that the server has in memory: they may have what the drive returned before."""
    sysfs.write(paths.ROOT / "proc/sys/vm/drop_caches", "1")


def _restore(array: Raid6, members: Rows, blocks: LocatedBlocks) -> int:
    """Restore the blocks of one drive; return how many sectors were written. Failed: a drive fails."""
    written = 0
    for sector, known in zip(range(blocks.begin, blocks.end, STRIPE), blocks.digests, strict=True):
        order, content = array.order(sector), members.read(sector, sector + STRIPE)
        row_syndrome = syndrome(content, order)
        slot = explains(row_syndrome, order) if list(row_syndrome.blocks()) else None
        if slot is None or serial_of(array.members[slot].name) != blocks.serial:
            continue
        if locate_blocks.digest(content[slot]) != known:
            continue
        members.write(slot, sector, restored(content[slot], slot, row_syndrome, order))
        if list(syndrome(members.read(sector, sector + STRIPE), order).blocks()):
            raise Failed(f"sector {sector} of {array.device} does not match after it was written")
        written += STRIPE
    return written


def _keep_replaced(watch: ScrubWatch, array: Raid6, members: Rows, located: list[LocatedBlocks]) -> None:
    """Keep what the wrong drive returned, a file each block. Failed: the boot drive cannot be written."""
    slots = {serial_of(member.name): slot for slot, member in enumerate(array.members)}
    try:
        for blocks in located:
            for sector in range(blocks.begin, blocks.end, STRIPE) if blocks.data is not None else ():
                slot = slots.get(blocks.serial or "")
                block = members.read(sector, sector + STRIPE)[slot] if slot is not None else b""
                # a run that was killed has replaced it already
                if locate_blocks.digest(block) in blocks.digests:
                    name = replaced_name(watch.one.array.name, sector, blocks.serial or "")
                    files.write_blocks(paths.replaced_blocks() / name, [block], 0o600)
    except OSError as error:
        why = error.strerror or error
        raise Failed(f"the blocks that would be replaced cannot be kept ({why}); nothing was written") from error


def replaced_name(array: str, sector: int, serial: str) -> str:
    """Return the name of the file of a replaced block; a serial number may have any character, a slash too."""
    return f"{array}-{sector}-{quote(serial, safe=' ')}"


def _forget(watch: ScrubWatch, end: int) -> ScrubStop | None:
    """Let md forget the stripes that it has in memory; return what stopped that. OSError: md refuses.

    It lasts seconds, and is not left half-done when the service is to stop.
    """
    asked = list[bool]()

    def wait(seconds: float) -> bool:
        asked.append(watch.context.wait(seconds))
        return False

    whole = replace(watch, closes=None, context=replace(watch.context, wait=wait))
    start = end if end + OTHERS <= resync.sectors(watch.device) else 0
    with resync.smallest_cache(watch.device):
        count = whole.window(resync.CHECK, start, watch.aligned(start + OTHERS))
    return count if isinstance(count, ScrubStop) else watch.reason(any(asked))
