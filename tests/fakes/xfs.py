# SPDX-License-Identifier: Apache-2.0
"""XFS as its ioctls show it: offsets are those of fs/xfs/libxfs/xfs_fs.h of kernel 7.2, compiled with gcc for x86-64.

As strict as the kernel with what must be zero, and a request that is not known fails the test.
"""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from millrace.system import xfs

ROOT = 128
FSGEOMETRY, BULKSTAT, GETPARENTS_BY_HANDLE = 0x8100587E, 0x8040587F, 0xC040583F
V5 = 0x3FFCDCB
"""XFS_FSOP_GEOM_FLAGS_* that mkfs.xfs 7.2.0 makes; 6.1 makes no parent pointers and no exchange of ranges."""
V5_OF_6_1 = V5 & ~(1 << 24 | 1 << 25)


@dataclass
class Node:
    """An inode: its links as (number of the directory, name)."""

    links: list[tuple[int, bytes]] = field(default_factory=list)
    mode: int = stat.S_IFREG | 0o644
    generation: int = 7
    problem: int = 0

    @property
    def count(self) -> int:
        return len(self.links)


class Xfs:
    """`at_once` is how many names fit into a buffer; `before` is called before each request with its number."""

    def __init__(self, flags: int = V5, at_once: int = 14) -> None:
        self.flags = flags
        self.at_once = at_once
        self.nodes = {ROOT: Node(mode=stat.S_IFDIR | 0o755, generation=0)}
        self.asked: list[int] = []
        self.before: Callable[[int], None] = lambda request: None

    def add(self, number: int, *links: tuple[int, bytes], mode: int = stat.S_IFREG | 0o644) -> int:
        self.nodes[number] = Node(list(links), mode, generation=number % 1000 + 7)
        return number

    def directory(self, number: int, above: int, name: bytes) -> int:
        return self.add(number, (above, name), mode=stat.S_IFDIR | 0o755)

    def ioctl(self, descriptor: int, request: int, argument: bytes | bytearray) -> bytes | int:
        os.fstat(descriptor)
        self.before(request)
        self.asked.append(request)
        if request == FSGEOMETRY:
            assert len(argument) == 256
            return bytes(92) + struct.pack("=I", self.flags) + bytes(160)
        if request == BULKSTAT:
            return self._bulkstat(bytes(argument))
        assert request == GETPARENTS_BY_HANDLE, f"{request:x}"
        assert isinstance(argument, bytearray) and len(argument) == 64
        return self._parents(argument)

    def _bulkstat(self, asked: bytes) -> bytes:
        assert len(asked) == 64 + 192
        number, flags, room, _, group = struct.unpack_from("=QIIII", asked)
        assert (flags, room, group) == (0, 1, 0) and not any(asked[24:64])
        inode = next((inode for inode in sorted(self.nodes) if inode >= number), None)
        if inode is None:
            return struct.pack("=QIIII", number, 0, 1, 0, 0) + bytes(40 + 192)
        node, answer = self.nodes[inode], bytearray(256)
        if node.problem == errno.EIO:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        struct.pack_into("=QIIII", answer, 0, inode + 1, 0, 1, 1, 0)
        struct.pack_into("=Q", answer, 64, inode)
        struct.pack_into("=I", answer, 64 + 64, node.generation)
        struct.pack_into("=I", answer, 64 + 112, node.count if inode != ROOT else 2)
        struct.pack_into("=H", answer, 64 + 132, node.mode)
        return bytes(answer)

    def _parents(self, asked: bytearray) -> int:
        if not self.flags & xfs.PARENT:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        length, pad, generation, number = struct.unpack_from("=HHIQ", asked, 8)
        cursor, rest = struct.unpack_from("=I12s", asked, 24)
        iflags, size, reserved, address = struct.unpack_from("=H2xIQQ", asked, 40)
        assert (length, pad, rest, iflags, reserved) == (14, 0, bytes(12), 0, 0)
        assert 40 <= size <= 65536 and size % 8 == 0 and address
        node = self.nodes.get(number)
        if node is None or node.generation != generation:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        if node.problem:
            raise OSError(node.problem, os.strerror(node.problem))
        now = node.links[cursor : cursor + self.at_once]
        records = bytearray()
        for at, (above, name) in enumerate(now):
            whole = -(-(32 + len(name) + 1) // 8) * 8
            reach = size - len(records) if at == len(now) - 1 else whole
            there = self.nodes[above].generation if above in self.nodes else 0
            record = struct.pack("=8sHHIQII", b"fixed id", 14, 0, there, above, reach, 0) + name
            records += record.ljust(whole, b"\0")
        assert len(records) <= size
        ctypes.memmove(address, bytes(records), len(records))
        done = cursor + len(now) >= len(node.links)
        struct.pack_into("=I", asked, 24, cursor + len(now))
        struct.pack_into("=H", asked, 42, (1 if number == ROOT else 0) | (2 if done else 0))
        return 0
