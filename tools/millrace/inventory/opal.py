# SPDX-License-Identifier: Apache-2.0
"""Whether a drive can lock itself (TCG Opal), and whether it is locked, as the kernel asks it (linux/sed-opal.h).

The question changes nothing on a drive. One that is locked fails reads, or shows another program than its data.
"""

import fcntl
import os
import struct
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from millrace.inventory.model import Drive, DriveState, Evidence, OpalState
from millrace.system.children import run_in_turn

# linux/sed-opal.h: _IOR('p', 236, struct opal_status), and its flags
GET_STATUS = 0x800870EC
STATUS = struct.Struct("=II")
LOCKING, ENABLED, LOCKED = 0x02, 0x04, 0x08
# seconds: admin commands of a drive that hangs take a minute each
TIMEOUT = 60.0
FINDING = (
    "the drive is locked by a key that this server does not have (Opal); unlock it where it was, or revert it with the "
    "PSID on its label, which erases it"
)

Ask = Callable[[Path], int]
"""Returns the flags of a drive. OSError: it has no Opal, or does not answer."""


def flags(device: Path) -> int:
    """Return what the kernel reports of a drive. OSError: it has no Opal, the caller is not root, or it is no drive."""
    status = bytearray(STATUS.size)
    descriptor = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, GET_STATUS, status)
    finally:
        os.close(descriptor)
    return int(STATUS.unpack(status)[0])


def states(devices: Sequence[Path], ask: Ask = flags) -> dict[Path, OpalState]:
    """Return the state of each drive that can lock itself, asked in a child: one that hangs delays no other for long.

    What is missing has no Opal, or did not answer.
    """
    if not devices:
        return {}
    outcomes = run_in_turn({str(device): partial(_state, device, ask) for device in devices}, TIMEOUT)
    by_answer: dict[bytes, OpalState] = {b"off": "off", b"unlocked": "unlocked", b"locked": "locked"}
    answers = {Path(name): by_answer.get(outcome.found) for name, outcome in outcomes.items() if not outcome.problem}
    return {device: state for device, state in answers.items() if state}


def with_state(drive: Drive, state: OpalState | None) -> Drive:
    """Return a drive with its state; what probes found on one that is locked proves nothing."""
    if state != "locked" or drive.state is DriveState.BOOT:
        return drive.model_copy(update={"opal": state})
    evidence = [Evidence(probe="opal", finding=FINDING), *drive.evidence]
    return drive.model_copy(update={"opal": state, "state": DriveState.UNKNOWN, "evidence": evidence})


def _state(device: Path, ask: Ask) -> bytes:
    try:
        reported = ask(device)
    except OSError:
        return b""
    if not reported & LOCKING:
        return b""
    if not reported & ENABLED:
        return b"off"
    return b"locked" if reported & LOCKED else b"unlocked"
