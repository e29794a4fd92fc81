# SPDX-License-Identifier: Apache-2.0
"""The rows of a RAID6 on its members, behind md: read past every cache, and one block of one member written.

Between a read and a write nobody may write these rows. kernel 7.2, drivers/md/md.c: writes from `suspend_lo` to
`suspend_hi` wait (is_suspended; reads go on), and a store to either returns when every request has ended that began
before (mddev_suspend). A write looks at the range before it counts as begun, so one may slip past the first store; it
has ended when the second returns. The range is empty while `suspend_hi` is not above `suspend_lo`: so `suspend_lo` is
set first, and `suspend_hi` is the first to go. The kernel forgets both at a reboot.
"""

import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from millrace.storage.array.devices import block
from millrace.storage.array.syndrome import BLOCK, RowOrder, order
from millrace.system import paths, sysfs
from millrace.system.errors import Failed, Refused

SECTOR = 512
STRIPE = BLOCK // SECTOR
LEFT_SYMMETRIC = "2"
"""mdadm's layout of every RAID6 that it creates (raid5.h, ALGORITHM_LEFT_SYMMETRIC)."""

_POLICIES = ("resync", "bitmap", "llbitmap")


@dataclass(frozen=True)
class RowMember:
    """One member by its kernel name; its data begin `offset` sectors after its own beginning."""

    name: str
    offset: int


@dataclass(frozen=True)
class Raid6:
    """A RAID6 with all members in sync, by slot. `chunk` and `sectors` (of each member) are in sectors."""

    device: str
    chunk: int
    sectors: int
    members: tuple[RowMember, ...]

    def order(self, sector: int) -> RowOrder:
        """Return who has P, Q and the data of the row with this sector of each member."""
        return order(sector // self.chunk, len(self.members))

    def parts(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the sectors from `begin` to `end` in whole stripes, split where a row ends."""
        begin, end = begin - begin % STRIPE, min(-(-end // STRIPE) * STRIPE, self.sectors)
        while begin < end:
            to = min(end, begin - begin % self.chunk + self.chunk)
            yield begin, to
            begin = to


def raid6(device: str) -> Raid6:
    """Return a running array by its kernel name. Refused: a wrong block of it cannot be located, with the reason."""
    md = block(device) / "md"
    said = {name: sysfs.text(md / name) or "" for name in ("level", "layout", "metadata_version", "reshape_position")}
    if said["level"] != "raid6":
        raise Refused("only RAID6 has two parities, which locate a wrong block")
    if said != {"level": "raid6", "layout": LEFT_SYMMETRIC, "metadata_version": "1.2", "reshape_position": "none"}:
        raise Refused("the array has another layout than Millrace creates")
    if (sysfs.text(md / "consistency_policy") or "resync") not in _POLICIES:
        raise Refused("the array has a journal")
    disks, chunk = sysfs.number(md / "raid_disks") or 0, sysfs.number(md / "chunk_size") or 0
    members = dict[int, RowMember]()
    for name in (directory.removeprefix("dev-") for directory in sysfs.names(md) if directory.startswith("dev-")):
        slot, offset = sysfs.number(md / f"dev-{name}/slot"), sysfs.number(md / f"dev-{name}/offset")
        flags = (sysfs.text(md / f"dev-{name}/state") or "").split(",")
        if slot is None or offset is None or flags != ["in_sync"] or slot in members or offset % STRIPE:
            continue
        members[slot] = RowMember(name, offset)
    if sysfs.text(md / "degraded") != "0" or sorted(members) != list(range(max(disks, 4))):
        raise Refused("the array is degraded, or a drive of it is being replaced")
    sectors = 2 * (sysfs.number(md / "component_size") or 0)
    if chunk < BLOCK or chunk % BLOCK or not sectors:
        raise Refused("the array has another chunk size than Millrace creates")
    return Raid6(device, chunk // SECTOR, sectors, tuple(members[slot] for slot in range(disks)))


class Rows:
    """All members of an array, open for reading. Read what others may write only while it is `quiesced`."""

    def __init__(self, array: Raid6, drives: Sequence[int]) -> None:
        self._array, self._drives = array, drives

    def read(self, begin: int, end: int) -> list[bytes]:
        """Return these sectors of each member, by slot: whole stripes of one row. Failed: a drive cannot be read."""
        size = (end - begin) * SECTOR
        with mmap.mmap(-1, size) as memory:
            return [self._of(slot, begin, size, memory) for slot in range(len(self._drives))]

    def write(self, slot: int, sector: int, data: bytes) -> None:
        """Write one block of one member, and read it back from the drive. Failed: it differs, or the drive fails."""
        member = self._array.members[slot]
        at, device = (member.offset + sector) * SECTOR, _path(member)
        try:
            # O_DIRECT takes memory that begins at a page
            with mmap.mmap(-1, len(data)) as memory:
                memory[:] = data
                drive = os.open(device, os.O_WRONLY | os.O_DIRECT | os.O_CLOEXEC)
                try:
                    written = os.pwritev(drive, [memory], at)
                    os.fsync(drive)
                finally:
                    os.close(drive)
                if written != len(data) or self._of(slot, sector, len(data), memory) != data:
                    raise Failed(f"{member.name} returns something else at sector {at // SECTOR} than was written")
        except OSError as error:
            raise Failed(f"{member.name} cannot be written at sector {at // SECTOR} ({error.strerror})") from error

    def _of(self, slot: int, sector: int, size: int, memory: mmap.mmap) -> bytes:
        member = self._array.members[slot]
        at = (member.offset + sector) * SECTOR
        try:
            count = os.preadv(self._drives[slot], [memory], at)
        except OSError as error:
            raise Failed(f"{member.name} cannot be read at sector {at // SECTOR} ({error.strerror})") from error
        if count != size:
            raise Failed(f"{member.name} ended at sector {(at + count) // SECTOR}")
        return memory[:size]


@contextmanager
def opened(array: Raid6) -> Iterator[Rows]:
    """Open all members for reading, past the cache of the kernel. Failed: one cannot be opened."""
    with ExitStack() as stack:
        drives = list[int]()
        for member in array.members:
            try:
                drives.append(os.open(_path(member), os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC))
            except OSError as error:
                raise Failed(f"{member.name} cannot be opened ({error.strerror})") from error
            stack.callback(os.close, drives[-1])
        yield Rows(array, drives)


@contextmanager
def quiesced(array: Raid6, begin: int, end: int) -> Iterator[None]:
    """Let writes to the rows of these sectors of each member wait. OSError: md refuses."""
    data = len(array.members) - 2
    first, last = begin // array.chunk * array.chunk, -(-end // array.chunk) * array.chunk
    md = block(array.device) / "md"
    release(array.device)
    try:
        sysfs.write(md / "suspend_lo", str(first * data))
        for _ in range(2):
            sysfs.write(md / "suspend_hi", str(last * data))
        yield
    finally:
        release(array.device)


def release(device: str) -> None:
    """Let all writes go on. OSError: md refuses."""
    md = block(device) / "md"
    for name in ("suspend_hi", "suspend_lo"):
        if sysfs.text(md / name) not in (None, "0"):
            sysfs.write(md / name, "0")


def release_left(device: str) -> None:
    """Let writes go on that a run which was killed has stopped; mdadm stops some only for a reshape."""
    if sysfs.text(block(device) / "md/reshape_position") in (None, "none"):
        with suppress(OSError):
            release(device)


def _path(member: RowMember) -> Path:
    return paths.ROOT / "dev" / member.name
