# SPDX-License-Identifier: Apache-2.0
"""A drive reports a critical warning at once, by an asynchronous event, and not only when its SMART log is read.

The kernel enables optional notices alone (kernel 7.2, drivers/nvme/host/core.c, nvme_enable_aen), so that a drive
reports no warning by itself, and does so again after each reset of the controller. What it gets of the events of
SMART it passes on as a uevent with NVME_AEN; 90-millrace.rules starts the readings with it.
"""

import fcntl
import os
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from millrace.system.children import run_all

# NVM Express base specification: opcodes of admin commands and the feature Asynchronous Event Configuration. Its lowest
# bits have the meaning of those of the critical warning: spare, temperature, reliability, read-only, backup of memory.
SET_FEATURES, GET_FEATURES = 0x09, 0x0A
EVENTS = 0x0B
WARNINGS = 0x1F

# linux/nvme_ioctl.h: _IOWR('N', 0x41, struct nvme_passthru_cmd)
_ADMIN = 0xC0484E41
# opcode, flags, rsvd1, nsid, cdw2, cdw3, metadata, addr, metadata_len, data_len, cdw10 … cdw15, timeout_ms, result
_COMMAND = struct.Struct("=BBHIIIQQIIIIIIIIII")

# Device, opcode, feature and value; returns the value that the drive reports.
Command = Callable[[Path, int, int], int]


def admin(device: Path, opcode: int, value: int) -> int:
    """Get or set the feature EVENTS of a drive and return its value. OSError: the drive or the kernel refuses."""
    command = bytearray(_COMMAND.pack(opcode, 0, 0, 0, 0, 0, 0, 0, 0, 0, EVENTS, value, 0, 0, 0, 0, 0, 0))
    descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        status = fcntl.ioctl(descriptor, _ADMIN, command)
    finally:
        os.close(descriptor)
    if status:
        raise OSError(f"{device} replied with status {status:#x}")
    return int(_COMMAND.unpack(command)[-1])


def enable(device: Path, warning: int, command: Command = admin) -> bool:
    """Enable the events of a drive for warnings that are not on now; return whether that changed anything.

    One that is on stays in the SMART log, where each reading finds it: a drive that would report it again after each
    reading would keep the server busy. What the kernel enabled is kept. OSError: the drive refuses.
    """
    enabled = command(device, GET_FEATURES, 0)
    wanted = enabled & ~WARNINGS | WARNINGS & ~warning
    if wanted == enabled:
        return False
    command(device, SET_FEATURES, wanted)
    return True


def enable_all(warnings: Mapping[Path, int], seconds: float, command: Command = admin) -> None:
    """Enable the events of drives that have just answered, by their critical warnings, in a child of `seconds`.

    A drive that refuses is read every few minutes, as before.
    """
    if warnings:
        run_all({"events": partial(_enable_all, warnings, command)}, seconds)


def _enable_all(warnings: Mapping[Path, int], command: Command) -> bytes:
    for device, warning in warnings.items():
        with suppress(OSError):
            enable(device, warning, command)
    return b""
