# SPDX-License-Identifier: Apache-2.0
"""Drives that are not blank, byte by byte: enough for blkid, wipefs and mdadm to recognise them."""

import struct
import uuid
import zlib
from collections.abc import Callable
from pathlib import Path

MIB = 1 << 20
SIZE = 64 * MIB
SECTOR = 512
LINUX_DATA = uuid.UUID("0fc63daf-8483-4772-8e79-3d69d8477de4")
SOME = uuid.UUID("5d1b2f3c-7a66-4c0e-9a53-0b6f1c2d3e4f")
MD_MAGIC = 0xA92B4EFC


def make(path: Path, *parts: tuple[int, bytes], size: int = SIZE) -> Path:
    """A sparse image with some bytes in it; a negative offset counts from its end."""
    with path.open("wb") as file:
        file.truncate(size)
        for offset, data in parts:
            file.seek(offset if offset >= 0 else size + offset)
            file.write(data)
    return path


def blank(path: Path) -> Path:
    return make(path)


def gpt(path: Path, label: str = "holiday photos") -> Path:
    """One partition of Linux data between two copies of the table."""
    last = SIZE // SECTOR - 1
    name = label.encode("utf-16-le").ljust(72, b"\0")
    entry = LINUX_DATA.bytes_le + SOME.bytes_le + struct.pack("<QQQ", 2048, last - 2048, 0) + name
    entries = entry.ljust(128 * 128, b"\0")
    protective = bytes(446) + struct.pack("<BBBBBBBBII", 0, 0, 2, 0, 0xEE, 255, 255, 255, 1, last) + bytes(48)

    def header(here: int, other: int, table: int) -> bytes:
        def packed(crc: int) -> bytes:
            return struct.pack(
                "<8sIIIIQQQQ16sQIII",
                *(b"EFI PART", 0x10000, 92, crc, 0, here, other, 34, last - 33, SOME.bytes_le),
                *(table, 128, 128, zlib.crc32(entries)),
            )

        return packed(zlib.crc32(packed(0)))

    backup = (-33 * SECTOR, entries), (-SECTOR, header(last, 1, last - 32))
    return make(path, (0, protective + b"\x55\xaa"), (SECTOR, header(1, last, 2)), (2 * SECTOR, entries), *backup)


def ext4(path: Path) -> Path:
    block = bytearray(1024)
    struct.pack_into("<IIIII", block, 0, 4096, SIZE // 4096, 0, 1000, 1000)
    struct.pack_into("<III", block, 20, 0, 2, 2)
    struct.pack_into("<H", block, 56, 0xEF53)
    struct.pack_into("<I", block, 76, 1)
    struct.pack_into("<III", block, 92, 0x04, 0x40, 0x01)  # journal; extents; sparse superblocks
    block[104:120] = SOME.bytes
    return make(path, (1024, bytes(block)))


def xfs(path: Path) -> Path:
    block = bytearray(512)
    blocks = SIZE // 4096
    struct.pack_into(">4sIQQQ16s", block, 0, b"XFSB", 4096, blocks, 0, 0, SOME.bytes)
    struct.pack_into(">QQQQIIIII", block, 48, blocks // 2, 64, 65, 66, 1, blocks // 4, 4, 0, 1000)
    struct.pack_into(">HHHH12s", block, 100, 0xB4A4, 512, 512, 8, b"scratch")
    struct.pack_into(">BBBBBBBB", block, 120, 12, 9, 9, 3, 12, 0, 0, 25)
    return make(path, (0, bytes(block)))


def _sum32(data: bytes) -> int:
    total: int = sum(struct.unpack(f"<{len(data) // 4}I", data))
    return (total & 0xFFFFFFFF) + (total >> 32) & 0xFFFFFFFF


def md_1_2(path: Path) -> Path:
    """Member 0 of a two-way RAID1, superblock 4 KiB from the start."""
    sectors = SIZE // SECTOR
    block = bytearray(256 + 4)
    struct.pack_into("<IIII16s32s", block, 0, MD_MAGIC, 1, 0, 0, SOME.bytes, b"oldhost:backup")
    struct.pack_into("<QIIQIII", block, 64, 1700000000, 1, 0, sectors - 2048, 0, 2, 0)
    struct.pack_into("<QQQQI", block, 128, 2048, sectors - 2048, 8, 0, 0)
    block[168:184] = SOME.bytes
    struct.pack_into("<QQQII", block, 192, 1700000000, 17, (1 << 64) - 1, 0, 2)
    struct.pack_into("<HH", block, 256, 0, 1)
    struct.pack_into("<I", block, 216, _sum32(bytes(block)))
    return make(path, (4096, bytes(block)))


def md_0_90(path: Path) -> Path:
    """Member 0 of a two-way RAID1, superblock in the last aligned 64 KiB."""
    words = [0] * 1024
    words[0:4] = [MD_MAGIC, 0, 90, 0]
    words[5:16] = [0x5D1B2F3C, 1700000000, 1, SIZE // 1024 - 64, 2, 2, 0, 0, 0x7A664C0E, 0x9A530B6F, 0x1C2D3E4F]
    words[32:38] = [1700000000, 1, 2, 2, 0, 0]
    words[39:41] = [17, 0]
    for disk in (0, 1):
        words[128 + 32 * disk : 133 + 32 * disk] = [disk, 259, disk, disk, 6]
    words[992:997] = [0, 259, 0, 0, 6]
    words[38] = _sum32(struct.pack("<1024I", *words))
    return make(path, (-64 * 1024, struct.pack("<1024I", *words)))


def lvm(path: Path) -> Path:
    body = struct.pack("<I8s", 32, b"LVM2 001") + b"5vTtKx9wq2Zb0YcNnRj3dHsGfLmPaE1u"
    body = body.ljust(SECTOR - 20, b"\0")
    crc = zlib.crc32(body, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
    return make(path, (SECTOR, struct.pack("<8sQI", b"LABELONE", 1, crc) + body))


def zfs_at_end(path: Path) -> Path:
    """The first two of the four labels are gone, as after `dd` over the start of a drive."""
    uberblock = struct.pack("<QQQQQ", 0x00BAB10C, 5000, 1234, 99, 1700000000).ljust(1024, b"\0")
    label = bytes(128 * 1024) + uberblock * 128
    return make(path, (-2 * len(label), label * 2))


def luks(path: Path) -> Path:
    header = struct.pack(">6sH32s32s32s", b"LUKS\xba\xbe", 1, b"aes", b"xts-plain64", b"sha256")
    return make(path, (0, header), (168, str(SOME).encode()))


# kind: (how to make it, what must be named in words)
FOREIGN: dict[str, tuple[Callable[[Path], Path], str]] = {
    "GPT": (gpt, "GPT"),
    "bare ext4": (ext4, "ext4 file system"),
    "bare XFS": (xfs, "XFS file system"),
    "md 1.2": (md_1_2, "metadata 1.2"),
    "md 0.90": (md_0_90, "metadata 0.90"),
    "LVM": (lvm, "LVM physical volume"),
    "ZFS at the end": (zfs_at_end, "ZFS"),
    "LUKS": (luks, "LUKS encrypted volume"),
}
