# SPDX-License-Identifier: Apache-2.0
"""Two names exchange what they lead to, in one step: after a power cut both are as before, or both are exchanged."""

import ctypes
import os

# linux/fs.h
_EXCHANGE = 2

_libc = ctypes.CDLL(None, use_errno=True)


def exchange(name: str, at: int, other: str, other_at: int) -> None:
    """Exchange two names of one file system, each in the open directory beside it; no link is followed.

    Both directories are on the drives when it returns. OSError: one of them does not exist, or the file system refuses.
    """
    if _libc.renameat2(at, os.fsencode(name), other_at, os.fsencode(other), _EXCHANGE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    os.fsync(other_at)
    os.fsync(at)
