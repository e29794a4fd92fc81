# SPDX-License-Identifier: Apache-2.0
"""What xfs_repair needs: memory and time by the number of inodes, against the memory of this server.

xfsprogs 7.2: `xfs_repair -n -vv -m 1` shows that it reckons with 4 bytes for each inode, half a byte for each block and
50 MB; it reads ahead only where three quarters of the memory are more than that. Measured with that version on 100,000
and on 300,000 files, metadata in memory, the smallest cache that -m allows: 55 MB and 180 to 210 bytes for each inode,
11 to 17 microseconds of CPU time for each. So its own number is far too low for many files.
"""

import re

from millrace.storage.array.machine import System
from millrace.storage.record.model import Pool
from millrace.storage.rescue.placeholder_log import stand_in
from millrace.storage.rescue.rescue_model import RepairSize
from millrace.system import paths, sysfs
from millrace.system.errors import Failed
from millrace.system.run import must
from millrace.system.text import KIB, binary, duration

PER_INODE, BASE = 200, 55 * 10**6
SECONDS_PER_INODE = 11e-6
OWN_PER_INODE, OWN_PER_BLOCK, OWN_BASE = 4, 0.5, 50_000 * KIB
READ_AHEAD = 0.75
"""The share of the memory that xfs_repair takes for itself without -m."""

INODES = re.compile(r"^count = (\d+)$", re.MULTILINE)
FIELD = re.compile(r"^(\w+) = (\d+)$", re.MULTILINE)
_MEMORY = re.compile(r"^(MemTotal|MemAvailable):\s+(\d+) kB$", re.MULTILINE)
MORE = "Add memory, or move the drives to a server with more and adopt the pool there, before this step."


def counted(system: System, pool: Pool, log: str) -> RepairSize:
    """Count the inodes of the pool; `log` is a device in the place of its log.

    The superblock counts inodes only when the file system is unmounted; the groups always do. Failed: xfs_db fails.
    """
    argv = ["xfs_db", "-r", "-l", log, "-c", "sb 0", "-c", "print agcount inodesize dblocks", pool.filesystem.device]
    fields = {name: int(value) for name, value in FIELD.findall(must(system.attempt, argv))}
    if not {"agcount", "inodesize", "dblocks"} <= fields.keys():
        raise Failed("xfs_db does not read the superblock of the pool; go on with --without-image")
    groups = [word for group in range(fields["agcount"]) for word in ("-c", f"agi {group}", "-c", "print count")]
    said = must(system.attempt, ["xfs_db", "-r", "-l", log, *groups, pool.filesystem.device])
    return RepairSize(
        inodes=sum(int(count) for count in INODES.findall(said)),
        inode_size=fields["inodesize"],
        groups=fields["agcount"],
        blocks=fields["dblocks"],
    )


def measured(system: System, pool: Pool) -> RepairSize | None:
    """Count the inodes of the unmounted pool; None where that fails, which keeps nobody from going on."""
    try:
        with stand_in(system, pool) as log:
            return counted(system, pool, log)
    except (Failed, OSError):
        return None


def least_memory(size: RepairSize) -> int:
    """Return the bytes of memory that xfs_repair needs at least, with the smallest cache."""
    return BASE + PER_INODE * size.inodes


def own_estimate(size: RepairSize) -> int:
    """Return the bytes that xfs_repair itself reckons with: more than it needs for blocks, too few for inodes."""
    return int(OWN_BASE + OWN_PER_INODE * size.inodes + OWN_PER_BLOCK * size.blocks)


def in_words(size: RepairSize | None) -> str:
    """Return how long xfs_repair takes and how much memory it needs, against what this server has now."""
    if size is None:
        return "How much memory and time xfs_repair needs is not known: the inodes of the pool could not be counted."
    memory, needed = _memory(), least_memory(size)
    what = (
        f"xfs_repair needs at least {binary(needed)} of memory for {size.inodes:,} inodes (measured: {PER_INODE} bytes "
        "for each)"
    )
    seconds = SECONDS_PER_INODE * size.inodes
    time = (
        f"It takes at least {duration(seconds)} of CPU time (measured with metadata in memory); how much longer it "
        "reads the drives is not known."
    )
    available, total = memory.get("MemAvailable"), memory.get("MemTotal")
    if available is None or total is None:
        return f"{what}; the memory of this server is not known. {time}"
    has = f"of {binary(total)}, {binary(available)} are available, and there is no swap"
    if needed > available:
        return f"{what}: {has}. It would be killed, and its option -m does not help. {MORE} {time}"
    own = own_estimate(size)
    slow = (
        f" It reckons with {binary(own)} itself, more than {READ_AHEAD:.0%} of the memory: it then reads nothing ahead "
        "and is slow."
        if own > READ_AHEAD * total
        else ""
    )
    return f"{what}: {has}.{slow} {time}"


def _memory() -> dict[str, int]:
    text = sysfs.text(paths.ROOT / "proc/meminfo") or ""
    return {name: int(value) * KIB for name, value in _MEMORY.findall(text)}
