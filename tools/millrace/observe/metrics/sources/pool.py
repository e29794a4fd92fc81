# SPDX-License-Identifier: Apache-2.0
"""Arrays from sysfs, as far as node_exporter does not have them; file system and shares from the health check's record.

Nothing here touches the pool.
"""

import time

from millrace.observe.metrics.family import Family, counter, gauge, info
from millrace.serve.config import store
from millrace.serve.share.usage import Usage
from millrace.storage.array.devices import block
from millrace.storage.array.live_arrays import live_arrays
from millrace.storage.array.live_model import LiveArray
from millrace.storage.record.model import Pool
from millrace.storage.record.pool_file import known_pool
from millrace.system import heartbeat, paths, sysfs
from millrace.system.documents import read_model
from millrace.system.mounts import mounted

SECTOR = 512


def array_families() -> list[Family]:
    """Return the metrics of all arrays; none without a pool. BadInput: the record of the pool cannot be read."""
    pool = known_pool()
    return _arrays(live_arrays(pool, {})) if pool else []


def filesystem_families() -> list[Family]:
    """Return space and inodes as of the last heartbeat. BadInput: the record of the pool cannot be read."""
    pool, beat = known_pool(), heartbeat.last()
    if pool is None:
        return []
    families = [
        gauge("pool_mounted", "Whether the file system of the pool is mounted.", (_is_mounted(pool), {})),
    ]
    if beat is None:
        return families
    return [
        *families,
        gauge("pool_writable", "Whether the last heartbeat wrote, synced and read back.", (not beat.problem, {})),
        gauge("pool_heartbeat_age_seconds", "Time since the last heartbeat.", (time.monotonic() - beat.uptime, {})),
        gauge("pool_size_bytes", "Size of the file system.", (beat.size, {})),
        gauge("pool_used_bytes", "Used space of the file system.", (beat.used, {})),
        gauge("pool_available_bytes", "Space that users can still write.", (beat.free, {})),
        gauge("pool_inodes", "Inodes that the file system can have.", (beat.inodes, {})),
        gauge("pool_inodes_free", "Inodes that can still be used.", (beat.inodes_free, {})),
    ]


def share_families() -> list[Family]:
    """Return usage and limits of all shares. BadInput: a record cannot be read. Failed: that of the desired state."""
    if known_pool() is None:
        return []
    shares = [(share, {"share": share.name}) for share in store.read().config.shares]
    # There is no record where XFS does not count; it omits a share without blocks (xfs_quota, report).
    used = read_model(paths.usage_file(), Usage).used if paths.usage_file().exists() else None
    usage = [(used.get(share.project, 0), name) for share, name in shares] if used is not None else []
    return [
        gauge("share_used_bytes", "Usage of a share.", *usage),
        gauge("share_limit_bytes", "Hard limit of a share.", *((share.size, name) for share, name in shares)),
        gauge("share_soft_limit_bytes", "Soft limit of a share.", *((share.soft_size, name) for share, name in shares)),
    ]


def _is_mounted(pool: Pool) -> bool:
    return mounted(pool.filesystem.mountpoint) is not None


def _arrays(live: list[LiveArray]) -> list[Family]:
    named = [(array, {"array": array.name}) for array in live]
    syncs = [(array.sync, {**name, "action": array.sync.action}) for array, name in named if array.sync]
    return [
        info(
            "array",
            "Level, role and state of an array; joins `device` of node_md_*.",
            *(_about(array) for array in live),
        ),
        gauge("array_running", "Whether an array runs.", *((array.device is not None, name) for array, name in named)),
        gauge(
            "array_survivable_failures",
            "How many more members may fail without loss of data.",
            *((array.may_fail, name) for array, name in named),
        ),
        gauge(
            "array_mismatch_bytes",
            "Data whose redundancy did not match in the last check.",
            *((_mismatch(array), name) for array, name in named),
        ),
        counter(
            "array_corrected_errors",
            "Read errors of a member that md corrected since the array was assembled.",
            *((each.errors, {**name, "serial": each.serial}) for array, name in named for each in array.members),
        ),
        # node_exporter counts the blocks of one member as synced, and divides by none (node_md_blocks_synced)
        gauge(
            "array_sync_progress_ratio",
            "Progress of a rebuild, a check or a repair.",
            *((sync.progress, name) for sync, name in syncs),
        ),
        gauge(
            "array_sync_bytes_per_second",
            "Rate of a rebuild, a check or a repair.",
            *((sync.bytes_per_second, name) for sync, name in syncs),
        ),
        gauge(
            "array_sync_remaining_seconds",
            "Remaining time of a rebuild, a check or a repair at its rate of now.",
            *((sync.seconds_left, name) for sync, name in syncs),
        ),
    ]


def _about(one: LiveArray) -> dict[str, str]:
    return {
        "array": one.name,
        "device": one.device or "",
        "level": one.level,
        "role": one.role,
        "state": one.state,
    }


def _mismatch(one: LiveArray) -> int | None:
    count = sysfs.number(block(one.device) / "md/mismatch_cnt") if one.device else None
    return None if count is None else count * SECTOR
