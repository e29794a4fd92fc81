# SPDX-License-Identifier: Apache-2.0
"""The time stamp counter of this host, which an emulated guest reads as its own (QEMU's cpu_get_host_ticks)."""

import ctypes
import mmap
import platform
import time
from collections.abc import Callable

# rdtsc; shl rdx, 32; or rax, rdx; ret
CODE = bytes.fromhex("0f3148c1e2204809d0c3")
SECONDS = 0.1
# Of so many readings the one that was least interrupted counts.
READINGS = 20


def khz() -> int | None:
    """Return the rate of the counter in kHz; None where this is no x86 host."""
    if platform.machine() != "x86_64":
        return None
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as memory:
        memory.write(CODE)
        buffer = ctypes.c_char.from_buffer(memory)
        read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(buffer))
        began, ticks = _reading(read)
        time.sleep(SECONDS)
        ended, later = _reading(read)
        # the memory is not unmapped while somebody refers to it
        del read, buffer
    return round((later - ticks) * 1e6 / (ended - began))


def _reading(read: Callable[[], int]) -> tuple[int, int]:
    """The counter at a time in nanoseconds."""
    found = []
    for _ in range(READINGS):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        ticks = read()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        found.append((after - before, before, ticks))
    width, before, ticks = min(found)
    return before + width // 2, ticks
