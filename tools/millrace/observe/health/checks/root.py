# SPDX-License-Identifier: Apache-2.0
"""Can the server still write its own state? The root file system on the boot drive: room, inodes, read-write."""

import os

from millrace.inventory.boot_disk import same_boot_partition
from millrace.observe.health.checks.filesystem import FULL, SCARCE
from millrace.observe.health.host import Host
from millrace.observe.health.model import HealthFinding, Level
from millrace.system import paths
from millrace.system.mounts import mounted
from millrace.system.text import size

NAME = "root"
READ_ONLY = "read-only"

# kernel 7.2, ext4 (super.c): after an error it may stay mounted rw and say one of these (since 6.15).
_READ_ONLY = {"ro", "emergency_ro", "shutdown"}


def check(host: Host) -> list[HealthFinding]:
    """Return findings with or without a pool; nothing where the system runs from memory."""
    return [*_twins(), *_file_system()]


def _twins() -> list[HealthFinding]:
    """Two drives of one image: the next boot takes loader, system and state from either of them (systemd-gpt-auto)."""
    twins = same_boot_partition(paths.ROOT)
    if not twins:
        return []
    sentence = (
        f"Drives {' and '.join(twins)} have the same boot partition: a restart may take either, with its own state."
    )
    todo = "Switch the server off and leave in the boot drive that it is to run from."
    return [HealthFinding(check=NAME, kind="twins", level=Level.WARN, sentence=sentence, todo=todo)]


def _file_system() -> list[HealthFinding]:
    mount = mounted("/")
    if mount is None:
        return []
    if _READ_ONLY & set(mount.options):
        todo = (
            "journalctl -k | grep -E 'EXT4|I/O error'; restart the server, and replace the boot drive if it comes back"
        )
        sentence = "The root file system is read-only: changes are lost."
        return [HealthFinding(check=NAME, kind=READ_ONLY, level=Level.FAIL, sentence=sentence, todo=todo)]
    space = os.statvfs(paths.ROOT)
    used = _percent(space.f_bavail, space.f_blocks)
    inodes = _percent(space.f_favail, space.f_files)
    level = Level.FAIL if max(used, inodes) >= FULL else Level.WARN if max(used, inodes) >= SCARCE else Level.OK
    free = size(space.f_bavail * space.f_frsize)
    return [
        HealthFinding(
            check=NAME,
            kind="space",
            level=level,
            sentence=f"The root file system is {used} % full, {free} free; {inodes} % of its inodes are used.",
            todo=None
            if level is Level.OK
            else "du -xh --max-depth=3 / | sort -h | tail; journalctl --vacuum-size=200M",
        )
    ]


def _percent(left: int, all_of_them: int) -> int:
    """Percent in use; 0 where nothing is counted."""
    return round(100 * (1 - left / all_of_them)) if all_of_them else 0
