# SPDX-License-Identifier: Apache-2.0
"""The first and last bytes of a drive, read as they are: blank is zeros, whether a tool knows the content or not."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from millrace.inventory.model import Evidence
from millrace.inventory.probe_result import ProbeFinding, failed, found
from millrace.system.text import KIB

WINDOW = 8 * KIB * KIB
# Comparing is a hundred times quicker than looking for the first byte that is not zero, and most drives are.
ZEROS = bytes(WINDOW)
ZFS_LABEL = 256 * KIB
ZFS_UBERBLOCKS = 128 * KIB
ZFS_MAGIC = 0x00BAB10C
MD_MAGIC = (0xA92B4EFC).to_bytes(4, "little")
MD_RESERVED = 64 * KIB
ERASE_MARK = b"Millrace: an erase of this drive was interrupted\n"
"""At both ends of a drive while it is erased: a drive that is half erased is not blank, in any server."""
ERASE_INTERRUPTED = "mark of an erase that was interrupted"
TEST_MARK = b"Millrace: a test of this drive was interrupted\n"
"""At both ends of a drive while it is tested, for the same reason."""
TEST_INTERRUPTED = "mark of a drive test that was interrupted"
MARKS = {ERASE_INTERRUPTED, TEST_INTERRUPTED}
MARK_SIZE = 4 * KIB


@dataclass(frozen=True)
class DriveSurface:
    """The bytes that were read of a drive of `size` bytes."""

    size: int
    head: bytes
    tail: bytes

    def at(self, offset: int, length: int) -> bytes:
        """Return `length` bytes at an offset from the start of the drive; empty where they were not read."""
        tail_start = self.size - len(self.tail)
        if offset >= 0 and offset + length <= len(self.head):
            return self.head[offset : offset + length]
        if tail_start <= offset and offset + length <= self.size:
            return self.tail[offset - tail_start : offset - tail_start + length]
        return b""


def surface(device: Path, size: int) -> list[ProbeFinding]:
    """Read both ends of a drive with exclusive access. `size` in bytes as sysfs has it."""
    try:
        # Exclusive: fails where the kernel itself uses the drive, whatever sysfs shows.
        descriptor = os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        return [failed("exclusive open", f"refused: {error.strerror}")]
    try:
        actual = os.lseek(descriptor, 0, os.SEEK_END)
        if actual != size or size == 0:
            return [failed("size", f"the drive ends at byte {actual}, the kernel says {size}")]
        window = min(WINDOW, size)
        read = DriveSurface(size, _read(descriptor, 0, window), _read(descriptor, size - window, window))
    except OSError as error:
        return [failed("read", f"cannot be read: {error.strerror}")]
    finally:
        os.close(descriptor)
    return inspect(read)


def inspect(read: DriveSurface) -> list[ProbeFinding]:
    """Name the content: by its place if it is a known one, else by the first byte that is not zero."""
    first = _first_data(read)
    if first is None:
        return []
    named = [name for name, holds in KNOWN_PLACES if holds(read)]
    if named and set(named) <= MARKS:
        # one end may have been written since, and the other one not
        named += _beside_marks(read)
    return [found("first and last 8 MiB", what) for what in named or [f"data at byte {first}"]]


def only_mark(evidence: Sequence[Evidence]) -> str | None:
    """Return ERASE_INTERRUPTED or TEST_INTERRUPTED where nothing else was found on a drive; else None."""
    found = {one.finding for one in evidence}
    if not found or not found <= MARKS:
        return None
    return ERASE_INTERRUPTED if ERASE_INTERRUPTED in found else TEST_INTERRUPTED


def _beside_marks(read: DriveSurface) -> Iterator[str]:
    """What stands in the place of a mark."""
    for offset in dict.fromkeys((0, read.size - MARK_SIZE)):
        page = read.at(offset, MARK_SIZE)
        if page.strip(b"\0") and not page.startswith((ERASE_MARK, TEST_MARK)):
            yield f"data at byte {offset + len(page) - len(page.lstrip(bytes(1)))}"


def _read(descriptor: int, offset: int, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = os.pread(descriptor, length - len(data), offset + len(data))
        if not part:
            raise OSError(0, f"the drive ended at byte {offset + len(data)}")
        data += part
    return bytes(data)


def _first_data(read: DriveSurface) -> int | None:
    for start, data in ((0, read.head), (read.size - len(read.tail), read.tail)):
        if data != ZEROS[: len(data)]:
            return start + len(data) - len(data.lstrip(b"\0"))
    return None


def _magic(offset: int, magic: bytes) -> Callable[[DriveSurface], bool]:
    """A signature at an offset; a negative one counts from the end of the drive."""

    def holds(read: DriveSurface) -> bool:
        return read.at(offset if offset >= 0 else read.size + offset, len(magic)) == magic

    return holds


def _md(place: Callable[[int], int]) -> Callable[[DriveSurface], bool]:
    def holds(read: DriveSurface) -> bool:
        return read.at(place(read.size), len(MD_MAGIC)) == MD_MAGIC

    return holds


def _zfs(place: Callable[[int], int]) -> Callable[[DriveSurface], bool]:
    """One of the two labels at an end: its pool description or one of its uberblocks, in either byte order."""
    magics = {ZFS_MAGIC.to_bytes(8, "little"), ZFS_MAGIC.to_bytes(8, "big")}

    def holds(read: DriveSurface) -> bool:
        for label in (place(read.size), place(read.size) + ZFS_LABEL):
            if b"pool_guid" in read.at(label, ZFS_UBERBLOCKS):
                return True
            if any(read.at(label + slot, 8) in magics for slot in range(ZFS_UBERBLOCKS, ZFS_LABEL, KIB)):
                return True
        return False

    return holds


# Places: UEFI specification; md(4) and the kernel's md_p.h; OpenZFS on-disk format; file systems' own headers.
KNOWN_PLACES: list[tuple[str, Callable[[DriveSurface], bool]]] = [
    (ERASE_INTERRUPTED, _magic(0, ERASE_MARK)),
    (ERASE_INTERRUPTED, _magic(-MARK_SIZE, ERASE_MARK)),
    (TEST_INTERRUPTED, _magic(0, TEST_MARK)),
    (TEST_INTERRUPTED, _magic(-MARK_SIZE, TEST_MARK)),
    ("MBR boot sector", _magic(510, b"\x55\xaa")),
    ("GPT header", _magic(512, b"EFI PART")),
    ("GPT header", _magic(4096, b"EFI PART")),
    ("GPT backup header at the end of the drive", _magic(-512, b"EFI PART")),
    ("GPT backup header at the end of the drive", _magic(-4096, b"EFI PART")),
    ("ext2, ext3 or ext4 file system", _magic(1080, b"\x53\xef")),
    ("XFS file system", _magic(0, b"XFSB")),
    ("btrfs file system", _magic(64 * KIB + 64, b"_BHRfS_M")),
    ("swap area", _magic(4086, b"SWAPSPACE2")),
    ("LUKS encrypted volume", _magic(0, b"LUKS\xba\xbe")),
    ("LVM physical volume", _magic(512, b"LABELONE")),
    ("md superblock, metadata 1.1", _magic(0, MD_MAGIC)),
    ("md superblock, metadata 1.2", _magic(4 * KIB, MD_MAGIC)),
    ("md superblock, metadata 1.0, near the end of the drive", _md(lambda size: (size - 8 * KIB) & ~(4 * KIB - 1))),
    ("md superblock, metadata 0.90, near the end of the drive", _md(lambda size: (size & -MD_RESERVED) - MD_RESERVED)),
    ("ZFS label at the start of the drive", _zfs(lambda size: 0)),
    ("ZFS label at the end of the drive", _zfs(lambda size: (size & -ZFS_LABEL) - 2 * ZFS_LABEL)),
    ("Intel firmware RAID metadata", _magic(-1024, b"Intel Raid ISM Cfg Sig. ")),
    ("DDF firmware RAID metadata", _magic(-512, b"\xde\x11\xde\x11")),
]
