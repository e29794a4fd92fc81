# SPDX-License-Identifier: Apache-2.0
"""Bytes, transactions and log of the file system of the pool, from sysfs; node_exporter has the other counters of XFS.

The groups are those of fs/xfs/xfs_stats.h, kernel 7.2. Counters of 32 bits begin again at 0 after 2**32, as after a
mount. The pool is not touched.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from millrace.observe.metrics.family import Family, counter
from millrace.storage.record.pool_file import known_pool
from millrace.system import paths, sysfs
from millrace.system.mounts import mounted

# The log is counted in basic blocks.
BLOCK = 512
# The groups that are read, each with the least number of its counters.
GROUPS = {"trans": 3, "log": 5, "push_ail": 2, "xpc": 3}


def families() -> list[Family]:
    """Return counters of XFS; none where the pool is not mounted.

    BadInput: the record of the pool cannot be read. ValueError: the kernel's counters are not as kernel 7.2 has them.
    """
    pool = known_pool()
    mount = mounted(pool.filesystem.mountpoint) if pool else None
    if mount is None or mount.kind != "xfs":
        return []
    text = sysfs.text(_directory(mount.device) / "stats/stats")
    return [] if text is None else _families(counters(text))


def counters(text: str) -> dict[str, list[int]]:
    """Return the counters of each group that is read. ValueError: one is missing, too short or no number."""
    words = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}
    for name, count in GROUPS.items():
        if len(words.get(name, [])) < count:
            raise ValueError(f"the statistics of XFS have no {name} of {count} counters")
    return {name: [int(one) for one in words[name]] for name in GROUPS}


def _directory(device: str) -> Path:
    """The directory of a mounted file system: its name is that of its block device."""
    return paths.ROOT / "sys/fs/xfs" / (paths.ROOT / "sys/dev/block" / device).resolve().name


def _families(stats: Mapping[str, Sequence[int]]) -> list[Family]:
    _, written, read = stats["xpc"][:3]
    sync, asynchronous = stats["trans"][:2]
    log_writes, log_blocks, no_buffer, forces, force_waits = stats["log"][:5]
    return [
        counter("xfs_read_bytes", "Bytes read from files of the pool.", (read, {})),
        counter("xfs_written_bytes", "Bytes written to files of the pool.", (written, {})),
        counter(
            "xfs_transactions",
            "Transactions of metadata by whether their caller waited for the log.",
            (sync, {"wait": "yes"}),
            (asynchronous, {"wait": "no"}),
        ),
        counter("xfs_log_writes", "Writes to the log.", (log_writes, {})),
        counter("xfs_log_written_bytes", "Bytes written to the log.", (log_blocks * BLOCK, {})),
        counter("xfs_log_forces", "Requests to bring the log to its drives.", (forces, {})),
        counter("xfs_log_force_waits", "Requests to bring the log to its drives that waited.", (force_waits, {})),
        counter("xfs_log_buffer_waits", "Transactions that waited for a buffer of the log.", (no_buffer, {})),
        counter(
            "xfs_log_space_waits", "Transactions that waited for free space in the log.", (stats["push_ail"][1], {})
        ),
    ]
