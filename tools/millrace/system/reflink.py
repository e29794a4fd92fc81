# SPDX-License-Identifier: Apache-2.0
"""What XFS does with an open file beside POSIX: share its blocks with another one, count it to a quota project.

Nothing else is imported: millrace-child-quota.service keeps it in memory.
"""

import fcntl
import struct

# linux/fs.h: FICLONE is _IOW(0x94, 9, int), FS_IOC_FSGETXATTR and FS_IOC_FSSETXATTR are 'X' 31 and 32 of struct fsxattr
FICLONE = 0x40049409
# _IOW(0x94, 13, struct file_clone_range)
FICLONERANGE = 0x4020940D
FSGETXATTR, FSSETXATTR = 0x801C581F, 0x401C5820
# flags, hint of extents, number of extents, project, hint of copy on write, padding
_FSXATTR = struct.Struct("=IIIII8x")
_EXTENT_SIZE = 0x800  # FS_XFLAG_EXTSIZE: the hint of extents is in force
_INHERITED = 0x200  # FS_XFLAG_PROJINHERIT: what is created in a directory belongs to its project


def clone(source: int, target: int) -> None:
    """Make the open file `target` share all blocks of `source`, in one step. OSError: the file system cannot."""
    fcntl.ioctl(target, FICLONE, source)


def clone_range(source: int, offset: int, length: int, target: int, at: int) -> None:
    """Let a file share blocks of another; offsets in bytes of whole blocks. OSError: the file system refuses."""
    fcntl.ioctl(target, FICLONERANGE, struct.pack("=qQQQ", source, offset, length, at))


def project(descriptor: int) -> int:
    """Return the quota project of an open file or directory. OSError: the file system has none."""
    found: int = _FSXATTR.unpack(fcntl.ioctl(descriptor, FSGETXATTR, bytes(_FSXATTR.size)))[3]
    return found


def hands_down(descriptor: int) -> bool:
    """Whether what is created in an open directory belongs to its quota project. OSError: the file system has none."""
    flags: int = _FSXATTR.unpack(fcntl.ioctl(descriptor, FSGETXATTR, bytes(_FSXATTR.size)))[0]
    return bool(flags & _INHERITED)


def set_project(descriptor: int, number: int) -> None:
    """Count an open directory, and what is created in it from now on, to a quota project.

    OSError: the file system refuses it.
    """
    flags, extents, used, _, copied = _FSXATTR.unpack(fcntl.ioctl(descriptor, FSGETXATTR, bytes(_FSXATTR.size)))
    fcntl.ioctl(descriptor, FSSETXATTR, _FSXATTR.pack(flags | _INHERITED, extents, used, number, copied))


def hand_down_nothing(descriptor: int) -> None:
    """Let what is created in an open directory belong to no quota project; its own stays.

    XFS renames nothing into a directory that hands its project down and has another one than it (xfs_rename), not even
    what is in it already. OSError: the file system refuses it.
    """
    flags, *rest = _FSXATTR.unpack(fcntl.ioctl(descriptor, FSGETXATTR, bytes(_FSXATTR.size)))
    if flags & _INHERITED:
        fcntl.ioctl(descriptor, FSSETXATTR, _FSXATTR.pack(flags & ~_INHERITED, *rest))


def set_file_project(descriptor: int, number: int) -> None:
    """Count an open file to a quota project. OSError: the file system refuses it."""
    flags, extents, used, _, copied = _FSXATTR.unpack(fcntl.ioctl(descriptor, FSGETXATTR, bytes(_FSXATTR.size)))
    fcntl.ioctl(descriptor, FSSETXATTR, _FSXATTR.pack(flags, extents, used, number, copied))


def set_extent_size(descriptor: int, size: int) -> None:
    """Let an open file without extents get its blocks in pieces of `size` bytes that begin at a multiple of it.

    OSError: the file system refuses it.
    """
    flags, _, used, project, copied = _FSXATTR.unpack(fcntl.ioctl(descriptor, FSGETXATTR, bytes(_FSXATTR.size)))
    fcntl.ioctl(descriptor, FSSETXATTR, _FSXATTR.pack(flags | _EXTENT_SIZE, size, used, project, copied))
