# SPDX-License-Identifier: Apache-2.0
"""POSIX access lists as the kernel keeps them in extended attributes.

Only the minimal list is written: owner, group, others. As the default list of a directory it is what new entries get,
whatever the umask of their creator (acl(5), OBJECT CREATION AND DEFAULT ACLs). The binary form is that of
include/uapi/linux/posix_acl_xattr.h: version 2, then tag, permissions and number of each entry, little-endian.
"""

import errno
import os
import struct
from typing import Final

ACCESS: Final = "system.posix_acl_access"
DEFAULT: Final = "system.posix_acl_default"
XFS_NAMES: Final = ("trusted.SGI_ACL_FILE", "trusted.SGI_ACL_DEFAULT")
"""Second names of both attributes. XFS lists them to a caller with CAP_SYS_ADMIN (fs/xfs/xfs_xattr.c). The removal of
one name removes the access list under both."""

_VERSION: Final = 2
_OWNER, _GROUP, _MASK, _OTHERS = 0x01, 0x04, 0x10, 0x20
_NO_NUMBER: Final = 0xFFFFFFFF
# no such attribute; a file system without access lists
_NONE = (errno.ENODATA, errno.EOPNOTSUPP)

Place = int | str
"""An open file or directory, or its path: below /proc/self/fd for a descriptor with O_PATH."""


def attributes(place: Place, follow_symlinks: bool = True) -> list[str]:
    """Return the names of the extended attributes of a file, without `XFS_NAMES`. OSError: they cannot be listed."""
    return [name for name in os.listxattr(place, follow_symlinks=follow_symlinks) if name not in XFS_NAMES]


def encode(mode: int) -> bytes:
    """Return the minimal list with the permissions of `mode`, such as 0o770."""
    entries = ((_OWNER, mode >> 6), (_GROUP, mode >> 3), (_OTHERS, mode))
    return struct.pack("<I", _VERSION) + b"".join(
        struct.pack("<HHI", tag, bits & 0o7, _NO_NUMBER) for tag, bits in entries
    )


def mode_without(access: bytes, mode: int) -> int:
    """Return `mode` as it stays without the access list `access`: what its own group may do.

    With a list that names users or groups, the group bits of a mode are its mask (acl(5)).
    """
    bits: dict[int, int] = {tag: allowed for tag, allowed, _ in struct.iter_unpack("<HHI", access[4:])}
    group = bits.get(_GROUP, 0) & bits.get(_MASK, 0o7)
    return mode & ~0o070 | group << 3


def read(place: Place, name: str) -> bytes | None:
    """Return a list as the kernel has it; None where there is none. OSError: it cannot be read."""
    try:
        return os.getxattr(place, name)
    except OSError as error:
        if error.errno in _NONE:
            return None
        raise


def write(place: Place, name: str, value: bytes | None) -> None:
    """Set a list; None removes it. OSError: the file system refuses it."""
    if value is not None:
        os.setxattr(place, name, value)
        return
    try:
        os.removexattr(place, name)
    except OSError as error:
        if error.errno not in _NONE:
            raise
