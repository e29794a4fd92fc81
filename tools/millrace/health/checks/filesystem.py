# SPDX-License-Identifier: Apache-2.0
"""Is the pool mounted, writable, and is there room?"""

import os
import re

from millrace import paths
from millrace.health.host import Host
from millrace.health.model import Finding, Level

NAME = "filesystem"
UNIT = "srv-pool.mount"

# XFS slows down where free space is scarce and torn into pieces.
SCARCE, FULL = 90, 98


def check(host: Host) -> list[Finding]:
    """The pool's file system: mounted, read-write, percentage in use."""
    if host.pool is None:
        return []
    mountpoint = host.pool.filesystem.mountpoint
    options = mount_options(mountpoint)
    if options is None:
        if host.active_state(UNIT) == "activating":
            return [_mounting(host, mountpoint)]
        return [host.absent(NAME, f"{mountpoint} is not mounted.", f"systemctl status {UNIT} millrace-pool.service")]
    if "ro" in options:
        todo = "journalctl -k | grep XFS; then restart the server, and repair offline if it comes back like this"
        return [Finding(check=NAME, level=Level.FAIL, sentence=f"{mountpoint} is mounted read-only.", todo=todo)]
    return [_space(mountpoint)]


def _mounting(host: Host, mountpoint: str) -> Finding:
    """There is no time limit on a mount: whoever waits reads what it is doing."""
    began = host.ask(["systemctl", "show", "--property=InactiveExitTimestamp", "--value", UNIT]).out
    clock = re.search(r"\b\d\d:\d\d", began)
    since = f" since {clock[0]}" if clock else ""
    return Finding(
        check=NAME,
        level=Level.WARN,
        sentence=f"{mountpoint} is being mounted{since}: XFS is replaying its log or counting quotas.",
        todo="Wait: clients are served as soon as it is done. journalctl -k | grep XFS shows how far it is.",
    )


def mount_options(mountpoint: str) -> list[str] | None:
    """The options of what is mounted last at `mountpoint`; None where nothing is."""
    found = None
    # That of process 1: a sandboxed service has a table of its own, in which most is read-only.
    for line in (paths.ROOT / "proc/1/mounts").read_text().splitlines():
        fields = line.split()
        if fields[1] == mountpoint:
            found = fields[3].split(",")
    return found


def _space(mountpoint: str) -> Finding:
    space = os.statvfs(paths.ROOT / mountpoint.lstrip("/"))
    used = round(100 * (1 - space.f_bavail / space.f_blocks))
    free = space.f_bavail * space.f_frsize
    level = Level.FAIL if used >= FULL else Level.WARN if used >= SCARCE else Level.OK
    return Finding(
        check=NAME,
        level=level,
        sentence=f"{mountpoint} is {used} % full, {bytes_in_words(free)} free.",
        todo=None if level is Level.OK else "Delete or move what is not needed any more.",
    )


def bytes_in_words(count: int) -> str:
    """`123.4 TB`; decimal units, as drives are sold."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000:
            return f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} PB"
