# SPDX-License-Identifier: Apache-2.0
"""Which blocks of the disk a file has: replace them by equal ones, give them back, take free ones.

Blocks are shared by `reflink`, which needs no C library.
"""

import ctypes
import fcntl
import os
import signal
import struct
from collections.abc import Iterator
from contextlib import contextmanager

# linux/fs.h: _IOWR(0x94, 54, struct file_dedupe_range)
_DEDUPE = 0xC0189436
# linux/falloc.h
_KEEP_SIZE, _PUNCH_HOLE = 1, 2
_SAME = 0

_libc = ctypes.CDLL(None, use_errno=True)


def dedupe(source: int, offset: int, length: int, target: int, at: int) -> bool:
    """Replace blocks of the target by those of the source if they are equal, at one moment; return whether they were.

    OSError: the file system refuses.
    """
    asked = struct.pack("=QQHHI", offset, length, 1, 0, 0) + struct.pack("=qQQiI", target, at, 0, 0, 0)
    done = bytearray(asked)
    fcntl.ioctl(source, _DEDUPE, done)
    _, _, replaced, status, _ = struct.unpack("=qQQiI", done[24:])
    if status < 0:
        raise OSError(-status, os.strerror(-status))
    return bool(status == _SAME and replaced >= length)


def preallocate(file: int, offset: int, length: int) -> None:
    """Take free blocks, behind the last one where they can be; the file becomes longer. OSError: there are none."""
    _fallocate(file, 0, offset, length)


def punch(file: int, offset: int, length: int) -> None:
    """Give blocks back: they read as zeros. OSError: the file system refuses."""
    _fallocate(file, _KEEP_SIZE | _PUNCH_HOLE, offset, length)


@contextmanager
def alone(file: int) -> Iterator[bool]:
    """Hold others from opening a file, for as long as the kernel waits for a lease; yield False where it is open."""
    # the kernel says with it that others wait, and it ends a program that does not expect it
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def _fallocate(file: int, mode: int, offset: int, length: int) -> None:
    if _libc.fallocate(file, mode, ctypes.c_long(offset), ctypes.c_long(length)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
