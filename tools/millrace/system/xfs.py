# SPDX-License-Identifier: Apache-2.0
"""What XFS reports by ioctl: the features of a file system, an inode by its number, the names that lead to an inode.

kernel 7.2: fs/xfs/libxfs/xfs_fs.h. The last two need CAP_SYS_ADMIN, and none opens a file: no name is followed.
"""

import fcntl
import os
import struct
from array import array
from pathlib import Path
from typing import NamedTuple

PARENT = 1 << 25
"""XFS_FSOP_GEOM_FLAGS_PARENT: each inode has the directory and the name of each of its links."""

# XFS_IOC_FSGEOMETRY, _IOR('X', 126, struct xfs_fsop_geom)
_GEOMETRY = 0x8100587E
# flags
_FLAGS = struct.Struct("=92xI160x")

# XFS_IOC_BULKSTAT, _IOR('X', 127, struct xfs_bulkstat_req): struct xfs_bulk_ireq, then as many struct xfs_bulkstat
_BULKSTAT = 0x8040587F
# ino, flags, icount, ocount, agno
_REQUEST = struct.Struct("=QIIII40x")
# bs_ino, bs_gen, bs_nlink, bs_mode
_INODE = struct.Struct("=Q56xI44xI16xH58x")

# XFS_IOC_GETPARENTS_BY_HANDLE, _IOWR('X', 63, struct xfs_getparents_by_handle)
_PARENTS = 0xC040583F
# struct xfs_handle: the file system, which the kernel does not read here, fid_len, fid_pad, fid_gen, fid_ino;
# struct xfs_getparents: gp_cursor, gp_iflags, gp_oflags, gp_bufsize, gp_reserved, gp_buffer
_BY_HANDLE = struct.Struct("=8xHHIQ16sHHIQQ")
_FID_LENGTH = 14
_OFLAGS = struct.Struct("=42xH20x")
_ROOT, _DONE = 1, 2
# struct xfs_getparents_rec in front of its name: gpr_parent, gpr_reclen, gpr_reserved
_RECORD = struct.Struct("=12xIQI4x")
# room for 14 names of the greatest length
_BUFFER = 4096


class Handle(NamedTuple):
    """An inode in its present life: its number is given to another file after it was removed."""

    number: int
    generation: int


class Inode(NamedTuple):
    """What bulkstat has of an inode. `mode` as of stat(2)."""

    handle: Handle
    links: int
    mode: int


class InodeLink(NamedTuple):
    """A name of an inode: the directory that has it, and the name, any bytes without 0 and `/`."""

    directory: Handle
    name: bytes


class Parents(NamedTuple):
    """The links of an inode, fewer than it has where `more`. The root of the file system has none."""

    links: list[InodeLink]
    is_root: bool
    more: bool


def features(descriptor: int) -> int:
    """Return the features of the XFS that an open file is on, as XFS_FSOP_GEOM_FLAGS_*. OSError: it is not on XFS."""
    found: int = _FLAGS.unpack(fcntl.ioctl(descriptor, _GEOMETRY, bytes(_FLAGS.size)))[0]
    return found


def features_at(path: Path) -> int | None:
    """Return the features of the XFS that is mounted at a directory; None where it is another file system.

    OSError: it cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return features(descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def inode(top: int, number: int) -> Inode | None:
    """Return an inode of the file system of `top`; None where the number is of none now. OSError: it cannot be read."""
    answer = fcntl.ioctl(top, _BULKSTAT, _REQUEST.pack(number, 0, 1, 0, 0) + bytes(_INODE.size))
    _, _, _, count, _ = _REQUEST.unpack_from(answer)
    found, generation, links, mode = _INODE.unpack_from(answer, _REQUEST.size)
    # one that is not used leads to the next one that is
    return Inode(Handle(number, generation), links, mode) if count and found == number else None


def parents(top: int, handle: Handle, most: int) -> Parents:
    """Return the links of an inode of the file system of `top`, a directory; `most` at most.

    OSError: ESTALE where it was removed, EOPNOTSUPP where the file system has no parent pointers, or the kernel cannot
    read them.
    """
    asked = bytearray(_BY_HANDLE.pack(_FID_LENGTH, 0, handle.generation, handle.number, bytes(16), 0, 0, 0, 0, 0))
    links, flags = list[InodeLink](), 0
    while not flags & _DONE and len(links) < most:
        # the kernel writes no record where there is none
        buffer = array("B", bytes(_BUFFER))
        struct.pack_into("=I8xQ", asked, 44, _BUFFER, buffer.buffer_info()[0])
        fcntl.ioctl(top, _PARENTS, asked)
        (flags,) = _OFLAGS.unpack(asked)
        read = _links(buffer.tobytes())
        if not read:
            break
        links += read
    return Parents(links[:most], bool(flags & _ROOT), len(links) > most or not flags & _DONE)


def _links(records: bytes) -> list[InodeLink]:
    links, at = list[InodeLink](), 0
    while at + _RECORD.size < len(records):
        generation, number, length = _RECORD.unpack_from(records, at)
        if length <= _RECORD.size:
            break
        # the last record reaches to the end of the buffer
        name = records[at + _RECORD.size : at + length].partition(b"\0")[0]
        links.append(InodeLink(Handle(number, generation), name))
        at += length
    return links
