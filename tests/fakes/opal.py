# SPDX-License-Identifier: Apache-2.0
"""Drives with and without Opal at the boundary of the kernel: what ioctl() gets, and what it returns."""

import errno
import struct
from dataclasses import dataclass, field
from pathlib import Path

SUPPORTED, LOCKING, ENABLED, LOCKED = 0x01, 0x02, 0x04, 0x08
# what the kernel returns for a drive without Opal; no name in errno (block/sed-opal.c, sed_ioctl)
ENOTSUPP = 524


@dataclass
class OpalDrives:
    """The drives of a server by device, with their flags; a device without flags has no Opal.

    `broken` are devices that do not answer. Only what is listed here may be asked.
    """

    flags: dict[Path, int | None] = field(default_factory=dict)
    broken: set[Path] = field(default_factory=set)
    _open: dict[int, Path] = field(default_factory=dict)

    def open(self, path: Path, mode: int) -> int:
        """Stand in for os.open."""
        assert path in self.flags, f"{path} is no drive of this server"
        descriptor = 1000 + len(self._open)
        self._open[descriptor] = path
        return descriptor

    def close(self, descriptor: int) -> None:
        """Stand in for os.close."""
        del self._open[descriptor]

    def ioctl(self, descriptor: int, request: int, argument: bytearray) -> int:
        """Stand in for fcntl.ioctl: type, number and size of the request as linux/sed-opal.h has them."""
        kind, number, size = request >> 8 & 0xFF, request & 0xFF, request >> 16 & 0x3FFF
        assert (chr(kind), number, size) == ("p", 236, len(argument)), f"request {request:#x} is not known"
        path = self._open[descriptor]
        if path in self.broken:
            raise OSError(errno.EIO, "I/O error")
        if (reported := self.flags[path]) is None:
            raise OSError(ENOTSUPP, "Unknown error 524")
        argument[:] = struct.pack("=II", reported, 0)
        return 0
