# SPDX-License-Identifier: Apache-2.0
"""Drives appear one after the other while a server boots; a plan needs all of them."""

import re
import time
from collections.abc import Callable
from pathlib import Path

from millrace.inventory.drives import block_dir, drive_names, identify, size
from millrace.inventory.probe import run_tool
from millrace.system import sysfs
from millrace.system.errors import Failed
from millrace.system.run import Runner

LIMIT = 60.0  # seconds
PAUSE = 1.0  # seconds between two looks
Scan = list[tuple[str, str, int]]


def wait_stable(
    sysroot: Path = Path("/"),
    run: Runner = run_tool,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until two scans in a row find the same drives and no NVMe controller is still starting.

    After a minute a controller without a drive is accepted. Failed: the list of drives still changes then.
    """
    deadline = clock() + LIMIT
    run(["udevadm", "settle", f"--timeout={LIMIT:g}"])
    before = _scan(sysroot)
    while True:
        pause(PAUSE)
        now = _scan(sysroot)
        if now == before and not starting(sysroot):
            return
        if clock() >= deadline:
            if now == before:
                return
            raise Failed(
                f"the list of drives is still changing after {LIMIT:g} s: check for a drive that resets (dmesg)"
            )
        before = now


def _scan(sysroot: Path) -> Scan:
    directories = [block_dir(sysroot, name) for name in drive_names(sysroot)]
    return [(directory.name, identify(directory).serial, size(directory)) for directory in directories]


def starting(sysroot: Path, empty: bool = True) -> bool:
    """Whether an NVMe controller is starting; with `empty` also one that has started and has no namespace yet."""
    directory = sysroot / "sys/class/nvme"
    return any(_controller_starting(directory / name, empty) for name in sysfs.names(directory))


def _controller_starting(controller: Path, empty: bool) -> bool:
    state = sysfs.text(controller / "state")
    if state in ("new", "resetting", "connecting"):
        return True
    if not empty:
        return False
    # nvme0n1, and nvme0c0n1 where the drive could have a second path
    namespaces = [name for name in sysfs.names(controller) if re.fullmatch(r"nvme\d+(c\d+)?n\d+", name)]
    return state == "live" and not namespaces
