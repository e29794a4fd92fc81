# SPDX-License-Identifier: Apache-2.0
"""Files that a client may write without the kernel setting their time of change: from the kernel's table of locks.

nfsd of kernel 7.2 lets a client with a write delegation keep the times of the file itself (FMODE_NOCMTIME); they are
set when the delegation is returned (RFC 9754).
"""

import os
import re

from millrace.system import paths
from millrace.system.errors import Failed

# kernel 7.2: fs/locks.c lock_get_status(), see proc_locks(5); "-> " stands before one that waits. Numbers of devices
# are hexadecimal.
_LEASE = re.compile(
    r"\d+: +(?:-> )?(?:DELEG|LEASE) +(?P<state>ACTIVE|BREAKING|BREAKER) +(?P<kind>READ|WRITE|UNLCK) \d+ "
    r"(?:(?P<major>[0-9a-f]+):(?P<minor>[0-9a-f]+):(?P<inode>\d+)|<none>:0) 0 EOF",
    re.ASCII,
)
_KINDS = {"DELEG", "LEASE"}


def held_for_writing(device: int) -> set[int]:
    """Return the inodes of a file system on which a write delegation or a write lease is held.

    `device` is its number as of stat(2); that of btrfs is another one here. The kernel returns the table in pieces: an
    entry may be missing where another one is removed meanwhile. Failed: the kernel writes an entry as nobody knows it.
    OSError: the table cannot be read.
    """
    inodes = set[int]()
    for line in (paths.ROOT / "proc/locks").read_text().splitlines():
        if _KINDS.isdisjoint(line.split()[1:3]):
            continue
        lease = _LEASE.fullmatch(line)
        if lease is None:
            raise Failed(f"/proc/locks has an entry of an unknown form: {line!r}")
        if lease["inode"] is None or lease["state"] == "BREAKER":
            # it waits for the lease of another one
            continue
        # while one is broken the kernel shows what remains of it: READ of a write lease, UNLCK of either
        is_writing = lease["kind"] == "WRITE" or lease["state"] == "BREAKING"
        if is_writing and os.makedev(int(lease["major"], 16), int(lease["minor"], 16)) == device:
            inodes.add(int(lease["inode"]))
    return inodes
